/*
 * mpi.c - ranks.h by MPI (The MPI Forum: MPI, a message-passing interface standard, 4.0, 2021).
 *
 * What the library exchanges goes over one communicator, and the end of a command over another: so
 * a rank that fails alone, while the others wait for it in the middle of the work, can see that
 * they do not come.
 */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"
#include "exchange.h"
#include "text.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds that a rank which has failed waits for the others, and one that was interrupted: what
 * mpirun sends it is followed by a kill within a second. */
#define WAIT_FAILED      2.0
#define WAIT_INTERRUPTED 0.3

static struct {
    int rank, count, nearby;
    MPI_Comm work, end;
    kb_ranks context;
} mpi = {.count = 1, .nearby = 1};

/* ---- beginning ----------------------------------------------------------- */

/* The version and the words of the command line: what must be the same on all ranks. */
static char *own_words(int argc, char **argv, size_t *length) {
    char *text = NULL;
    FILE *to = open_memstream(&text, length);
    if (!to)
        return NULL;
    fprintf(to, "%s%c", kb_version(), '\0');
    for (int i = 1; i < argc; i++)
        fprintf(to, "%s%c", argv[i], '\0');
    return fclose(to) == 0 ? text : NULL;
}

/* Compares with rank 0; what differs is told by the first rank that differs. */
static int compare_words(const char *mine, size_t length) {
    unsigned long first[2] = {length, 0}, me = (unsigned long)mpi.count, least;
    MPI_Bcast(first, 1, MPI_UNSIGNED_LONG, 0, mpi.end);
    char *theirs = malloc(first[0] + 1);
    if (!theirs)
        ranks_abort(1);
    if (mpi.rank == 0)
        memcpy(theirs, mine, length);
    MPI_Bcast(theirs, (int)first[0], MPI_BYTE, 0, mpi.end);
    if (first[0] != length || memcmp(theirs, mine, length) != 0)
        me = (unsigned long)mpi.rank;
    MPI_Allreduce(&me, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, mpi.end);
    int other_version = strcmp(theirs, mine) != 0;
    if (least == (unsigned long)mpi.rank && me == least && other_version)
        put_sentence("kerbin: rank %d of %d has kerbin %s, and rank 0 has %s: install the same",
                     mpi.rank, mpi.count, mine, theirs);
    else if (least == (unsigned long)mpi.rank && me == least)
        put_sentence("kerbin: rank %d of %d has another command line than rank 0", mpi.rank,
                     mpi.count);
    free(theirs);
    return least < (unsigned long)mpi.count ? 2 : 0;
}

int ranks_begin(int *argc, char ***argv) {
    int level;
    size_t length;
    MPI_Comm host;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi.work);
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi.end);
    MPI_Comm_set_errhandler(mpi.work, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi.work, &mpi.rank);
    MPI_Comm_size(mpi.work, &mpi.count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &mpi.nearby);
    MPI_Comm_free(&host);
    mpi.context = exchange_by(&mpi.work);
    mpi.context.nearby = mpi.nearby;
    char *words = own_words(*argc, *argv, &length);
    if (!words)
        ranks_abort(1);
    int status = compare_words(words, length);
    free(words);
    if (status != 0)
        ranks_finish(status);
    return status;
}

void ranks_finish(int status) {
    (void)status;
    MPI_Comm_free(&mpi.work);
    MPI_Comm_free(&mpi.end);
    MPI_Finalize();
}

int ranks_me(void) {
    return mpi.rank;
}

int ranks_count(void) {
    return mpi.count;
}

int ranks_nearby(void) {
    return mpi.nearby;
}

const kb_ranks *ranks_of_context(void) {
    return &mpi.context;
}

kb_status ranks_agree(kb_status status, int *first) {
    int mine = status == KB_OK ? mpi.count : mpi.rank, number = (int)status;
    *first = mine;
    MPI_Allreduce(&mine, first, 1, MPI_INT, MPI_MIN, mpi.work);
    if (*first == mpi.count)
        return KB_OK;
    MPI_Bcast(&number, 1, MPI_INT, *first, mpi.work);
    return (kb_status)number;
}

void ranks_add_up(size_t *number) {
    uint64_t sum = *number;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, mpi.work);
    *number = (size_t)sum;
}

/* ---- the end ------------------------------------------------------------- */

/* Whether all ranks are here; waits up to so many seconds, negative: for ever. */
static int all_are_here(double seconds) {
    MPI_Request request;
    int done = 0;
    double begun = MPI_Wtime(), waited = 0;
    MPI_Ibarrier(mpi.end, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done && (seconds < 0 || waited < seconds)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        waited = MPI_Wtime() - begun;
    }
    return done;
}

/* FNV-1a. */
static uint64_t hash_of(const char *text) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

int ranks_meet(const rank_end *end, int *speaks, int *lost) {
    uint64_t mine[2] = {(uint64_t)end->status, hash_of(end->sentence)};
    int status = 0;
    *speaks = *lost = 0;
    if (!all_are_here(end->status == 0 ? -1 : end->interrupted ? WAIT_INTERRUPTED : WAIT_FAILED)) {
        *speaks = *lost = 1;
        return end->status;
    }
    uint64_t(*all)[2] = malloc((size_t)mpi.count * sizeof *all);
    if (!all)
        ranks_abort(1);
    MPI_Allgather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, mpi.end);
    *speaks = end->status != 0;
    for (int k = 0; k < mpi.count; k++) {
        if (status == 0)
            status = (int)all[k][0];
        if (k < mpi.rank && all[k][0] != 0 && all[k][1] == mine[1])
            *speaks = 0; /* it has said the same */
    }
    free(all);
    return status;
}

void ranks_abort(int status) {
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}
