/*
 * test_ranked_reading.c - files read by several ranks give what one process reads: the same rows in
 * order, the same columns, classes, messages and errors.
 */
#define _POSIX_C_SOURCE 200809L
#include "outcomes.h"

#include <unistd.h>

static char folder[] = "/tmp/kerbin-ranked-XXXXXX";

static void check_file(const char *path, kb_read_spec spec, int first_has_all) {
    static const size_t pieces[] = {0, 100};
    static reading r;
    static outcome one;
    for (size_t p = 0; p < 2; p++) {
        r = (reading){.path = path, .spec = spec};
        r.spec.piece_bytes = pieces[p];
        run_ranked(1, 1, read_by, &r);
        one = r.of[0];
        for (int ranks = 2; ranks <= RANKED_MOST; ranks += ranks < 3 ? 1 : 2) {
            run_ranked(ranks, 1 + ranks % 2, read_by, &r);
            compare(&one, &r, ranks, first_has_all);
            for (int k = 0; k < ranks; k++)
                kb_data_free(r.of[k].data);
        }
        kb_data_free(one.data);
    }
}

static void check_bytes(const char *text, size_t length, kb_read_spec spec, int first_has_all) {
    char path[64];
    snprintf(path, sizeof path, "%s/data", folder);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, length, to), length);
    assert_int_equal(fclose(to), 0);
    check_file(path, spec, first_has_all);
}

static void check(const char *text, kb_read_spec spec) {
    check_bytes(text, strlen(text), spec, 0);
}

/* Text that grows. */
typedef struct text {
    char *bytes;
    size_t length;
    FILE *to;
} text;

static void begin(text *t) {
    t->to = open_memstream(&t->bytes, &t->length);
    assert_non_null(t->to);
}

static void check_text(text *t, kb_read_spec spec) {
    assert_int_equal(fclose(t->to), 0);
    check_bytes(t->bytes, t->length, spec, 0);
    free(t->bytes);
}

static const kb_read_spec AUTO = {.format = KB_FORMAT_AUTO};

/* ---- LIBSVM ------------------------------------------------------------ */

static void libsvm_rows_are_those_of_one_process(void **state) {
    text t;
    (void)state;
    for (int dense = 0; dense < 2; dense++) {
        begin(&t);
        fputs("# a comment\n\n", t.to);
        for (int i = 0; i < 500; i++) {
            fprintf(t.to, "%d qid:%d", i % 3, i / 7 % 50);
            for (int j = 1; j <= 20; j++)
                if (dense ? (i + j) % 5 != 0 : (i * j) % 11 == 3)
                    fprintf(t.to, " %d:%g", j + i / 100, (double)(i * j % 97) / 8);
            fputs(i % 9 == 0 ? " # more\n\n" : "\n", t.to);
        }
        kb_read_spec spec = AUTO;
        spec.group = dense ? NULL : "qid";
        check_text(&t, spec);
    }
}

/* The form is that of all rows, though the ranks have few entries or many. */
static void missing_values_stay_where_all_rows_make_them_dense(void **state) {
    text t;
    (void)state;
    for (int most = 300; most <= 700; most += 400) {
        begin(&t);
        for (int i = 0; i < 1000; i++) {
            fprintf(t.to, "%d 1:%d", i % 2, i);
            for (int j = 2; j <= 10 && i < most; j++)
                fprintf(t.to, " %d:%s", j, (i + j) % 10 == 0 ? "nan" : "1.5");
            fputs(i > 900 ? " 7:nan\n" : "\n", t.to);
        }
        check_text(&t, AUTO);
    }
}

static void features_beyond_those_of_a_model_are_counted_over_all_ranks(void **state) {
    kb_read_spec spec = {.format = KB_FORMAT_LIBSVM, .to_predict = 1, .features = 3};
    text t;
    (void)state;
    begin(&t);
    for (int i = 0; i < 100; i++)
        fprintf(t.to, "1:1 2:%d%s\n", i, i % 10 == 0 ? " 9:3" : "");
    check_text(&t, spec);
}

/* ---- CSV --------------------------------------------------------------- */

