/*
 * zip.c - see zip.h.
 *
 * The list at the end of the file (the central directory) is the one that counts: sizes in front
 * of a member may be missing where it was written to a pipe.
 */
#define _POSIX_C_SOURCE 200809L
#include "packed/zip.h"
#include "core/memory.h"
#include "packed/unpack.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
    RAW_BYTES = 1 << 16,
    END = 22,        /* bytes of the record at the end, */
    COMMENT = 65535, /* which a comment may follow */
    END_64 = 56,
    LOCATOR_64 = 20,
    ENTRY = 46,
    LOCAL = 30,
    STORED = 0,
    DEFLATED = 8,
};

static const char NO_ZIP[] = "not a zip file, or a damaged one";

struct kb_zip {
    kb_context *ctx;
    kb_source *source;
    int fd; /* -1: all bytes are in memory */
    unsigned char *bytes;
    size_t capacity;
    uint64_t size;

    kb_zip_member *member;
    size_t members, member_capacity;

    const kb_zip_member *now; /* the one that is read, */
    uint64_t at, left;        /* its packed bytes, */
    uint64_t given;           /* and what was given of it */
    uLong checksum;
    unsigned char *raw;
    const unsigned char *next;
    size_t raw_left;
    kb_unpacker *unpacker;
    int finished;
};

static kb_status damaged(const kb_zip *z, const char *why) {
    return kb_fail(z->ctx, KB_ERR_DATA, "%s: %s", kb_source_name(z->source), why);
}

/* ---- bytes of the file ------------------------------------------------- */

static kb_status bytes_at(const kb_zip *z, uint64_t at, void *to, size_t count) {
    unsigned char *next = to;
    if (at > z->size || count > z->size - at)
        return damaged(z, NO_ZIP);
    if (z->fd < 0) {
        memcpy(to, z->bytes + at, count);
        return KB_OK;
    }
    while (count > 0) {
        ssize_t got = pread(z->fd, next, count, (off_t)at);
        if (got < 0 && errno != EINTR)
            return kb_fail(z->ctx, KB_ERR_IO, "%s: cannot read: %s", kb_source_name(z->source),
                           strerror(errno));
        if (got == 0)
            return damaged(z, NO_ZIP);
        if (got > 0) {
            next += got;
            at += (uint64_t)got;
            count -= (size_t)got;
        }
        kb_status status = count > 0 ? kb_progress(z->ctx, "read", -1) : KB_OK;
        if (status != KB_OK)
            return status;
    }
    return KB_OK;
}

