/* alone.c - ranks.h for one process. */
#include "ranks.h"

#include <stddef.h>
#include <stdlib.h>

int ranks_begin(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return 0;
}

void ranks_finish(int status) {
    (void)status;
}

int ranks_me(void) {
    return 0;
}

int ranks_count(void) {
    return 1;
}

int ranks_nearby(void) {
    return 1;
}

const kb_ranks *ranks_of_context(void) {
    return NULL;
}

kb_status ranks_agree(kb_status status, int *first) {
    *first = 0;
    return status;
}

void ranks_add_up(size_t *number) {
    (void)number;
}

int ranks_meet(const rank_end *end, int *speaks, int *lost) {
    *speaks = end->status != 0;
    *lost = 0;
    return end->status;
}

void ranks_abort(int status) {
    exit(status);
}
