/*
 * test_parts.c - several files that a pattern means give what one file of all their lines gives, by
 * one process and by ranks.
 */
#define _POSIX_C_SOURCE 200809L
#include "outcomes.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/kerbin-parts-XXXXXX";
static const kb_read_spec AUTO = {.format = KB_FORMAT_AUTO};

/* ---- files ------------------------------------------------------------- */

static const char *at(const char *name) {
    static char path[4][96];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put(const char *name, const char *text, size_t length) {
    FILE *to = fopen(at(name), "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, length, to), length);
    assert_int_equal(fclose(to), 0);
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

static void clear(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    assert_int_equal(system(command), 0);
}

/* ---- reading ----------------------------------------------------------- */

static outcome read_once(const char *path, kb_read_spec spec) {
    static reading r;
    r = (reading){.path = path, .spec = spec};
    run_ranked(1, 1, read_by, &r);
    return r.of[0];
}

/* Ranks see what one process does. */
static void check_ranks(const char *path, kb_read_spec spec) {
    static reading r;
    static outcome one;
    for (size_t piece = 0; piece <= 100; piece += 100) {
        spec.piece_bytes = piece;
        one = read_once(path, spec);
        r = (reading){.path = path, .spec = spec};
        for (int ranks = 2; ranks <= RANKED_MOST; ranks += ranks < 3 ? 1 : 2) {
            run_ranked(ranks, 1 + ranks % 2, read_by, &r);
            compare(&one, &r, ranks, 0);
            for (int k = 0; k < ranks; k++)
                kb_data_free(r.of[k].data);
        }
        kb_data_free(one.data);
    }
}

/* The files p-* are read as the file `whole`. */
static void check_whole(kb_read_spec spec) {
    outcome whole = read_once(at("whole"), spec), parts = read_once(at("p-*"), spec);
    assert_string_equal(parts.message, "");
    assert_string_equal(whole.message, "");
    same_frames(whole.data, parts.data);
    same_rows(whole.data, parts.data, 0);
    assert_int_equal(whole.data->rows, parts.data->rows);
    kb_data_free(whole.data);
    kb_data_free(parts.data);
    check_ranks(at("p-*"), spec);
}

static void check_fails(const char *message, kb_read_spec spec) {
    outcome o = read_once(at("p-*"), spec);
    assert_null(o.data);
    if (!strstr(o.message, message))
        fail_msg("'%s' is not in '%s'", message, o.message);
    check_ranks(at("p-*"), spec);
}

/* ---- what is read ------------------------------------------------------ */

static void libsvm_files_follow_each_other(void **state) {
    (void)state;
    put_text("whole", "# a\n1 1:2 3:1\n-1 2:1\n1 1:1\n-1 9:4\n1 2:2\n1 1:3\n");
    put_text("p-1", "# a\n1 1:2 3:1\n-1 2:1\n1 1:1");
    put_text("p-10", "-1 9:4\n");
    put_text("p-2", "\xEF\xBB\xBF# more\n\n1 2:2\r\n1 1:3");
    check_whole(AUTO);
    clear();
}

static void headers_are_taken_off_and_types_are_those_of_all_rows(void **state) {
    (void)state;
    put_text("whole",
             "a,city,\"c\nd\",y\n1,Oslo,\"x\ny\",1\n2,Rome,z,2\n,Nice,z,3\nno,Oslo,\"q\",4\n");
    put_text("p-a", "# above\na,city,\"c\nd\",y\n1,Oslo,\"x\ny\",1\n2,Rome,z,2");
    put_text("p-b", "a,city,\"c\nd\",y\n");
    put_text("p-c", "\n# above\n\na,city,\"c\nd\",y\r\n,Nice,z,3\r\n");
    put_text("p-d", "a,city,\"c\nd\",y");
    put_text("p-e", "a,city,\"c\nd\",y\nno,Oslo,\"q\",4");
    check_whole((kb_read_spec){.label = "y"});
    clear();
}

/* The first file is all in memory when its header is found. */
static void the_first_file_may_have_a_header_only(void **state) {
    (void)state;
    put_text("whole", "a,b\n1,2\n3,4\n");
    put_text("p-1", "a,b");
    put_text("p-2", "a,b\n1,2\n3,4");
    check_whole((kb_read_spec){.header = KB_HEADER_ON});
    clear();
}

static void files_without_a_header(void **state) {
    (void)state;
    put_text("whole", "1,2,3\n4,5,6\n7,8,9\n");
    put_text("p-1", "1,2,3\n");
    put_text("p-2", "# no row\n4,5,6\n7,8,9");
    check_whole(AUTO);
    clear();
}

/* Files of many sizes, cut at every line outside of quotes, so that borders of ranks fall anywhere.
 */
static void files_of_many_sizes(void **state) {
    (void)state;
    for (int files = 2; files <= 23; files += 7) {
        char *bytes;
        size_t length;
        FILE *whole = open_memstream(&bytes, &length), *part = NULL;
        fputs("id,note,y\n", whole);
        for (int i = 0, file = -1; i < 400; i++) {
            int wanted = i * i * files / 160000;
            if (wanted != file) {
                char name[16];
                if (part)
                    assert_int_equal(fclose(part), 0);
                file = wanted;
                snprintf(name, sizeof name, "p-%02d.csv", file);
                part = fopen(at(name), "wb");
                assert_non_null(part);
                fputs("id,note,y\n", part);
            }
            for (int k = 0; k < 2; k++)
                fprintf(k ? whole : part, "%d,\"say \"\"%d\"\",\n,,\n\"\"x\",w%d\n", i, i % 7,
                        i % 3);
        }
        assert_int_equal(fclose(part), 0);
        assert_int_equal(fclose(whole), 0);
        put("whole", bytes, length);
        free(bytes);
        check_whole((kb_read_spec){.group = files % 2 ? "id" : NULL, .ignore = NULL});
        clear();
    }
}

static void utf16_and_compressed_files_among_them(void **state) {
    static const char third[] = "a,b,y\n5,caf\xE9,1\n";
    char wide[2 * sizeof third] = "\xFF\xFE", command[256];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof third; i++)
        wide[2 + 2 * i] = third[i];
    put_text("whole", "a,b,y\n1,t,1\n2,u,0\n3,t,1\n4,v,0\n5,caf\xC3\xA9,1\n6,t,0\n");
    put_text("p-1", "a,b,y\n1,t,1\n2,u,0\n");
    put_text("p-2.csv", "a,b,y\n3,t,1\n4,v,0");
    put("p-3", wide, 2 * sizeof third);
    put_text("p-4", "a,b,y\n6,t,0\n");
    snprintf(command, sizeof command, "gzip %s", at("p-2.csv"));
    assert_int_equal(system(command), 0);
    check_whole(AUTO);
    clear();
}

static void weights_and_kept_columns(void **state) {
    char *names[] = {"a", "b"};
    kb_read_spec spec = {
        .to_predict = 1, .features = 2, .feature_name = names, .label_name = "y", .keep = "id"};
    (void)state;
    put_text("whole", "id,a,y,b\nx,1,2,3\ny,4,5,6\nz,7,8,9\n");
    put_text("p-1", "id,a,y,b\nx,1,2,3\n");
    put_text("p-2", "id,a,y,b\ny,4,5,6\nz,7,8,9\n");
    check_whole(spec);
    put_text("weights", "1\n2\n0.5\n");
    check_whole((kb_read_spec){.label = "y", .ignore = "id", .weights = at("weights")});
    clear();
}

/* ---- which files ------------------------------------------------------- */

static void names_with_wildcards(void **state) {
    (void)state;
    put_text("p-1", "1,2\n3,4\n");
    put_text("p-22", "5,6\n");
    put_text(".p-3", "bad\n");
    put_text("q", "7,8\n");
    mkdir(at("p-0"), 0700);
    outcome o = read_once(at("p-?"), AUTO);
    assert_int_equal(o.data->rows, 2);
    kb_data_free(o.data);
    o = read_once(at("?*"), AUTO);
    assert_int_equal(o.data->rows, 4);
    kb_data_free(o.data);
    put_text("p-*", "9,9\n"); /* a file of that name is that file */
    o = read_once(at("p-*"), AUTO);
    assert_int_equal(o.data->rows, 1);
    kb_data_free(o.data);
    o = read_once(at("r*"), AUTO);
    assert_int_equal(o.status, KB_ERR_IO);
    assert_non_null(strstr(o.message, "r*: no file has such a name"));
    check_ranks(at("r*"), AUTO);
    rmdir(at("p-0"));
    unlink(at(".p-3"));
    clear();
}

/* ---- mistakes ---------------------------------------------------------- */

static void mistakes_have_the_file_and_its_line(void **state) {
    (void)state;
    put_text("p-1", "a,b,y\n1,2,0\n3,4,1\n");
    put_text("p-2", "a,b,y\n1,2,0\n");
    put_text("p-3", "# above\na,b,y\n1,2,0\n5,6\n1,2,3,4\n");
    check_fails("/p-3:4: fewer fields than the 3 of line 1", AUTO);
    put_text("p-3", "a,b,y\n5,6,2\n");
    put_text("p-1", "a,b,y\n1,2,0\n3,4,1,9\n");
    check_fails("/p-1:3: more fields", AUTO);
    put_text("p-1", "a,b,y\n1,2,0\n3,\"4,1\n");
    check_fails("/p-1:3: a quote opens a field and is not closed before the file ends", AUTO);
    put_text("p-1", "a,b,y\n1,2,0\n3,4,1\n");
    put_text("p-2", "a,c,y\n1,2,0\n");
    check_fails("/p-2:1: column 2 is 'c', and 'b' in the first file of", AUTO);
    put_text("p-2", "a,b\n1,2,0\n");
    check_fails("/p-2:1: fewer columns than the 3 of the first file", AUTO);
    put_text("p-2", "a,b,y,z\n1,2,0\n");
    check_fails("/p-2:1: more columns than the 3 of the first file", AUTO);
    put_text("p-2", "4,5,6\n1,2,0\n");
    check_fails("/p-2:1: column 1 is '4', and 'a' in the first file of", AUTO);
    put_text("p-2", "");
    check_fails("/p-2: the file is empty", AUTO);
    put("p-2", "a,b,y\n1,2\0,3\n", 13);
    check_fails("/p-2:2: a zero byte", AUTO);
    clear();
    put_text("p-1", "1 1:2\n");
    put_text("p-2", "1 1:2\n0 3:1 2:1\n");
    check_fails("/p-2:2: ", AUTO);
    put_text("p-2.npy", "1 1:2\n");
    clear();
}

static void bytes_that_are_not_utf8_are_told_of_their_file(void **state) {
    (void)state;
    put_text("p-1", "a,y\nx,1\nz,0\n");
    put_text("p-2", "a,y\nx,1\n");
    put_text("p-3", "a,y\nx,1\ncaf\xE9,0\nth\xE9,1\n");
    put_text("p-4", "a,y\ncaf\xE9,1\n");
    outcome o = read_once(at("p-*"), AUTO);
    assert_non_null(
        strstr(o.log.text, "/p-3: not all of it is UTF-8; other bytes, the first on line 3"));
    kb_data_free(o.data);
    check_ranks(at("p-*"), AUTO);
    clear();
}

typedef struct other_files {
    reading r;
    const char *paths[2];
} other_files;

static void read_others(kb_context *ctx, void *arg) {
    other_files *o = arg;
    reading mine = o->r;
    mine.path = o->paths[ctx->ranks.rank];
    read_by(ctx, &mine);
    o->r.of[ctx->ranks.rank] = mine.of[ctx->ranks.rank];
}

static void ranks_that_see_other_files_are_told(void **state) {
    static other_files o;
    static char one[96], two[96];
    (void)state;
    mkdir(at("one"), 0700);
    mkdir(at("two"), 0700);
    put_text("one/p-1", "1,2\n");
    put_text("one/p-2", "1,2\n");
    put_text("two/p-1", "1,2\n");
    put_text("two/p-2", "1,2,3\n");
    snprintf(one, sizeof one, "%s/one/p*", folder);
    snprintf(two, sizeof two, "%s/two/p*", folder);
    o = (other_files){.paths = {one, two}};
    run_ranked(2, 1, read_others, &o);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(o.r.of[k].status, KB_ERR_DATA);
        assert_non_null(
            strstr(o.r.of[k].message, "rank 1 sees 2 files of 10 bytes, and rank 0 2 of 8"));
    }
    put_text("two/p-3", "1,2\n");
    unlink(at("two/p-2"));
    run_ranked(2, 1, read_others, &o);
    assert_non_null(strstr(o.r.of[1].message, "rank 1 sees other files than rank 0"));
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/one %s/two", folder, folder);
    assert_int_equal(system(command), 0);
}

static int read_job(kb_context *ctx, void *arg) {
    kb_data *data;
    kb_status status = kb_read(ctx, &AUTO, arg, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    put_text("p-1", "a,b,y\n1,2,u\n");
    put_text("p-2", "a,b,y\n1,\"x\ny\",v\n");
    run_with_allocation_failures(read_job, (void *)at("p-*"));
    clear();
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libsvm_files_follow_each_other),
        cmocka_unit_test(headers_are_taken_off_and_types_are_those_of_all_rows),
        cmocka_unit_test(the_first_file_may_have_a_header_only),
        cmocka_unit_test(files_without_a_header),
        cmocka_unit_test(files_of_many_sizes),
        cmocka_unit_test(utf16_and_compressed_files_among_them),
        cmocka_unit_test(weights_and_kept_columns),
        cmocka_unit_test(names_with_wildcards),
        cmocka_unit_test(mistakes_have_the_file_and_its_line),
        cmocka_unit_test(bytes_that_are_not_utf8_are_told_of_their_file),
        cmocka_unit_test(ranks_that_see_other_files_are_told),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
