/* Which rows are validation rows: sizes, classes, groups and order, for every small case. */
#include "support.h"

#include "data/folds.h"

#include <math.h>

enum { MOST = 400, KINDS = 4, ALL = 1000000 };

static const double shares[] = {0.01, 0.1, 0.2, 0.25, 0.5, 0.75, 0.99};
enum { SHARES = sizeof shares / sizeof *shares };

/* Classes of very different sizes, and groups that come and go along the rows. */
static uint32_t stratum[MOST], group[MOST];

static void make_rows(size_t rows, uint32_t classes, uint32_t groups) {
    for (size_t i = 0; i < rows; i++) {
        stratum[i] = (uint32_t)((i * i + 3 * i) % 17 % classes);
        group[i] = (uint32_t)((i * 7 + i * i / 5) % 101 % groups);
    }
}

static size_t count_distinct(size_t rows, const uint32_t *number) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t k = 0;
        while (number[k] != number[i])
            k++;
        count += k == i;
    }
    return count;
}

/* Rows with this number, and those of them in fold k. */
static size_t rows_with(const kb_folds *f, const uint32_t *number, uint32_t n, size_t k) {
    size_t count = 0;
    for (size_t i = 0; i < f->rows; i++)
        count += (!number || number[i] == n) && (k == SIZE_MAX || kb_folds_holds(f, i, k));
    return count;
}

static size_t held(const kb_folds *f, size_t k) {
    return rows_with(f, NULL, 0, k);
}

static size_t part_size(double share, size_t most, size_t rows) {
    size_t size = (size_t)floor(share * (double)rows);
    size = size < most ? size : most;
    size = size < rows - 1 ? size : rows - 1;
    return size > 1 ? size : 1;
}

static void build(kb_context *ctx, kb_split_kind kind, size_t folds, double share, size_t most,
                  uint64_t seed, size_t rows, kb_folds *out) {
    assert_ok(ctx, kb_folds_build(ctx, kind, folds, share, most, seed, rows, stratum, group, out));
    assert_int_equal(out->rows, rows);
    assert_int_equal(out->folds, folds > 0 ? folds : 1);
    assert_int_equal(out->ordered, kind == KB_SPLIT_TIME);
}

/* ---- the definitions --------------------------------------------------- */

static void a_row_is_fitted_or_validated_as_defined(void **unused) {
    uint8_t fold[] = {KB_FOLD_NONE, 0, 1, 2};
    kb_folds f = {.rows = 4, .folds = 3, .fold = fold};
    (void)unused;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(kb_folds_holds(&f, i, k), i == k + 1);
            f.ordered = 0;
            assert_int_equal(kb_folds_fits(&f, i, k), i != k + 1);
            f.ordered = 1;
            assert_int_equal(kb_folds_fits(&f, i, k), i < k + 1);
        }
}

/* ---- one part ---------------------------------------------------------- */

static void a_part_has_its_share_of_the_rows(void **unused) {
    static const kb_split_kind kinds[] = {KB_SPLIT_RANDOM, KB_SPLIT_TIME};
    static const size_t mosts[] = {0, 1, 3, 20, ALL};
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t rows = 2; rows < MOST; rows += rows < 30 ? 1 : 37)
        for (size_t s = 0; s < SHARES; s++)
            for (size_t m = 0; m < 5; m++)
                for (int kind = 0; kind < 2; kind++) {
                    build(ctx, kinds[kind], 0, shares[s], mosts[m], rows + s, rows, &f);
                    size_t size = part_size(shares[s], mosts[m], rows);
                    assert_int_equal(held(&f, 0), size);
                    for (size_t i = 0; i < rows; i++) {
                        assert_true(f.fold[i] == 0 || f.fold[i] == KB_FOLD_NONE);
                        if (kinds[kind] == KB_SPLIT_TIME)
                            assert_int_equal(f.fold[i] == 0, i >= rows - size);
                    }
                    kb_folds_release(ctx, &f);
                    assert_null(f.fold);
                }
    kb_context_free(ctx);
}

/* Of a class of n rows, m n / N with m the part's size over the classes that can give a row; a
 * sum rounded at both ends is off by less than one, and so is m itself. */
