/* Text parsed in pieces: the same samples and messages for any number of threads and any pieces. */
#include "packing.h"

#include "core/random.h"
#include "io/reader.h"

#include <iconv.h>

static test_path path; /* of the file that is read */

static const int THREADS[] = {1, 2, 3, 7};
static const size_t PIECES[] = {1, 2, 7, 64, 1000, 0};
enum { THREAD_CASES = 4, PIECE_CASES = 6 };

/* What reading a file gives: the samples, or a message; and the log. */
typedef struct outcome {
    kb_status status;
    kb_data *data;
    char message[1024], log[2048];
} outcome;

static void read_in_pieces(const char *file, const kb_read_spec *spec, int threads, size_t bytes,
                           outcome *out) {
    test_state state = {0};
    kb_read_spec own = *spec;
    kb_context *ctx = test_context_with(&state, threads);
    own.piece_bytes = bytes;
    out->status = kb_read(ctx, &own, file, &out->data);
    snprintf(out->message, sizeof out->message, "%s", kb_context_message(ctx));
    memcpy(out->log, state.log, sizeof out->log);
    if (out->data) { /* outlives the context, and its counts */
        kb_data *copy;
        kb_context *plain = test_context();
        uint32_t *all = malloc((out->data->rows + 1) * sizeof *all);
        for (size_t i = 0; i < out->data->rows; i++)
            all[i] = (uint32_t)i;
        assert_ok(plain, kb_data_take(plain, out->data, out->data->rows, all, &copy));
        kb_data_free(out->data);
        out->data = copy;
        free(all);
        kb_context_free(plain);
    }
    kb_context_free(ctx);
    assert_int_equal(state.live, 0);
}

static void same_items(const void *a, const void *b, size_t bytes) {
    assert_int_equal(a == NULL, b == NULL);
    if (a && bytes > 0)
        assert_memory_equal(a, b, bytes);
}

static void same_samples(const kb_data *a, const kb_data *b) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->missing, b->missing);
    assert_int_equal(a->table == NULL, b->table == NULL);
    for (size_t j = 0; a->table && j < a->features; j++)
        assert_int_equal(a->table->column[j].missing, b->table->column[j].missing);
    assert_int_equal(a->features, b->features);
    assert_int_equal(a->class_count, b->class_count);
    same_items(a->dense, b->dense, a->rows * a->features * sizeof(double));
    same_items(a->row_start, b->row_start, (a->rows + 1) * sizeof(size_t));
    size_t entries = a->row_start ? a->row_start[a->rows] : 0;
    same_items(a->column, b->column, entries * sizeof(uint32_t));
    same_items(a->value, b->value, entries * sizeof(double));
    same_items(a->label, b->label, a->rows * sizeof(double));
    same_items(a->weight, b->weight, a->rows * sizeof(double));
    same_items(a->group, b->group, a->rows * sizeof(uint32_t));
    for (size_t c = 0; c < a->class_count; c++)
        assert_string_equal(a->class_name[c], b->class_name[c]);
}

/* Reads the file in every way.  The first is with one thread and pieces of the usual size; the
 * caller frees its samples. */
static outcome read_every_way(const char *file, const kb_read_spec *spec) {
    outcome first, other;
    read_in_pieces(file, spec, 1, 0, &first);
    for (int t = 0; t < THREAD_CASES; t++)
        for (int k = 0; k < PIECE_CASES; k++) {
            read_in_pieces(file, spec, THREADS[t], PIECES[k], &other);
            assert_int_equal(other.status, first.status);
            assert_string_equal(other.message, first.message);
            assert_string_equal(other.log, first.log);
            if (first.data)
                same_samples(first.data, other.data);
            kb_data_free(other.data);
        }
    return first;
}

