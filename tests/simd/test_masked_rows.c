/* The loops over octets: against plain ones, and the same bits at every level. */
#include "features/world.h"

enum { MOST = 4, ROWS = 403, ROOM = (ROWS + KB_OCTET - 1) / KB_OCTET * KB_OCTET };

/* Some rows as octets and as a list; every third of the octets is left out. */
typedef struct list {
    uint32_t octet[ROOM / KB_OCTET];
    size_t count, row[ROWS], rows;
} list;

static list some_rows(size_t most) {
    list l = {.count = 0};
    double *draw = test_numbers(3, ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        if (row / KB_OCTET % 3 == 1 || draw[row] > 0.3 || l.rows == most)
            continue;
        uint32_t octet = kb_octet_of(row);
        if (l.count > 0 && (l.octet[l.count - 1] ^ octet) < 256)
            l.octet[l.count - 1] |= octet;
        else
            l.octet[l.count++] = octet;
        l.row[l.rows++] = row;
    }
    free(draw);
    return l;
}

/* What the loops are given. */
typedef struct given {
    double v[ROOM], h[ROOM];
    uint8_t up[ROOM / KB_OCTET];
} given;

static given some_numbers(void) {
    given g = {.up = {0}};
    double *v = test_numbers(5, ROOM), *h = test_numbers(6, ROOM);
    for (size_t i = 0; i < ROOM; i++) {
        g.v[i] = i % 11 == 0 ? 0 : i % 13 == 0 ? -0.0 : v[i];
        g.h[i] = h[i];
        if (h[i] * v[i] > 0)
            g.up[i / KB_OCTET] |= (uint8_t)(1 << i % KB_OCTET);
    }
    free(v), free(h);
    return g;
}

static int is_up(const given *g, size_t row) {
    return g->up[row / KB_OCTET] >> row % KB_OCTET & 1;
}

static int is_open(const given *g, size_t row, double u) {
    return is_up(g, row) ? !signbit(u) : signbit(u) != 0;
}

/* All results of a level. */
/* Rounds to multiples of 2^-10, up to some of the numbers. */
#define ROUND   0x1.8p42
#define LARGEST 0.75

typedef struct results {
    double sum, moved, open, count;
    double added[ROOM], added_times[ROOM], rounded[ROOM], after[ROOM];
} results;

static results run(const kb_masked_rows *loops, const given *g, const list *l) {
    results r;
    memcpy(r.added, g->v, sizeof g->v);
    memcpy(r.added_times, g->v, sizeof g->v);
    memcpy(r.rounded, g->v, sizeof g->v);
    memcpy(r.after, g->v, sizeof g->v);
    r.sum = loops->sum(l->octet, l->count, g->v);
    kb_open_gaps gaps = loops->open(l->octet, l->count, g->up, g->v);
    r.open = gaps.sum;
    r.count = gaps.count;
    loops->add(l->octet, l->count, 0.7, r.added);
    loops->add_times(l->octet, l->count, -0.3, g->h, r.added_times);
    loops->add_rounded(l->octet, l->count, -0.3, g->h, ROUND, LARGEST, r.rounded);
    r.moved = loops->move(l->octet, l->count, g->up, 0.4, r.after);
    return r;
}

static results plain(const given *g, const list *l) {
    results r = {0};
    memcpy(r.added, g->v, sizeof g->v);
    memcpy(r.added_times, g->v, sizeof g->v);
    memcpy(r.rounded, g->v, sizeof g->v);
    memcpy(r.after, g->v, sizeof g->v);
    for (size_t k = 0; k < l->rows; k++) {
        size_t i = l->row[k];
        r.sum += g->v[i];
        r.added[i] += 0.7;
        r.added_times[i] += -0.3 * g->h[i];
        r.after[i] += 0.4;
        r.rounded[i] = rint((g->v[i] + -0.3 * g->h[i]) * 0x1p10) * 0x1p-10;
        r.rounded[i] = fmax(fmin(r.rounded[i], LARGEST), -LARGEST);
        r.open += is_open(g, i, g->v[i]) ? g->v[i] : 0;
        r.count += is_open(g, i, g->v[i]);
        r.moved += is_open(g, i, r.after[i]) ? r.after[i] : 0;
    }
    return r;
}

static void the_loops_are_plain_ones_at_every_level(void **unused) {
    (void)unused;
    const kb_simd *level[MOST];
    size_t levels = kb_simd_list(level, MOST);
    given g = some_numbers();
    for (size_t most = 0; most <= ROWS; most = most < 20 ? most + 1 : 2 * most) {
        list l = some_rows(most);
        results right = plain(&g, &l), first = run(level[0]->masked_rows, &g, &l);
        for (size_t k = 0; k < levels; k++) {
            results r = run(level[k]->masked_rows, &g, &l);
            assert_close(&r.sum, &right.sum, 1, 1e-13);
            assert_close(&r.open, &right.open, 1, 1e-13);
            assert_close(&r.moved, &right.moved, 1, 1e-13);
            assert_true(r.count == right.count);
            /* Rows that do not belong keep even the sign of their zeros. */
            assert_memory_equal(r.added, right.added, sizeof r.added);
            assert_memory_equal(r.added_times, right.added_times, sizeof r.added_times);
            assert_memory_equal(r.rounded, right.rounded, sizeof r.rounded);
            assert_memory_equal(r.after, right.after, sizeof r.after);
            assert_memory_equal(&r, &first, sizeof r);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loops_are_plain_ones_at_every_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