static void a_part_has_the_same_share_of_each_class(void **unused) {
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t rows = 4; rows < MOST; rows += rows < 40 ? 1 : 37)
        for (uint32_t classes = 1; classes < 8; classes++)
            for (size_t s = 0; s < SHARES; s++) {
                make_rows(rows, classes, 3);
                size_t able = 0;
                kb_folds all = {.rows = rows};
                for (uint32_t c = 0; c < classes; c++) {
                    size_t n = rows_with(&all, stratum, c, SIZE_MAX);
                    able += n > 1 ? n : 0;
                }
                if (able == 0)
                    continue;
                build(ctx, KB_SPLIT_STRATIFIED, 0, shares[s], ALL, rows, rows, &f);
                double size = (double)part_size(shares[s], ALL, rows);
                double want = fmax(1, round(size * (double)able / (double)rows));
                int cut = 0; /* a class gave less, so as to keep a row outside */
                for (uint32_t c = 0; c < classes; c++) {
                    size_t n = rows_with(&f, stratum, c, SIZE_MAX);
                    size_t got = rows_with(&f, stratum, c, 0);
                    double due = want * (double)n / (double)able;
                    if (n < 2) {
                        assert_int_equal(got, 0);
                        continue;
                    }
                    assert_true(got < n);
                    assert_true((double)got <= due + 1 + 1e-9);
                    assert_true((double)got >= fmin(due - 1, (double)n - 1) - 1e-9);
                    cut |= got == n - 1;
                }
                assert_true(cut || held(&f, 0) == (size_t)want);
                assert_true(held(&f, 0) >= 1 && held(&f, 0) <= (size_t)want);
                kb_folds_release(ctx, &f);
            }
    kb_context_free(ctx);
}

static void assert_groups_are_whole(const kb_folds *f) {
    for (size_t i = 0; i < f->rows; i++)
        for (size_t k = 0; k < i; k++)
            if (group[i] == group[k]) {
                assert_int_equal(f->fold[i], f->fold[k]);
                break;
            }
}

/* No group outside would bring the part nearer to its size, unless it is the last one. */
static void a_part_of_whole_groups_is_near_its_share(void **unused) {
    static const size_t mosts[] = {1, 20, ALL};
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t rows = 2; rows < MOST; rows += rows < 40 ? 1 : 37)
        for (uint32_t groups = 2; groups < 60; groups += groups < 6 ? 1 : 17)
            for (size_t s = 0; s < SHARES; s++)
                for (size_t m = 0; m < 3; m++) {
                    make_rows(rows, 2, groups);
                    size_t count = count_distinct(rows, group), outside = 0;
                    if (count < 2)
                        continue;
                    build(ctx, KB_SPLIT_GROUP, 0, shares[s], mosts[m], rows + s, rows, &f);
                    double size = (double)part_size(shares[s], mosts[m], rows);
                    double now = (double)held(&f, 0), least = (double)rows;
                    assert_groups_are_whole(&f);
                    assert_true(now >= 1 && now < (double)rows);
                    for (uint32_t g = 0; g < groups; g++) {
                        double n = (double)rows_with(&f, group, g, SIZE_MAX);
                        if (n == 0 || rows_with(&f, group, g, 0) > 0)
                            continue;
                        outside++;
                        least = fmin(least, n);
                    }
                    if (outside > 1)
                        assert_true(fabs(now + least - size) >= fabs(now - size));
                    kb_folds_release(ctx, &f);
                }
    kb_context_free(ctx);
}

/* Where each group is larger than twice the part, the smallest is taken. */
static void the_smallest_group_is_the_validation_part_rather_than_none(void **unused) {
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t i = 0; i < 100; i++)
        group[i] = i < 40 ? 7 : i < 70 ? 2 : 5;
    group[99] = 2;
    for (uint64_t seed = 0; seed < 10; seed++) {
        build(ctx, KB_SPLIT_GROUP, 0, 0.1, ALL, seed, 100, &f);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(f.fold[i], group[i] == 5 ? 0 : KB_FOLD_NONE);
        kb_folds_release(ctx, &f);
    }
    kb_context_free(ctx);
}

/* ---- folds ------------------------------------------------------------- */

/* How many more rows with this number the largest fold has than the smallest. */
static size_t spread(const kb_folds *f, const uint32_t *number, uint32_t n) {
    size_t least = SIZE_MAX, most = 0, all = 0;
    for (size_t k = 0; k < f->folds; k++) {
        size_t size = rows_with(f, number, n, k);
        least = size < least ? size : least;
        most = size > most ? size : most;
        all += size;
    }
    assert_int_equal(all, rows_with(f, number, n, SIZE_MAX));
    return most - least;
}

static void folds_are_of_one_size_and_of_one_mixture(void **unused) {
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t folds = 2; folds < 12; folds++)
        for (size_t rows = folds; rows < MOST; rows += rows < 40 ? 1 : 37) {
            make_rows(rows, 5, 3);
            build(ctx, KB_SPLIT_RANDOM, folds, NAN, 0, rows, rows, &f);
            assert_true(spread(&f, NULL, 0) <= 1);
            kb_folds_release(ctx, &f);
            build(ctx, KB_SPLIT_STRATIFIED, folds, 0, 0, rows, rows, &f);
            assert_true(spread(&f, NULL, 0) <= 1);
            for (uint32_t c = 0; c < 5; c++)
                assert_true(spread(&f, stratum, c) <= 1);
            kb_folds_release(ctx, &f);
        }
    kb_context_free(ctx);
}