/* The message follows the path; NULL: the text is good. */
static void reads_alike(const char *name, const kb_read_spec *spec, const char *text,
                        const char *message, size_t rows) {
    path = file_with(name, text);
    outcome out = read_every_way(path.text, spec);
    remove(path.text);
    if (message) {
        char want[1024];
        snprintf(want, sizeof want, "%s%s", path.text, message);
        assert_string_equal(out.message, want);
    } else {
        assert_int_equal(out.status, KB_OK);
        assert_int_equal(out.data->rows, rows);
    }
    kb_data_free(out.data);
}

static const kb_read_spec plain = {0};

static void awkward_lines_of_libsvm_text(void **unused) {
    static const kb_read_spec grouped = {.group = "qid"}, model = {.to_predict = 1, .features = 2};
    (void)unused;
    reads_alike("data", &plain, "1 1:2 3:4", NULL, 1);
    reads_alike("data", &plain, "\n\n\n1 1:2\n\n# 5:6 7:8\n\n-1 1:3 2:4\n\n\n", NULL, 2);
    reads_alike("data", &plain, "\xEF\xBB\xBF+1 1:0.5 3:-2e1 # more: of it\r\n\r\n2\r\n3 2:7#x:\r",
                NULL, 3);
    reads_alike("data", &plain, "1 qid:1 1:2 2:3\n2 qid:1 1:4 2:5\n3 qid:2 1:6 2:7\n", NULL, 3);
    reads_alike("data", &grouped,
                "1 qid:b 1:2\n2 qid:a 1:4\n3 qid:b 1:6\n# qid:c\n4 qid:c 1:5\n5 qid:a 1:1", NULL,
                5);
    reads_alike("data", &grouped, "1 qid:b 1:2\n2 qid:a 1:4\n3 1:6\n",
                ":3: no qid:N after the label, so the row has no group", 0);
    reads_alike("data", &plain, "1 1:nan 3:4\n2 1:? 2:5 3:6\n\n9 1:1 2:2 3:NA\n3 1:1 2:1 3:1", NULL,
                4);
    reads_alike("data", &plain, "1 1:nan 3:4\n? 1:? 2:5 3:6\n\nNA 1:1\n3 1:1 2:1 3:1", NULL, 2);
    reads_alike("data", &plain, "1 1:nan 30:4\n2 1:?\n", NULL, 2);          /* with a warning */
    reads_alike("data", &model, "1:1 3:2 9:1\n2:4\n\n3:1\n1:7\n", NULL, 4); /* with a warning */
    reads_alike("data", &model, "# none\n1:1\n\n2:1\n1 1:1\n",
                ":5: this line has a label, unlike line 2", 0);
}

static void awkward_lines_of_csv(void **unused) {
    static const kb_read_spec roles = {
        .weights = "column:w", .group = "g", .label = "y", .header = KB_HEADER_ON};
    (void)unused;
    reads_alike("t.csv", &plain, "# made today\na,b,y\n1,2,3", NULL, 1);
    reads_alike("t.csv", &plain, "1, 2 ,3\r\n\n   \n \"4\" ,-5e1,\"6\"\r\n\r\n7,8,9\r", NULL, 3);
    reads_alike("t.csv", &plain, "1,dog\n2,\"a \"\"cat\"\"\"\n3,\"dog\"\n\n4,eel\n5,ant\n6,eel\n",
                NULL, 6);
    reads_alike("t.csv", &plain, "1,2\n2,1.0\n3,other\n4,+1\n5,7\n6,other\n7,2.0\n8,word\n", NULL,
                8);
    reads_alike("t.csv", &roles,
                "w,a,g,y,b\n1,5,x,0,2\n2,6,y,1,3\n\n0.5,7,x,0,4\n1,8,\"z, z\",1,5\n3,9,y,0,6\n",
                NULL, 5);
    reads_alike("t.csv", &roles, "w,a,g,y,b\n1,5,x,0,2\n2,6,y,1,3\n-1,7,x,0,4\n",
                ":4: column 'w': the weight -1 is negative", 0);
    reads_alike("t.csv", &roles, "w,a,g,y,b\n1,5,x,0,2\n2,6,,1,3\n1,7,x,0,4\n",
                ":3: column 'g', the group, is empty", 0);
    /* A field in quotes goes on over several lines. */
    reads_alike("t.csv", &plain, "a,b,y\n1,2,3\n4,5,\"a\nb\"\n6,\"7\",\"\r\n\na\"\n8,9,12\" x\n",
                NULL, 4);
    reads_alike("t.csv", &plain, "\"a\nb\",y\n1,\"2\n\"\n\n3,x,4\n",
                ":6: more fields than the 2 of line 1 (a field with ',' in it needs quotes)", 0);
    reads_alike("t.csv", &plain, "\"a\nb\";\"c\nd\"\n1;\"2\n\"\n3;4\n", NULL, 2);
    reads_alike("t.csv", &plain, "a,b,y\n1,2,3\n4,5,\"a\nb\n",
                ":3: a quote opens a field and is not closed before the file ends", 0);
    /* Words, dates and missing cells. */
    reads_alike("t.csv", &plain,
                "a,b,c,y\nred,2020-01-05,,1\nblue,2020-03-05,4,2\n?,,5,\ngreen,2021-01-05,7,3\n"
                "red,2020-01-09,1,4\nblue,2020-01-05,3,NA\n",
                NULL, 4);
    reads_alike("t.csv", &plain, "0,0,5,1\n0,0,0,1\n\n0,0,0,0\n0,3,0,1\n", NULL, 4);
    reads_alike("t.csv", &plain, "a,b\n\n\n", ": no samples: the header is all there is", 0);
}

