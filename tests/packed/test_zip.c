/* Zip files: stored and deflated members, those of 64 bits and from a pipe, and damage. */
#include "packing.h"

#include "packed/zip.h"

#include <fcntl.h>

enum { MOST = 8192 };

static const char TEXT[] =
    "a member of a zip file, a member of a zip file, a member of a zip file\n";

typedef struct zip_bytes {
    size_t length, list, members;
    unsigned char byte[MOST], entry[MOST];
} zip_bytes;

static void put(unsigned char *to, size_t *at, uint64_t value, int bytes) {
    for (int k = 0; k < bytes; k++)
        to[(*at)++] = (unsigned char)(k < 8 ? value >> 8 * k : 0);
}

/* How a member is written. */
enum { PLAIN = 0, OF_64 = 1, FROM_PIPE = 2 };

static void add_member(zip_bytes *z, const char *name, unsigned method, int how) {
    size_t length = sizeof TEXT - 1, used = length, at = z->length;
    char *bytes = method == 8 ? packed("deflate", TEXT, length, &used) : NULL;
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)TEXT, (uInt)length);
    uint64_t told = how == FROM_PIPE ? 0 : used, size = how == FROM_PIPE ? 0 : length;
    put(z->byte, &z->length, 0x04034B50, 4);
    put(z->byte, &z->length, 20, 2);
    put(z->byte, &z->length, how == FROM_PIPE ? 8 : 0, 2);
    put(z->byte, &z->length, method, 2);
    put(z->byte, &z->length, 0, 4);
    put(z->byte, &z->length, how == FROM_PIPE ? 0 : sum, 4);
    put(z->byte, &z->length, told, 4);
    put(z->byte, &z->length, size, 4);
    put(z->byte, &z->length, strlen(name), 2);
    put(z->byte, &z->length, 0, 2);
    memcpy(z->byte + z->length, name, strlen(name));
    z->length += strlen(name);
    memcpy(z->byte + z->length, bytes ? bytes : TEXT, used);
    z->length += used;
    put(z->entry, &z->list, 0x02014B50, 4);
    put(z->entry, &z->list, 20 << 16 | 20, 4);
    put(z->entry, &z->list, how == FROM_PIPE ? 8 : 0, 2);
    put(z->entry, &z->list, method, 2);
    put(z->entry, &z->list, 0, 4);
    put(z->entry, &z->list, sum, 4);
    put(z->entry, &z->list, how == OF_64 ? UINT32_MAX : used, 4);
    put(z->entry, &z->list, how == OF_64 ? UINT32_MAX : length, 4);
    put(z->entry, &z->list, strlen(name), 2);
    put(z->entry, &z->list, how == OF_64 ? 28 : 0, 2);
    put(z->entry, &z->list, 0, 10);
    put(z->entry, &z->list, how == OF_64 ? UINT32_MAX : at, 4);
    memcpy(z->entry + z->list, name, strlen(name));
    z->list += strlen(name);
    if (how == OF_64) {
        put(z->entry, &z->list, 1, 2);
        put(z->entry, &z->list, 24, 2);
        put(z->entry, &z->list, length, 8);
        put(z->entry, &z->list, used, 8);
        put(z->entry, &z->list, at, 8);
    }
    z->members++;
    free(bytes);
}

static void close_zip(zip_bytes *z, int of_64) {
    size_t at = z->length;
    memcpy(z->byte + z->length, z->entry, z->list);
    z->length += z->list;
    if (of_64) {
        size_t record = z->length;
        put(z->byte, &z->length, 0x06064B50, 4);
        put(z->byte, &z->length, 44, 8);
        put(z->byte, &z->length, 0, 12);
        put(z->byte, &z->length, z->members, 8);
        put(z->byte, &z->length, z->members, 8);
        put(z->byte, &z->length, z->list, 8);
        put(z->byte, &z->length, at, 8);
        put(z->byte, &z->length, 0x07064B50, 4);
        put(z->byte, &z->length, 0, 4);
        put(z->byte, &z->length, record, 8);
        put(z->byte, &z->length, 1, 4);
    }
    put(z->byte, &z->length, 0x06054B50, 4);
    put(z->byte, &z->length, 0, 4);
    put(z->byte, &z->length, of_64 ? UINT16_MAX : z->members, 2);
    put(z->byte, &z->length, of_64 ? UINT16_MAX : z->members, 2);
    put(z->byte, &z->length, of_64 ? UINT32_MAX : z->list, 4);
    put(z->byte, &z->length, of_64 ? UINT32_MAX : at, 4);
    put(z->byte, &z->length, 0, 2);
}