/* Each group went to the smallest fold, so no fold is ahead of another by more than its last,
 * which is no larger than the largest. */
static void folds_of_whole_groups_are_nearly_even(void **unused) {
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t folds = 2; folds < 7; folds++)
        for (size_t rows = folds; rows < MOST; rows += rows < 40 ? 1 : 37)
            for (uint32_t groups = 2; groups < 100; groups += groups < 8 ? 1 : 17) {
                size_t widest = 0;
                make_rows(rows, 2, groups);
                if (count_distinct(rows, group) < folds)
                    continue;
                build(ctx, KB_SPLIT_GROUP, folds, 0, 0, rows, rows, &f);
                assert_groups_are_whole(&f);
                for (size_t k = 0; k < folds; k++)
                    assert_true(held(&f, k) > 0);
                for (uint32_t g = 0; g < groups; g++) {
                    size_t size = rows_with(&f, group, g, SIZE_MAX);
                    widest = size > widest ? size : widest;
                }
                assert_true(spread(&f, NULL, 0) <= widest);
                kb_folds_release(ctx, &f);
            }
    kb_context_free(ctx);
}

static void folds_in_time_are_learned_from_what_comes_before(void **unused) {
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t folds = 2; folds < 12; folds++)
        for (size_t rows = folds + 1; rows < MOST; rows += rows < 40 ? 1 : 37) {
            build(ctx, KB_SPLIT_TIME, folds, 0, 0, 1, rows, &f);
            size_t first = rows_with(&f, NULL, 0, SIZE_MAX);
            for (size_t k = 0; k < folds; k++) {
                size_t size = held(&f, k), fitted = 0;
                assert_true(size >= rows / (folds + 1) && size <= rows / (folds + 1) + 1);
                first -= size;
                /* the rows up to some place are fitted, those after it are held out, the rest is
                 * not used */
                while (fitted < rows && kb_folds_fits(&f, fitted, k))
                    fitted++;
                for (size_t i = fitted; i < rows; i++) {
                    assert_false(kb_folds_fits(&f, i, k));
                    assert_int_equal(kb_folds_holds(&f, i, k), i < fitted + size);
                }
                assert_true(fitted > 0);
            }
            assert_true(first >= rows / (folds + 1) && f.fold[0] == KB_FOLD_NONE);
            kb_folds_release(ctx, &f);
        }
    kb_context_free(ctx);
}

/* ---- chance ------------------------------------------------------------ */

static void only_the_seed_decides(void **unused) {
    kb_context *ctx = test_context();
    kb_folds one, again, other;
    (void)unused;
    make_rows(MOST, 3, 50);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t folds = 0; folds < 6; folds += 5) {
            build(ctx, (kb_split_kind)kind, folds, 0.3, ALL, 5, MOST, &one);
            build(ctx, (kb_split_kind)kind, folds, 0.3, ALL, 5, MOST, &again);
            build(ctx, (kb_split_kind)kind, folds, 0.3, ALL, 6, MOST, &other);
            assert_memory_equal(one.fold, again.fold, MOST);
            if (kind == KB_SPLIT_TIME)
                assert_memory_equal(one.fold, other.fold, MOST);
            else
                assert_memory_not_equal(one.fold, other.fold, MOST);
            kb_folds_release(ctx, &one);
            kb_folds_release(ctx, &again);
            kb_folds_release(ctx, &other);
        }
    kb_context_free(ctx);
}

/* Over many seeds a row is a validation row with the probability of its share: within five standard
 * deviations, sqrt(n p (1 - p)) each, for every row. */
static void every_row_has_its_chance(void **unused) {
    enum { ROWS = 12, SEEDS = 4000 };
    kb_context *ctx = test_context();
    size_t times[ROWS] = {0};
    kb_folds f;
    (void)unused;
    make_rows(ROWS, 1, ROWS);
    for (int kind = 0; kind < KB_SPLIT_TIME; kind++) {
        memset(times, 0, sizeof times);
        for (size_t i = 0; i < ROWS; i++)
            group[i] = (uint32_t)i;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            build(ctx, (kb_split_kind)kind, 0, 0.25, ALL, seed, ROWS, &f);
            for (size_t i = 0; i < ROWS; i++)
                times[i] += f.fold[i] == 0;
            kb_folds_release(ctx, &f);
        }
        for (size_t i = 0; i < ROWS; i++)
            assert_true(fabs((double)times[i] - SEEDS * 0.25) < 5 * sqrt(SEEDS * 0.25 * 0.75));
    }
    kb_context_free(ctx);
}