/* ---- encodings --------------------------------------------------------- */

/* The text, which is UTF-8, in another encoding and with other line ends; returns the bytes. */
static size_t encode(const char *text, const char *to, const char *mark, const char *line_end,
                     char *out, size_t room) {
    char ends[4096], *from = ends, *at = out + strlen(mark);
    for (; *text; text++)
        from += *text == '\n' ? sprintf(from, "%s", line_end) : sprintf(from, "%c", *text);
    size_t count = (size_t)(from - ends), left = room - strlen(mark);
    from = ends;
    strcpy(out, mark);
    iconv_t change = iconv_open(to, "UTF-8");
    assert_true(change != (iconv_t)-1);
    assert_int_equal(iconv(change, &from, &count, &at, &left), 0);
    iconv_close(change);
    return (size_t)(at - out);
}

/* All encodings and line ends of a text give the same samples, and these lines of the log. */
static void encodings_read_alike(const char *name, const kb_read_spec *spec, const char *text,
                                 size_t foreign) {
    static const struct {
        const char *name, *mark;
    } known[] = {{"UTF-8", ""},
                 {"UTF-8", "\xEF\xBB\xBF"},
                 {"CP1252", ""},
                 {"UTF-16LE", "\xFF\xFE"},
                 {"UTF-16BE", "\xFE\xFF"},
                 {"UTF-16LE", ""},
                 {"UTF-16BE", ""}};
    static const char *const line_end[] = {"\n", "\r\n", "\r"};
    outcome first, other;
    path = file_with(name, text);
    read_in_pieces(path.text, spec, 1, 0, &first);
    assert_string_equal(first.message, "");
    assert_non_null(first.data);
    for (size_t e = 0; e < sizeof known / sizeof *known; e++)
        for (size_t l = 0; l < 3; l++) {
            char bytes[8192], want[700] = "";
            size_t count =
                encode(text, known[e].name, known[e].mark, line_end[l], bytes, sizeof bytes);
            file_with_bytes(name, bytes, count);
            other = read_every_way(path.text, spec);
            assert_string_equal(other.message, "");
            same_samples(first.data, other.data);
            kb_data_free(other.data);
            if (e == 2)
                snprintf(want, sizeof want,
                         "%s: not all of it is UTF-8; other bytes, the first on line %zu, are read "
                         "as Windows-1252 (Latin-1)\n",
                         path.text, foreign);
            else if (e > 2)
                snprintf(want, sizeof want, "%s: UTF-16 text, read as UTF-8\n", path.text);
            assert_string_equal(other.log, want);
        }
    remove(path.text);
    kb_data_free(first.data);
}

