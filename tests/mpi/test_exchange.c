/*
 * test_exchange.c - what kb_ranks asks for, by MPI, under mpirun; compiled so that no more than a
 * few bytes go at once.
 */
#include "../../cli/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static int me, ranks;

static void check(int holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "rank %d of %d: %s\n", me, ranks, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void sums_are_over_all_ranks_and_wrap(const kb_ranks *r) {
    for (size_t count = 0; count < 40; count++) {
        int64_t x[40];
        for (size_t i = 0; i < count; i++)
            x[i] = i % 2 ? INT64_MAX : me + (int64_t)i;
        check(r->sum(r->user, x, count) == 0, "sum");
        for (size_t i = 0; i < count; i++) {
            uint64_t odd = (uint64_t)INT64_MAX * (uint64_t)ranks;
            int64_t even = ranks * (ranks - 1) / 2 + (int64_t)i * ranks;
            check(i % 2 ? (uint64_t)x[i] == odd : x[i] == even, "a sum is wrong");
        }
    }
}

/* Byte i of what rank k gives rank j. */
static char byte_of(int k, int j, size_t i) {
    return (char)(k * 50 + j * 7 + (int)i);
}

static void every_rank_gathers_the_bytes_of_all(const kb_ranks *r, size_t scale) {
    size_t bytes[MOST] = {0}, all = 0, at = 0;
    for (int k = 0; k < ranks; k++)
        all += bytes[k] = (size_t)((k + 2) % 3) * scale;
    char *mine = malloc(bytes[me] + 1), *got = malloc(all + 1);
    for (size_t i = 0; i < bytes[me]; i++)
        mine[i] = byte_of(me, 0, i);
    check(r->gather(r->user, mine, got, bytes) == 0, "gather");
    for (int k = 0; k < ranks; k++)
        for (size_t i = 0; i < bytes[k]; i++)
            check(got[at++] == byte_of(k, 0, i), "a byte that was gathered is wrong");
    free(mine), free(got);
}

static size_t size_of(int from, int to, size_t scale) {
    return (size_t)((from + 2 * to) % 4) * scale;
}

static void every_rank_gets_what_the_others_have_for_it(const kb_ranks *r, size_t scale) {
    size_t to[MOST] = {0}, from[MOST] = {0};
    size_t gives = 0, takes = 0, at = 0;
    for (int k = 0; k < ranks; k++) {
        gives += to[k] = size_of(me, k, scale);
        takes += from[k] = size_of(k, me, scale);
    }
    char *give = malloc(gives + 1), *take = malloc(takes + 1);
    for (int k = 0; k < ranks; k++)
        for (size_t i = 0; i < to[k]; i++)
            give[at++] = byte_of(me, k, i);
    check(r->exchange(r->user, give, to, take, from) == 0, "exchange");
    at = 0;
    for (int k = 0; k < ranks; k++)
        for (size_t i = 0; i < from[k]; i++)
            check(take[at++] == byte_of(k, me, i), "a byte that was exchanged is wrong");
    free(give), free(take);
}

/* Each writes to its place in a file of rank 0. */
static void every_rank_writes_its_part_of_a_file(const kb_ranks *r, const char *path) {
    enum { PART = 100 };
    char mine[PART], got[PART];
    FILE *file = me == 0 ? fopen(path, "wb") : NULL;
    check(me > 0 || (file && fclose(file) == 0), "the file cannot be made");
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < PART; i++)
        mine[i] = byte_of(me, 0, i);
    check(r->write(r->user, path, mine, PART, (size_t)me * PART) == 0, "write");
    MPI_Barrier(MPI_COMM_WORLD);
    file = fopen(path, "rb");
    check(file != NULL, "the file is not there");
    for (int k = 0; k < ranks; k++) {
        check(fread(got, 1, PART, file) == PART, "the file is short");
        for (size_t i = 0; i < PART; i++)
            check(got[i] == byte_of(k, 0, i), "a byte of the file is wrong");
    }
    check(fread(got, 1, 1, file) == 0 && fclose(file) == 0, "the file is long");
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        remove(path);
    check(r->write(r->user, "/no/such/folder/file", mine, PART, 0) != 0, "a write that fails");
}

int main(int argc, char **argv) {
    int level;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    kb_ranks r = exchange_by(&comm);
    check(ranks <= MOST && r.rank == me && r.ranks == ranks, "who is who");
    sums_are_over_all_ranks_and_wrap(&r);
    for (size_t scale = 0; scale < 60; scale += 3) {
        every_rank_gathers_the_bytes_of_all(&r, scale);
        every_rank_gets_what_the_others_have_for_it(&r, scale);
    }
    every_rank_writes_its_part_of_a_file(&r, argv[1]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