/* ---- what cannot be ---------------------------------------------------- */

static void what_cannot_be_split_is_told(void **unused) {
    static const uint32_t zeros[10] = {0}, two[10] = {0, 9},
                          own[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const struct {
        kb_split_kind kind;
        size_t folds;
        double share;
        size_t rows;
        const uint32_t *stratum, *group;
        kb_status status;
        const char *message;
    } known[] = {
        {KB_SPLIT_RANDOM, 0, 0.2, 1, NULL, NULL, KB_ERR_DATA, "1 row cannot be split in two"},
        {KB_SPLIT_RANDOM, 0, 0.2, 0, NULL, NULL, KB_ERR_DATA, "0 rows cannot be split in two"},
        {KB_SPLIT_RANDOM, 5, 0, 4, NULL, NULL, KB_ERR_DATA, "4 rows: too few for 5 folds"},
        {KB_SPLIT_TIME, 5, 0, 5, NULL, NULL, KB_ERR_DATA,
         "5 rows: too few for 5 folds and the rows before the first"},
        {KB_SPLIT_GROUP, 5, 0, 10, NULL, zeros, KB_ERR_DATA,
         "all rows are of one group, so none can be held out without the others"},
        {KB_SPLIT_GROUP, 0, 0.2, 10, NULL, zeros, KB_ERR_DATA,
         "all rows are of one group, so none can be held out without the others"},
        {KB_SPLIT_GROUP, 3, 0, 10, NULL, two, KB_ERR_DATA,
         "2 groups cannot be dealt out to 3 folds"},
        {KB_SPLIT_STRATIFIED, 0, 0.2, 10, own, NULL, KB_ERR_DATA,
         "every class has one row only, so none can be held out"},
        {KB_SPLIT_STRATIFIED, 0, 0.2, 10, NULL, own, KB_ERR_ARGUMENT,
         "a stratified split is for classification"},
        {KB_SPLIT_GROUP, 0, 0.2, 10, own, NULL, KB_ERR_ARGUMENT,
         "a split by groups needs data that say which group each row is of"},
        {KB_SPLIT_RANDOM, 0, 0, 10, NULL, NULL, KB_ERR_ARGUMENT,
         "a share of 0: must be above 0 and below 1"},
        {KB_SPLIT_RANDOM, 0, NAN, 10, NULL, NULL, KB_ERR_ARGUMENT,
         "a share of nan: must be above 0 and below 1"},
        {KB_SPLIT_RANDOM, 1, 0.2, 10, NULL, NULL, KB_ERR_ARGUMENT, "1 fold: must be from 2 to 254"},
        {KB_SPLIT_RANDOM, 255, 0.2, 10, NULL, NULL, KB_ERR_ARGUMENT,
         "255 folds: must be from 2 to 254"},
    };
    kb_context *ctx = test_context();
    kb_folds f;
    (void)unused;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_fails(ctx, known[i].status, known[i].message,
                     kb_folds_build(ctx, known[i].kind, known[i].folds, known[i].share, ALL, 1,
                                    known[i].rows, known[i].stratum, known[i].group, &f));
        kb_folds_release(ctx, &f);
    }
    kb_context_free(ctx);
}

static int build_all(kb_context *ctx, void *unused) {
    kb_folds f[2 * KINDS] = {{0}};
    kb_status status;
    (void)unused;
    for (int k = 0; k < 2 * KINDS; k++)
        TRY(kb_folds_build(ctx, (kb_split_kind)(k / 2), k % 2 ? 3 : 0, 0.2, ALL, 1, 20, stratum,
                           group, &f[k]));
done:
    for (int k = 0; k < 2 * KINDS; k++)
        kb_folds_release(ctx, &f[k]);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    (void)unused;
    make_rows(20, 2, 5);
    run_with_allocation_failures(build_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_fitted_or_validated_as_defined),
        cmocka_unit_test(a_part_has_its_share_of_the_rows),
        cmocka_unit_test(a_part_has_the_same_share_of_each_class),
        cmocka_unit_test(a_part_of_whole_groups_is_near_its_share),
        cmocka_unit_test(the_smallest_group_is_the_validation_part_rather_than_none),
        cmocka_unit_test(folds_are_of_one_size_and_of_one_mixture),
        cmocka_unit_test(folds_of_whole_groups_are_nearly_even),
        cmocka_unit_test(folds_in_time_are_learned_from_what_comes_before),
        cmocka_unit_test(only_the_seed_decides),
        cmocka_unit_test(every_row_has_its_chance),
        cmocka_unit_test(what_cannot_be_split_is_told),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