static void every_encoding_gives_the_same_samples(void **unused) {
    static const kb_read_spec grouped = {.group = "qid"};
    (void)unused;
    encodings_read_alike("data", &grouped,
                         "1 qid:a 1:2\n2 qid:b 1:4 2:5\n\n3 qid:ä 1:6 # größer\n4 qid:ä 2:7\n"
                         "5 qid:ö 1:6\n6 qid:a 1:3",
                         4);
    encodings_read_alike("t.csv", &plain,
                         "a,b,y\n1,2,plain\n3,4,café\n5,6,\"naïve, “quoted”\"\n7,8,caf\u20AC\n9,1,"
                         "café\n2,3,plain\n",
                         3);
}

static void mistakes_have_the_same_line_in_every_encoding(void **unused) {
    static const char *const to[] = {"UTF-8", "CP1252", "UTF-16LE", "UTF-16BE"};
    static const char *const mark[] = {"", "", "\xFF\xFE", "\xFE\xFF"};
    static const char *const line_end[] = {"\n", "\r\n", "\r"};
    (void)unused;
    for (int e = 0; e < 4; e++)
        for (int l = 0; l < 3; l++) {
            char bytes[400], want[700];
            size_t count = encode("1 1:1 # é\n\n2 1:2 # ü\n3 1:ä\n4 1:x\n", to[e], mark[e],
                                  line_end[l], bytes, sizeof bytes);
            path = file_with_bytes("data", bytes, count);
            outcome out = read_every_way(path.text, &plain);
            snprintf(want, sizeof want, "%s:4: 'ä' is not a number", path.text);
            assert_string_equal(out.message, want);
            remove(path.text);
        }
}

/* Lines before the fault are parsed first, in any pieces. */
static void faults_of_utf16_are_told_with_their_line(void **unused) {
    static const char *const text[] = {"1 1:1\n2 1:2\n3 1:3", "1 1:1\n2 1:x\n3 1:3"};
    static const char *const message[] = {
        ":3: half of a surrogate pair: this is not valid UTF-16 text", ":2: 'x' is not a number"};
    (void)unused;
    for (int bad = 0; bad < 2; bad++) {
        char bytes[200], want[700];
        size_t count = encode(text[bad], "UTF-16LE", "\xFF\xFE", "\r\n", bytes, sizeof bytes);
        bytes[count - 1] = (char)0xDC;
        path = file_with_bytes("data", bytes, count);
        outcome out = read_every_way(path.text, &plain);
        snprintf(want, sizeof want, "%s%s", path.text, message[bad]);
        assert_string_equal(out.message, want);
        remove(path.text);
    }
}

/* ---- longer files ------------------------------------------------------ */

static uint32_t draw(uint64_t i, uint32_t use) {
    return kb_random(11, KB_STREAM_SYNTHETIC, i, use).word[0];
}

/* Rows of any length, among empty lines and comments; to be freed. */
static char *long_libsvm(size_t rows) {
    char *text = malloc(rows * 400), *at = text;
    for (size_t i = 0; i < rows; i++) {
        if (draw(i, 0) % 11 == 0)
            at += sprintf(at, "%s\n", draw(i, 1) % 2 ? "  # a: comment" : "");
        at += sprintf(at, "%d", (int)(draw(i, 2) % 7) - 3);
        for (uint32_t j = 1, n = draw(i, 3) % 20; j <= n; j++)
            at += sprintf(at, " %u:%g", j * 2, (double)draw(i, 10 + j) / 1e6);
        at += sprintf(at, "%s%s", i % 5 ? "" : "\r", i + 1 < rows ? "\n" : "");
    }
    return text;
}