static void tables_of_all_types_are_those_of_one_process(void **state) {
    static const char *const ends[] = {"\n", "\r\n"};
    static const char *const city[] = {"Oslo", "Rome", "", "Nice", "K\xC3\xB6ln", "4", "NA"};
    text t;
    (void)state;
    for (int e = 0; e < 2; e++) {
        begin(&t);
        fprintf(t.to, "%s,age,city,when,flag,same,name,price,late,y%s", e ? "" : "no", ends[e]);
        for (int i = 0; i < 400; i++) {
            fprintf(t.to, "%d,%d,%s,2020-%02d-%02d,%s,7,", i, i % 90, city[(i * i + i / 130) % 7],
                    1 + i % 12, 1 + i % 28, i % 3 ? "yes" : "no");
            fprintf(t.to, "row %d,\"%d,%03d\",%s,", i, i % 50, i % 1000,
                    i < 390 ? "" : "only at the end");
            fprintf(t.to, "%s%s", i % 17 == 5 ? "" : i % 4 ? "good" : "bad", ends[e]);
        }
        check_text(&t, AUTO);
    }
}

static void words_of_late_rows_make_a_column_of_numbers_one_of_words(void **state) {
    text t;
    (void)state;
    for (int k = 0; k < 2; k++) {
        begin(&t);
        for (int i = 0; i < 200; i++)
            fprintf(t.to, "%d,%d,%s\n", i % 5, i, i == (k ? 199 : 3) ? "x" : "1.0");
        check_text(&t, AUTO);
    }
}

static void rows_with_weights_groups_and_missing_labels(void **state) {
    kb_read_spec spec = {.label = "y", .weights = "column:w", .group = "g"};
    text t;
    (void)state;
    begin(&t);
    fputs("# above\n\na,y,w,g,b\n", t.to);
    for (int i = 0; i < 300; i++)
        fprintf(t.to, "%d,%s,%g,g%d,%s\n", i,
                i % 5 == 2 || i < 80 ? ""
                : i % 2              ? "1.5"
                                     : "-2",
                i % 6 * 0.5, i / 4 % 20, i % 8 == 1 ? "" : "3");
    check_text(&t, spec);
}

static void fields_in_quotes_go_on_over_lines_wherever_the_file_is_cut(void **state) {
    text t;
    (void)state;
    for (int shift = 0; shift < 40; shift++) {
        begin(&t);
        fprintf(t.to, "id,\"a\nb\",note,y\n%.*s", shift,
                "1,2,3,4\n\n1,2,3,4\n1,2,3,4\n1,2,3,4\n\n1,2,3,4\n");
        fputs(shift % 8 ? ",2,3,4\n" : "", t.to);
        for (int i = 0; i < 60; i++)
            fprintf(t.to, "%d,12\" pipe, \"say \"\"x\"\",\n%d,\n\n\"\"\nq,\" ,%d\n", i, i % 7,
                    i % 3);
        check_text(&t, AUTO);
    }
}

static void few_rows_leave_ranks_without_any(void **state) {
    (void)state;
    check("a,b,y\n1,2,x\n2,x,y\n", AUTO);
    check("1,2,3\n", AUTO);
    check("1 1:2\n", AUTO);
    check("1 1:2\n-1 3:4", AUTO);
    check("\xEF\xBB\xBF"
          "1,2,1\n3,4,2\n5,6,3\n7,8,9\n",
          AUTO);
    check("\xEF\xBB\xBF\"a\"\"\",b,y\n1,2,1\n3,4,2\n5,6,3\n7,8,9", AUTO);
    check("1,2,3\r2,4,5\r6,7,8\r2,2,2\r", AUTO);
    check("a,b,y\r1,2,3\r2,4,5\r6,7,8\r2,2,2\r", AUTO);
}

static void bytes_that_are_not_utf8_are_told_by_their_line(void **state) {
    text t;
    (void)state;
    for (int at = 0; at < 200; at += 66) {
        begin(&t);
        fprintf(t.to, "%s,b,y\n", at == 0 ? "a\xE9" : "a");
        for (int i = 0; i < 200; i++)
            fprintf(t.to, "%s%d,%d,%d\n", i >= at && i % 50 == 49 ? "caf\xE9" : "tea", i % 4, i,
                    i % 2);
        check_text(&t, AUTO);
    }
}

