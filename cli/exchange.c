/* exchange.c - see exchange.h. */
#include "exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The most that goes in one call, in bytes or numbers.  The tests make it small. */
#ifndef EXCHANGE_MOST
#define EXCHANGE_MOST ((size_t)1 << 30)
#endif

static int least(size_t left) {
    return (int)(left < EXCHANGE_MOST ? left : EXCHANGE_MOST);
}

static int sum(void *user, int64_t *numbers, size_t count) {
    MPI_Comm *comm = user;
    for (int n; count > 0; numbers += n, count -= (size_t)n) {
        n = least(count);
        if (MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_UINT64_T, MPI_SUM, *comm) != MPI_SUCCESS)
            return 1;
    }
    return 0;
}

/* Counts and places as MPI takes them: places[k] is the sum of those before k.  NULL: no memory. */
static int *counts_of(const size_t *bytes, int ranks) {
    int *counts = malloc(2 * (size_t)ranks * sizeof *counts), place = 0;
    for (int k = 0; counts && k < ranks; k++) {
        counts[k] = (int)bytes[k];
        counts[ranks + k] = place;
        place += counts[k];
    }
    return counts;
}

static size_t total(const size_t *bytes, int ranks) {
    size_t sum_of = 0;
    for (int k = 0; k < ranks; k++)
        sum_of += bytes[k];
    return sum_of;
}

/* One rank after the other, in rounds. */
static int gather_long(MPI_Comm comm, const void *mine, char *all, const size_t *bytes, int me,
                       int ranks) {
    for (int k = 0; k < ranks; all += bytes[k], k++) {
        if (k == me && bytes[k] > 0)
            memcpy(all, mine, bytes[k]);
        for (size_t at = 0; at < bytes[k]; at += EXCHANGE_MOST)
            if (MPI_Bcast(all + at, least(bytes[k] - at), MPI_BYTE, k, comm) != MPI_SUCCESS)
                return 1;
    }
    return 0;
}

static int gather(void *user, const void *mine, void *all, const size_t *bytes_of) {
    MPI_Comm comm = *(MPI_Comm *)user;
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    if (total(bytes_of, ranks) > EXCHANGE_MOST)
        return gather_long(comm, mine, all, bytes_of, me, ranks);
    int *counts = counts_of(bytes_of, ranks);
    if (!counts)
        return 1;
    int failed = MPI_Allgatherv(mine, counts[me], MPI_BYTE, all, counts, counts + ranks, MPI_BYTE,
                                comm) != MPI_SUCCESS;
    free(counts);
    return failed;
}

/* With one rank after the other, in rounds: in step s with those s behind and s ahead. */
static int exchange_long(MPI_Comm comm, const char *to, const size_t *to_bytes, char *from,
                         const size_t *from_bytes, int me, int ranks) {
    for (int s = 0; s < ranks; s++) {
        int ahead = (me + s) % ranks, behind = (me + ranks - s) % ranks;
        const char *give = to + total(to_bytes, ahead);
        char *take = from + total(from_bytes, behind);
        size_t gives = to_bytes[ahead], takes = from_bytes[behind];
        while (gives > 0 || takes > 0) {
            int g = least(gives), t = least(takes);
            if (MPI_Sendrecv(give, g, MPI_BYTE, g > 0 ? ahead : MPI_PROC_NULL, s, take, t, MPI_BYTE,
                             t > 0 ? behind : MPI_PROC_NULL, s, comm,
                             MPI_STATUS_IGNORE) != MPI_SUCCESS)
                return 1;
            give += g, gives -= (size_t)g;
            take += t, takes -= (size_t)t;
        }
    }
    return 0;
}

static int exchange(void *user, const void *to, const size_t *to_bytes, void *from,
                    const size_t *from_bytes) {
    MPI_Comm comm = *(MPI_Comm *)user;
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    uint64_t most = total(to_bytes, ranks), got = total(from_bytes, ranks);
    most = got > most ? got : most;
    if (MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, comm) != MPI_SUCCESS)
        return 1;
    if (most > EXCHANGE_MOST)
        return exchange_long(comm, to, to_bytes, from, from_bytes, me, ranks);
    int *give = counts_of(to_bytes, ranks), *take = counts_of(from_bytes, ranks);
    int failed = !give || !take ||
                 MPI_Alltoallv(to, give, give + ranks, MPI_BYTE, from, take, take + ranks, MPI_BYTE,
                               comm) != MPI_SUCCESS;
    free(give);
    free(take);
    return failed;
}

/* What went wrong with a file, as errno has it. */
static int failed_with(int code) {
    int class = MPI_ERR_OTHER;
    MPI_Error_class(code, &class);
    errno = class == MPI_ERR_NO_SUCH_FILE ? ENOENT
            : class == MPI_ERR_ACCESS     ? EACCES
            : class == MPI_ERR_READ_ONLY  ? EROFS
            : class == MPI_ERR_NO_SPACE   ? ENOSPC
            : class == MPI_ERR_BAD_FILE   ? ENAMETOOLONG
            : errno > 0                   ? errno
                                          : EIO;
    return 1;
}

/* Each rank opens the file for itself, since each has its own places in it. */
static int write_part(void *user, const char *path, const void *bytes, size_t count, size_t at) {
    MPI_File file;
    const char *from = bytes;
    (void)user;
    int code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &file), wrote = 1;
    errno = 0;
    if (code != MPI_SUCCESS)
        return failed_with(code);
    while (count > 0 && code == MPI_SUCCESS && wrote > 0) {
        MPI_Status done;
        code = MPI_File_write_at(file, (MPI_Offset)at, from, least(count), MPI_BYTE, &done);
        if (code == MPI_SUCCESS)
            code = MPI_Get_count(&done, MPI_BYTE, &wrote);
        if (code == MPI_SUCCESS && wrote > 0)
            from += wrote, at += (size_t)wrote, count -= (size_t)wrote;
    }
    if (code == MPI_SUCCESS)
        code = MPI_File_sync(file);
    int failed = code != MPI_SUCCESS || count > 0 ? failed_with(code) : 0, why = errno;
    code = MPI_File_close(&file);
    if (code != MPI_SUCCESS && !failed)
        return failed_with(code);
    errno = why;
    return failed;
}

kb_ranks exchange_by(MPI_Comm *comm) {
    kb_ranks ranks = KB_RANKS_INIT;
    MPI_Comm_rank(*comm, &ranks.rank);
    MPI_Comm_size(*comm, &ranks.ranks);
    ranks.user = comm;
    ranks.sum = sum;
    ranks.gather = gather;
    ranks.exchange = exchange;
    ranks.write = write_part;
    return ranks;
}