/* Labels are numbers up to `first_word`, then words among them. */
static char *long_csv(size_t rows, size_t first_word) {
    char *text = malloc(rows * 100), *at = text;
    for (size_t i = 0; i < rows; i++) {
        at += sprintf(at, "%g,\"%u\",%u,", (double)draw(i, 0) / 1e5, draw(i, 1), draw(i, 2) % 3);
        at += sprintf(at, i >= first_word && i % 3 ? "w%u\n" : "%u\n", draw(i, 3) % 40);
        if (draw(i, 4) % 13 == 0)
            *at++ = '\n';
    }
    *at = '\0';
    return text;
}

static void long_files(void **unused) {
    enum { ROWS = TEST_LIGHT ? 200 : 1000 };
    (void)unused;
    char *text = long_libsvm(ROWS);
    reads_alike("data", &plain, text, NULL, ROWS);
    free(text);
    for (size_t k = 0; k < 3; k++) {
        text = long_csv(ROWS, k * ROWS / 2);
        reads_alike("t.csv", &plain, text, NULL, ROWS);
        free(text);
    }
}

static size_t line_at(const char *text, const char *place) {
    size_t line = 1;
    for (; text < place; text++)
        line += *text == '\n';
    return line;
}

/* A bad value at one place or two: the first is reported, wherever the text is cut. */
static void the_first_mistake_counts(void **unused) {
    enum { ROWS = 400 };
    char message[64];
    (void)unused;
    for (uint64_t k = 0; k < 6; k++) {
        char *text = long_libsvm(ROWS), *first = NULL;
        for (uint64_t places = k % 2; places < 2; places++) {
            char *at = text + draw(k, (uint32_t)places) % strlen(text);
            while (at > text && *at != '.') /* of a number, so not in a comment */
                at--;
            *at = '!';
            first = !first || at < first ? at : first;
        }
        path = file_with("data", text);
        outcome out = read_every_way(path.text, &plain);
        remove(path.text);
        assert_int_equal(out.status, KB_ERR_DATA);
        snprintf(message, sizeof message, ":%zu: '", line_at(text, first));
        assert_non_null(strstr(out.message, message));
        free(text);
    }
}

static void lines_longer_than_a_block(void **unused) {
    enum { LONG = 20000 };
    char *text = malloc(4 * LONG * 12), *at = text;
    (void)unused;
    for (int row = 0; row < 4; row++) {
        at += sprintf(at, "%d", row);
        for (int j = 1; j <= (row % 2 ? 3 : LONG); j++)
            at += sprintf(at, " %d:%d", j, row);
        at += sprintf(at, row < 3 ? "\n" : " x");
    }
    reads_alike("data", &plain, text, ":4: 'x' is not index:value", 0);
    at[-2] = '\0';
    reads_alike("data", &plain, text, NULL, 4);
    free(text);
}

/* Words, or numbers where there are words. */
static void too_many_words_are_refused(void **unused) {
    enum { MANY = 70000, CASES = 4 };
    static const struct {
        int word; /* the line of the only word; 0: all are */
        const char *message;
    } known[CASES] = {{0, ": "}, {3, ": "}, {65000, ": "}, {69000, ": "}};
    char *text = malloc(MANY * 16);
    (void)unused;
    for (int c = 0; c < CASES; c++) {
        char *at = text;
        for (int i = 1; i <= MANY; i++)
            at += sprintf(at, known[c].word == 0 || known[c].word == i ? "1,w%d\n" : "1,%d\n", i);
        path = file_with("words.csv", text);
        for (int t = 0; t < THREAD_CASES; t += 2)
            for (size_t bytes = 0; bytes < 40000; bytes += 30001) {
                outcome out;
                read_in_pieces(path.text, &plain, THREADS[t], bytes, &out);
                assert_int_equal(out.status, KB_ERR_DATA);
                assert_non_null(strstr(out.message, known[c].message));
                assert_non_null(
                    strstr(out.message, "has 70000 different words, too many for classes"));
            }
        remove(path.text);
    }
    free(text);
}

/* ---- damage and interrupts --------------------------------------------- */