/* Every way that NumPy and others write. */
static zip_bytes sample(int of_64) {
    zip_bytes z = {0};
    add_member(&z, "stored", 0, PLAIN);
    add_member(&z, "deflated", 8, PLAIN);
    add_member(&z, "large", 0, OF_64);
    add_member(&z, "piped", 0, FROM_PIPE);
    add_member(&z, "both", 8, FROM_PIPE);
    close_zip(&z, of_64);
    return z;
}

/* KB_OK only where all members were read and are what they should be. */
static kb_status read_zip(kb_context *ctx, const char *path) {
    kb_status status;
    kb_source *source = NULL;
    kb_zip *zip = NULL;
    TRY(kb_source_open(ctx, path, &source));
    TRY(kb_zip_open(ctx, source, NULL, 0, &zip));
    for (size_t i = 0; i < kb_zip_count(zip); i++) {
        char text[sizeof TEXT + 10];
        size_t used = 0, got;
        TRY(kb_zip_begin(zip, i));
        do {
            TRY(kb_zip_read(zip, text + used, 7, &got));
            used += got;
            assert_true(used < sizeof text);
        } while (got > 0);
        assert_int_equal(used, sizeof TEXT - 1);
        assert_memory_equal(text, TEXT, used);
    }
done:
    kb_zip_free(zip);
    kb_source_free(source);
    return status;
}

static void members_of_every_kind_are_read(void **unused) {
    kb_context *ctx = test_context();
    (void)unused;
    for (int of_64 = 0; of_64 < 2; of_64++) {
        zip_bytes z = sample(of_64);
        test_path path = file_with_bytes("zip", z.byte, z.length);
        assert_ok(ctx, read_zip(ctx, path.text));
        remove(path.text);
    }
    kb_context_free(ctx);
}

/* As a whole in a gzip file, and through a pipe: there is no going back then. */
static void a_zip_file_may_be_compressed_or_come_from_a_pipe(void **unused) {
    kb_context *ctx = test_context();
    zip_bytes z = sample(0);
    int ends[2], before = dup(STDIN_FILENO);
    (void)unused;
    test_path path = packed_file("gzip", (const char *)z.byte, z.length);
    assert_ok(ctx, read_zip(ctx, path.text));
    remove(path.text);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], z.byte, z.length), z.length);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    assert_ok(ctx, read_zip(ctx, "-"));
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
    kb_context_free(ctx);
}

/* A flipped bit, and a cut, give an error or leave the members as they were: read_zip compares. */
static void damage_is_seen(void **unused) {
    kb_context *ctx = test_context();
    zip_bytes z = sample(1);
    size_t errors = 0;
    (void)unused;
    for (size_t bit = 0; bit < 8 * z.length; bit++) {
        z.byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
        test_path path = file_with_bytes("zip", z.byte, z.length);
        errors += read_zip(ctx, path.text) != KB_OK;
        remove(path.text);
        z.byte[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_in_range(errors, 8 * z.length / 3, 8 * z.length);
    for (size_t length = 0; length < z.length; length++) {
        test_path path = file_with_bytes("zip", z.byte, length);
        assert_int_not_equal(read_zip(ctx, path.text), KB_OK);
        remove(path.text);
    }
    kb_context_free(ctx);
}

static int read_all(kb_context *ctx, void *path) {
    return (int)read_zip(ctx, path);
}

static void every_allocation_may_fail(void **unused) {
    zip_bytes z = sample(0);
    (void)unused;
    test_path path = file_with_bytes("zip", z.byte, z.length);
    run_with_allocation_failures(read_all, path.text);
    remove(path.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_every_kind_are_read),
        cmocka_unit_test(a_zip_file_may_be_compressed_or_come_from_a_pipe),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