static uint64_t number(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

static kb_status keep_all(kb_zip *z, const void *begin, size_t count) {
    kb_status status;
    size_t got;
    TRY(kb_reserve(z->ctx, count + RAW_BYTES, 1, &z->capacity, &z->bytes));
    if (count > 0)
        memcpy(z->bytes, begin, count);
    z->size = count;
    do {
        TRY(kb_source_report(z->source));
        TRY(kb_reserve(z->ctx, z->size + RAW_BYTES, 1, &z->capacity, &z->bytes));
        TRY(kb_source_read(z->source, z->bytes + z->size, RAW_BYTES, &got));
        z->size += got;
    } while (got > 0);
done:
    return status;
}

/* ---- the list ---------------------------------------------------------- */

typedef struct list_place {
    uint64_t at, size, count;
} list_place;

/* The record at the end, behind which there is nothing but its comment. */
static kb_status find_list(const kb_zip *z, list_place *out) {
    kb_status status = KB_OK;
    unsigned char end[END], record[END_64];
    uint64_t at = z->size, first;
    if (z->size < END)
        TRY(damaged(z, NO_ZIP));
    first = z->size > END + COMMENT ? z->size - END - COMMENT : 0;
    for (at = z->size - END;; at--) {
        TRY(bytes_at(z, at, end, END));
        if (memcmp(end, "PK\5\6", 4) == 0 && number(end + 20, 2) == z->size - at - END)
            break;
        if (at == first)
            TRY(damaged(z, NO_ZIP));
    }
    *out = (list_place){number(end + 16, 4), number(end + 12, 4), number(end + 10, 2)};
    if (out->at != UINT32_MAX && out->size != UINT32_MAX && out->count != UINT16_MAX)
        goto done;
    if (at < LOCATOR_64)
        TRY(damaged(z, NO_ZIP));
    TRY(bytes_at(z, at - LOCATOR_64, record, LOCATOR_64));
    if (memcmp(record, "PK\6\7", 4) != 0) /* so the numbers are these */
        goto done;
    TRY(bytes_at(z, number(record + 8, 8), record, END_64));
    if (memcmp(record, "PK\6\6", 4) != 0)
        TRY(damaged(z, NO_ZIP));
    *out = (list_place){number(record + 48, 8), number(record + 40, 8), number(record + 32, 8)};
done:
    return status;
}

/* Numbers of 8 bytes, for those that do not fit in 4; in this order, where they are needed. */
static void take_64(const unsigned char *extra, size_t length, kb_zip_member *m) {
    uint64_t *const part[] = {&m->size, &m->packed, &m->at};
    while (length >= 4) {
        size_t kind = number(extra, 2), bytes = number(extra + 2, 2);
        extra += 4;
        length -= 4;
        if (bytes > length)
            return;
        for (size_t k = 0, used = 0; kind == 1 && k < 3; k++)
            if (*part[k] == UINT32_MAX && used + 8 <= bytes) {
                *part[k] = number(extra + used, 8);
                used += 8;
            }
        extra += bytes;
        length -= bytes;
    }
}

static kb_status read_entry(kb_zip *z, const unsigned char *entry, size_t left, size_t *length) {
    kb_status status;
    if (left < ENTRY || memcmp(entry, "PK\1\2", 4) != 0)
        return damaged(z, NO_ZIP);
    size_t name = number(entry + 28, 2), extra = number(entry + 30, 2);
    *length = ENTRY + name + extra + number(entry + 32, 2);
    if (*length > left)
        return damaged(z, NO_ZIP);
    TRY(kb_reserve(z->ctx, z->members + 1, sizeof *z->member, &z->member_capacity, &z->member));
    kb_zip_member *m = &z->member[z->members];
    *m = (kb_zip_member){.flags = (unsigned)number(entry + 8, 2),
                         .method = (unsigned)number(entry + 10, 2),
                         .checksum = (uint32_t)number(entry + 16, 4),
                         .packed = number(entry + 20, 4),
                         .size = number(entry + 24, 4),
                         .at = number(entry + 42, 4)};
    TRY(kb_zalloc(z->ctx, name + 1, 1, &m->name));
    memcpy(m->name, entry + ENTRY, name);
    z->members++;
    take_64(entry + ENTRY + name, extra, m);
done:
    return status;
}

static kb_status read_list(kb_zip *z) {
    kb_status status;
    list_place place;
    unsigned char *list = NULL;
    size_t length = 0;
    TRY(find_list(z, &place));
    if (place.size > z->size)
        TRY(damaged(z, NO_ZIP));
    TRY(kb_alloc(z->ctx, place.size, 1, &list));
    TRY(bytes_at(z, place.at, list, place.size));
    for (size_t at = 0; z->members < place.count; at += length)
        TRY(read_entry(z, list + at, place.size - at, &length));
done:
    kb_release(z->ctx, list);
    return status;
}

kb_status kb_zip_open(kb_context *ctx, kb_source *source, const void *begin, size_t count,
                      kb_zip **out) {
    kb_status status;
    kb_zip *z;
    off_t size = 0;
    *out = NULL;
    TRY(kb_zalloc(ctx, 1, sizeof *z, &z));
    z->ctx = ctx;
    z->source = source;
    z->fd = kb_source_file(source, &size);
    z->size = (uint64_t)size;
    if (z->fd >= 0) { /* unless it is compressed as a whole */
        unsigned char mark[4] = {0};
        TRY(bytes_at(z, 0, mark, z->size < 4 ? z->size : 4));
        if (memcmp(mark, "PK", 2) != 0)
            z->fd = -1;
    }
    if (z->fd < 0)
        TRY(keep_all(z, begin, count));
    TRY(kb_alloc(ctx, RAW_BYTES, 1, &z->raw));
    TRY(read_list(z));
    *out = z;
done:
    if (status != KB_OK)
        kb_zip_free(z);
    return status;
}

void kb_zip_free(kb_zip *z) {
    if (!z)
        return;
    for (size_t i = 0; i < z->members; i++)
        kb_release(z->ctx, z->member[i].name);
    kb_unpacker_free(z->unpacker);
    kb_release(z->ctx, z->member);
    kb_release(z->ctx, z->raw);
    kb_release(z->ctx, z->bytes);
    kb_release(z->ctx, z);
}

size_t kb_zip_count(const kb_zip *z) {
    return z->members;
}

const kb_zip_member *kb_zip_member_at(const kb_zip *z, size_t i) {
    return &z->member[i];
}

/* ---- a member ---------------------------------------------------------- */

kb_status kb_zip_begin(kb_zip *z, size_t member) {
    kb_status status;
    unsigned char local[LOCAL];
    const kb_zip_member *m = z->now = &z->member[member];
    kb_unpacker_free(z->unpacker);
    z->unpacker = NULL;
    TRY(bytes_at(z, m->at, local, LOCAL));
    if (memcmp(local, "PK\3\4", 4) != 0)
        TRY(damaged(z, NO_ZIP));
    if ((m->flags & 1) || (m->method != STORED && m->method != DEFLATED))
        TRY(damaged(z, "a zip file that is encrypted or compressed in another way than deflate"));
    z->at = m->at + LOCAL + number(local + 26, 2) + number(local + 28, 2);
    z->left = m->packed;
    if (z->at > z->size || z->left > z->size - z->at)
        TRY(damaged(z, NO_ZIP));
    z->given = 0;
    z->raw_left = 0;
    z->finished = 0;
    z->checksum = crc32(0, NULL, 0);
    if (m->method == DEFLATED)
        TRY(kb_unpacker_create(z->ctx, KB_PACKING_DEFLATE, &z->unpacker));
done:
    return status;
}

static kb_status read_deflated(kb_zip *z, void *to, size_t room, size_t *got) {
    kb_status status = KB_OK;
    kb_unpack_step step = {.out = to, .out_left = room};
    while (!z->finished && step.out_left == room) {
        if (z->raw_left == 0 && z->left > 0) {
            z->raw_left = z->left < RAW_BYTES ? (size_t)z->left : RAW_BYTES;
            z->next = z->raw;
            TRY(bytes_at(z, z->at, z->raw, z->raw_left));
            z->at += z->raw_left;
            z->left -= z->raw_left;
        }
        step.in = z->next;
        step.in_left = z->raw_left;
        step.in_ends = z->left == 0;
        status = kb_unpack(z->unpacker, &step);
        z->next = step.in;
        z->raw_left = step.in_left;
        z->finished = step.ended;
        if (status != KB_OK)
            TRY(kb_fail(z->ctx, status, "%s: %s%s", kb_source_name(z->source),
                        status == KB_ERR_IO ? "damaged zip data: " : "", step.why));
    }
    *got = room - step.out_left;
done:
    return status;
}

kb_status kb_zip_read(kb_zip *z, void *to, size_t room, size_t *got) {
    kb_status status = KB_OK;
    *got = 0;
    if (z->unpacker) {
        TRY(read_deflated(z, to, room, got));
    } else {
        *got = z->left < room ? (size_t)z->left : room;
        TRY(bytes_at(z, z->at, to, *got));
        z->at += *got;
        z->left -= *got;
    }
    z->given += *got;
    for (size_t done = 0, part; done < *got; done += part) {
        part = *got - done < 1u << 30 ? *got - done : 1u << 30;
        z->checksum = crc32(z->checksum, (const Bytef *)to + done, (uInt)part);
    }
    if (z->given > z->now->size ||
        (*got == 0 && (z->given < z->now->size || (uint32_t)z->checksum != z->now->checksum)))
        TRY(kb_fail(z->ctx, KB_ERR_IO,
                    "%s: damaged zip data: '%.80s' is not what its checksum says",
                    kb_source_name(z->source), z->now->name));
done:
    return status;
}
