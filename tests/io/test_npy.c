/* Arrays of NumPy: values in both orders, roles of columns, and files that are cut or odd. */
#include "support.h"

#include "io/magic.h"
#include "io/npy.h"
#include "io/reader.h"

#include <math.h>

#define assert_items(type, got, ...)                                                               \
    do {                                                                                           \
        const type want_[] = {__VA_ARGS__};                                                        \
        assert_memory_equal(got, want_, sizeof want_);                                             \
    } while (0)

static test_path path; /* of the last file */

enum { MOST = 512 };

typedef struct file_bytes {
    size_t length;
    char byte[MOST];
} file_bytes;

static void add(file_bytes *f, const void *bytes, size_t count) {
    assert_true(f->length + count <= MOST);
    memcpy(f->byte + f->length, bytes, count);
    f->length += count;
}

/* A file of version 1 with that header. */
static file_bytes npy_of(const char *header, const void *values, size_t count) {
    file_bytes f = {0};
    const char length[] = {(char)strlen(header), 0};
    add(&f, "\x93NUMPY\1\0", 8);
    add(&f, length, 2);
    add(&f, header, strlen(header));
    add(&f, values, count);
    return f;
}

static const double VALUES[] = {1, 2, 3, 10, NAN, 30, 7, 8, 9, 11, 12, 0};
#define BY_ROWS    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }"
#define BY_COLUMNS "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }\n"

static kb_status read_bytes(kb_context *ctx, const file_bytes *f, size_t length, kb_npy *out) {
    path = file_with_bytes("array", f->byte, length);
    kb_status status = kb_npy_read(ctx, path.text, out);
    remove(path.text);
    return status;
}

static void both_orders_are_read(void **unused) {
    kb_context *ctx = test_context();
    kb_npy npy;
    (void)unused;
    for (int fortran = 0; fortran < 2; fortran++) {
        file_bytes f = npy_of(fortran ? BY_COLUMNS : BY_ROWS, VALUES, sizeof VALUES);
        assert_ok(ctx, read_bytes(ctx, &f, f.length, &npy));
        assert_int_equal(npy.rows, 3);
        assert_int_equal(npy.columns, 4);
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 4; j++) {
                double want = VALUES[fortran ? j * 3 + i : i * 4 + j];
                double got = npy.cell[i * 4 + j];
                assert_true(isnan(want) ? isnan(got) : got == want);
            }
        kb_npy_clear(ctx, &npy);
    }
    kb_context_free(ctx);
}

/* Numbers that Python writes otherwise: the longer length of version 2, the keys in another
 * order. */
static void headers_may_differ(void **unused) {
    kb_context *ctx = test_context();
    static const char header[] = "{'shape':(2,1),'fortran_order':False,'descr':'|i1'}";
    static const int8_t values[] = {-128, 127};
    file_bytes f = {0};
    kb_npy npy;
    const char length[] = {sizeof header - 1, 0, 0, 0};
    (void)unused;
    add(&f, "\x93NUMPY\2\0", 8);
    add(&f, length, 4);
    add(&f, header, sizeof header - 1);
    add(&f, values, sizeof values);
    assert_ok(ctx, read_bytes(ctx, &f, f.length, &npy));
    assert_items(double, npy.cell, -128, 127);
    kb_npy_clear(ctx, &npy);
    kb_context_free(ctx);
}

static void other_types_and_shapes_are_refused(void **unused) {
    static const char *const header[] = {
        "{'descr': '<f8, 'fortran_order': False, 'shape': (3, 4), }", /* a quote is missing */
        "{'descr': '<f9', 'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '>f8', 'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '|f8', 'fortran_order': False, 'shape': (3, 4), }",
        "{'fortran_order': False, 'shape': (3, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, -4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4, }",
        "{'descr': '<f8', 'fortran_order': False, }",
    };
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < sizeof header / sizeof *header; k++) {
        file_bytes f = npy_of(header[k], VALUES, sizeof VALUES);
        kb_npy npy;
        assert_int_equal(read_bytes(ctx, &f, f.length, &npy), KB_ERR_DATA);
        assert_null(npy.cell);
    }
    kb_context_free(ctx);
}