static void rows_to_predict_keep_their_columns(void **state) {
    char *names[] = {"a", "c"};
    kb_read_spec spec = {
        .to_predict = 1, .features = 2, .feature_name = names, .label_name = "y", .keep = "id,c"};
    text t;
    (void)state;
    begin(&t);
    fputs("id,c,y,a\n", t.to);
    for (int i = 0; i < 150; i++)
        fprintf(t.to, "r%d,%s,%d,%d\n", i, i % 7 ? "1.50" : "word", i % 2, i);
    check_text(&t, spec);
}

/* More than one read of each part. */
static void large_files_are_cut_alike(void **state) {
    text t;
    (void)state;
    begin(&t);
    fputs("x,note,y\n", t.to);
    for (int i = 0; i < 30000; i++)
        fprintf(t.to, "%d,\"%s\n%s %d\",%d\n", i % 101, i % 3 ? "one, two" : "\"\"",
                "abcdefghij" + i % 10, i % 100, i % 2);
    check_text(&t, AUTO);
}

/* ---- what rank 0 reads for all ------------------------------------------ */

static void utf16_is_read_by_one_rank(void **state) {
    static const char plain[] = "a,city,no,y\n1,Oslo,7,x\n2,Rome,7,y\n,Oslo,7,x\n4,Nice,7,y\n";
    char wide[2 * sizeof plain] = "\xFF\xFE";
    (void)state;
    for (size_t i = 0; i + 1 < sizeof plain; i++)
        wide[2 + 2 * i] = plain[i];
    check_bytes(wide, 2 * sizeof plain, AUTO, 1);
}

/* ---- mistakes ---------------------------------------------------------- */

static void mistakes_are_told_as_by_one_process(void **state) {
    text t;
    (void)state;
    for (int at = 5; at < 200; at += 47) {
        begin(&t);
        for (int i = 0; i < 200; i++)
            fputs(i >= at && i % 40 == at % 40 ? "1,2\n" : "1,\"2\n3\",4\n", t.to);
        check_text(&t, AUTO);
        begin(&t);
        for (int i = 0; i < 200; i++)
            fputs(i == at ? "1 3:1 2:1\n" : "1 2:1\n", t.to);
        check_text(&t, AUTO);
        begin(&t);
        fputs("a,b,y\n", t.to);
        for (int i = 0; i < 200; i++)
            fprintf(t.to, "%s,%d,1\n", i >= at ? "inf" : "2", i);
        check_text(&t, AUTO);
        begin(&t);
        for (int i = 0; i < 200; i++)
            fprintf(t.to, "%s1,%d,1\n", i == at ? "\"" : "", i);
        check_text(&t, AUTO);
    }
    check("a,b,y\n1,2,\n3,4,\n", (kb_read_spec){.label = "y"});
    check("a,b,y\n", AUTO);
    check("1\n2\n", (kb_read_spec){.format = KB_FORMAT_LIBSVM});
    check("a,b,y\n1,2,0\n3,4,0\n", (kb_read_spec){.label = "a", .weights = "column:y"});
    check_file("/tmp/there/is/no/such/file", AUTO, 0);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/data", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libsvm_rows_are_those_of_one_process),
        cmocka_unit_test(missing_values_stay_where_all_rows_make_them_dense),
        cmocka_unit_test(features_beyond_those_of_a_model_are_counted_over_all_ranks),
        cmocka_unit_test(tables_of_all_types_are_those_of_one_process),
        cmocka_unit_test(words_of_late_rows_make_a_column_of_numbers_one_of_words),
        cmocka_unit_test(rows_with_weights_groups_and_missing_labels),
        cmocka_unit_test(fields_in_quotes_go_on_over_lines_wherever_the_file_is_cut),
        cmocka_unit_test(few_rows_leave_ranks_without_any),
        cmocka_unit_test(bytes_that_are_not_utf8_are_told_by_their_line),
        cmocka_unit_test(rows_to_predict_keep_their_columns),
        cmocka_unit_test(large_files_are_cut_alike),
        cmocka_unit_test(utf16_is_read_by_one_rank),
        cmocka_unit_test(mistakes_are_told_as_by_one_process),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