static void a_zero_byte_counts_on_its_line(void **unused) {
    static const char text[] = "1 1:1\n\n2 1:2\n3 1:\0\n4 1:x\n";
    char want[600];
    (void)unused;
    path = file_with_bytes("data", text, sizeof text - 1);
    outcome out = read_every_way(path.text, &plain);
    snprintf(want, sizeof want, "%s:4: a zero byte: this is not plain text", path.text);
    assert_string_equal(out.message, want);
    remove(path.text);
}

/* The text of a compressed file is that of the plain one.  Where the file is cut off, lines before
 * that place are parsed, and a mistake in them is what is reported. */
static void compressed_text_and_its_damage(void **unused) {
    enum { ROWS = 20000 };
    char *text = long_libsvm(ROWS);
    size_t packed;
    (void)unused;
    path = packed_file("gzip", text, strlen(text));
    for (int t = 0; t < THREAD_CASES; t++) {
        outcome a, b;
        test_path same = file_with("data", text);
        read_in_pieces(path.text, &plain, THREADS[t], 0, &a);
        read_in_pieces(same.text, &plain, 1, 0, &b);
        same_samples(a.data, b.data);
        kb_data_free(a.data);
        kb_data_free(b.data);
        remove(same.text);
    }
    memcpy(strstr(text, "\n") + 1, "x ", 2);
    for (int bad = 0; bad < 2; bad++) {
        char *bytes = bytes_of(path.text, &packed);
        file_with_bytes("input.gzip", bytes, packed - packed / 8);
        free(bytes);
        for (int t = 0; t < THREAD_CASES; t++)
            for (size_t piece = 0; piece < 9000; piece += 4001) {
                outcome out;
                read_in_pieces(path.text, &plain, THREADS[t], piece, &out);
                assert_int_equal(out.status, bad ? KB_ERR_DATA : KB_ERR_IO);
                assert_non_null(strstr(out.message, bad ? ":2: 'x" : "damaged gzip data"));
            }
        remove(path.text);
        if (!bad)
            path = packed_file("gzip", text, strlen(text));
    }
    free(text);
}

typedef struct job {
    const char *file;
    kb_read_spec spec;
} job;

static int read_job(kb_context *ctx, void *arg) {
    job *j = arg;
    kb_data *data;
    kb_status status = kb_read(ctx, &j->spec, j->file, &data);
    kb_data_free(data);
    return (int)status;
}

static void every_report_may_cancel(void **unused) {
    char *text = long_libsvm(30000);
    (void)unused;
    path = file_with("data", text);
    for (int t = 0; t < THREAD_CASES; t++) {
        job j = {path.text, {0}};
        run_with_cancellations(read_job, &j, THREADS[t], 2);
    }
    remove(path.text);
    free(text);
}

static void every_allocation_may_fail(void **unused) {
    static const char *const text[] = {
        "1 qid:a 1:1 2:2\n0 qid:b 2:1\n1 qid:a 1:5 2:7\n0 qid:c 9:1\n",
        "a,b,y\n1,2,3\n4,5,cat\n0,0,dog\n7,8,3\n1,1,eel\n"};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        path = file_with(i ? "fail.csv" : "fail", text[i]);
        job j = {path.text, {.group = i ? NULL : "qid", .piece_bytes = 9}};
        run_with_allocation_failures(read_job, &j);
        remove(path.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(awkward_lines_of_libsvm_text),
        cmocka_unit_test(awkward_lines_of_csv),
        cmocka_unit_test(every_encoding_gives_the_same_samples),
        cmocka_unit_test(mistakes_have_the_same_line_in_every_encoding),
        cmocka_unit_test(faults_of_utf16_are_told_with_their_line),
        cmocka_unit_test(long_files),
        cmocka_unit_test(the_first_mistake_counts),
        cmocka_unit_test(lines_longer_than_a_block),
        cmocka_unit_test(too_many_words_are_refused),
        cmocka_unit_test(a_zero_byte_counts_on_its_line),
        cmocka_unit_test(compressed_text_and_its_damage),
        cmocka_unit_test(every_report_may_cancel),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