static void columns_have_roles_by_number(void **unused) {
    kb_context *ctx = test_context();
    static const double values[] = {1, 2, 3, 10, 0, 5, 3, 30, 1, 8, 9, 11};
    file_bytes f = npy_of(BY_ROWS, values, sizeof values);
    kb_read_spec spec = {.label = "1", .weights = "column:-1", .group = "3"};
    kb_data *data;
    (void)unused;
    path = file_with_bytes("array", f.byte, f.length);
    assert_int_equal(kb_magic_of(path.text), KB_MAGIC_NPY);
    assert_ok(ctx, kb_read(ctx, &spec, path.text, &data));
    assert_int_equal(data->features, 1);
    assert_items(double, data->dense, 2, 5, 8);
    assert_items(double, data->label, 1, 0, 1);
    assert_items(double, data->weight, 10, 30, 11);
    assert_items(uint32_t, data->group, 0, 0, 1);
    kb_data_free(data);
    spec = (kb_read_spec){.label = "price"};
    assert_int_equal(kb_read(ctx, &spec, path.text, &data), KB_ERR_ARGUMENT);
    assert_non_null(strstr(kb_context_message(ctx), "array: the file has no header, so the label"));
    remove(path.text);
    kb_context_free(ctx);
}

static void weights_and_groups_are_checked(void **unused) {
    kb_context *ctx = test_context();
    double values[] = {1, 2, 3, 0, 0, 5, 3, 30, 1, 8, 9, 11};
    kb_read_spec spec = {.label = "1", .weights = "column:-1", .group = "3"};
    kb_data *data;
    (void)unused;
    for (int k = 0; k < 4; k++) {
        values[3] = k == 1 ? -1 : k == 2 ? NAN : 0; /* a weight of 0 is one */
        values[2] = k == 3 ? NAN : 3;
        file_bytes f = npy_of(BY_ROWS, values, sizeof values);
        path = file_with_bytes("array", f.byte, f.length);
        assert_int_equal(kb_read(ctx, &spec, path.text, &data), k ? KB_ERR_DATA : KB_OK);
        if (k == 0)
            assert_items(double, data->weight, 0, 30, 11);
        if (k > 0)
            assert_non_null(strstr(kb_context_message(ctx), k == 1 ? "row 1: the weight -1 is not"
                                                            : k == 2
                                                                ? "row 1: the weight nan is not"
                                                                : "row 1: the group is missing"));
        kb_data_free(data);
        remove(path.text);
    }
    spec.label = "none";
    spec.group = NULL;
    values[2] = 3, values[3] = 0;
    file_bytes f = npy_of(BY_ROWS, values, sizeof values);
    path = file_with_bytes("array", f.byte, f.length);
    assert_ok(ctx, kb_read(ctx, &spec, path.text, &data));
    assert_null(data->label);
    assert_null(data->group);
    assert_int_equal(data->features, 3);
    kb_data_free(data);
    remove(path.text);
    kb_context_free(ctx);
}

static void cut_files_are_refused(void **unused) {
    kb_context *ctx = test_context();
    file_bytes f = npy_of(BY_ROWS, VALUES, sizeof VALUES);
    kb_npy npy;
    (void)unused;
    for (size_t length = 0; length < f.length; length++) {
        assert_int_not_equal(read_bytes(ctx, &f, length, &npy), KB_OK);
        assert_null(npy.cell);
    }
    add(&f, "\n", 1); /* nor may anything follow */
    assert_int_equal(read_bytes(ctx, &f, f.length, &npy), KB_ERR_DATA);
    assert_ok(ctx, read_bytes(ctx, &f, f.length - 1, &npy));
    kb_npy_clear(ctx, &npy);
    kb_context_free(ctx);
}

static int read_all(kb_context *ctx, void *arg) {
    kb_npy npy;
    kb_status status = kb_npy_read(ctx, arg, &npy);
    kb_npy_clear(ctx, &npy);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    file_bytes f = npy_of(BY_ROWS, VALUES, sizeof VALUES);
    (void)unused;
    path = file_with_bytes("array", f.byte, f.length);
    run_with_allocation_failures(read_all, path.text);
    remove(path.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_orders_are_read),
        cmocka_unit_test(headers_may_differ),
        cmocka_unit_test(other_types_and_shapes_are_refused),
        cmocka_unit_test(columns_have_roles_by_number),
        cmocka_unit_test(weights_and_groups_are_checked),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
