/* measures.c - the measurements; see bench.h. */
#define _DEFAULT_SOURCE
#include "bench.h"
#include "rivals.h"

#include "core/team.h"
#include "data/scaling.h"
#include "features/bintable.h"
#include "features/dictionary.h"
#include "features/products.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- reading ----------------------------------------------------------- */

typedef struct reading {
    kb_context *ctx;
    const char *path;
} reading;

static void read_kerbin(void *arg) {
    reading *r = arg;
    kb_read_spec spec = {0};
    kb_data *data;
    if (kb_read(r->ctx, &spec, r->path, &data) == KB_OK)
        kb_data_free(data);
}

static void read_strtod(void *arg) {
    strtod_read(((reading *)arg)->path);
}

/* Writes the data set 20 times over as plain text; returns its size in MB. */
static double write_copies(bench *b, const kb_data *data, const char *path) {
    char one[64];
    double bytes = 0;
    snprintf(one, sizeof one, "%s.one%s", path, strstr(path, ".csv") ? ".csv" : "");
    if (kb_data_write(b->one, data, one) != KB_OK)
        return 0;
    FILE *from = fopen(one, "r"), *to = fopen(path, "w");
    char buffer[1 << 16];
    for (int copy = 0; from && to && copy < 20; copy++) {
        size_t n;
        rewind(from);
        if (copy > 0 && strstr(path, ".csv"))
            for (int c = 0; c != '\n' && c != EOF;)
                c = fgetc(from); /* one header is enough */
        while ((n = fread(buffer, 1, sizeof buffer, from)) > 0)
            bytes += (double)fwrite(buffer, 1, n, to);
    }
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    remove(one);
    return bytes / 1e6;
}

/* The file once more, by all threads and by one in turn. */
static void read_together(bench *b, const char *what, const char *path, double megabytes) {
    reading alone = {b->one, path}, all = {b->all, path};
    double ours, together;
    bench_time(read_kerbin, &alone, read_kerbin, &all, &ours, &together);
    bench_row(b, what, megabytes / together, "MB/s", "one thread", ours / together, 0);
}

void bench_readers(bench *b) {
    char folder[] = "/tmp/kerbin-bench-XXXXXX", path[64];
    double ours, theirs;
    kb_data *data = bench_data(b, "ijcnn1.train");
    if (!data || !mkdtemp(folder)) {
        bench_skip(b, "reading", "no ijcnn1 in the data folder");
        return;
    }
    reading r = {b->one, path};
    snprintf(path, sizeof path, "%s/ijcnn1.libsvm", folder);
    double megabytes = write_copies(b, data, path);
    bench_time(read_kerbin, &r, read_strtod, &r, &ours, &theirs);
    bench_row(b, "reading LIBSVM text", megabytes / ours, "MB/s", "strtod a number", theirs / ours,
              0);
    bench_row(b, "  against 150 MB/s", megabytes / ours, "MB/s", "150 MB/s", megabytes / ours / 150,
              1);
    read_together(b, "  all threads", path, megabytes);
    remove(path);
    snprintf(path, sizeof path, "%s/ijcnn1.csv", folder);
    megabytes = write_copies(b, data, path);
    bench_time(read_kerbin, &r, NULL, NULL, &ours, NULL);
    bench_row(b, "reading CSV", megabytes / ours, "MB/s", "150 MB/s", megabytes / ours / 150, 1);
    read_together(b, "  all threads", path, megabytes);
    remove(path);
    rmdir(folder);
    kb_data_free(data);
}

/* ---- binning ----------------------------------------------------------- */

/* A set with unit scaling and grids of one sigma. */
typedef struct binned {
    kb_data *data;
    double *shift, *scale;
    kb_law *law;
    kb_grids *grids;
    kb_binmat *z;
} binned;

static void binned_release(bench *b, binned *s) {
    kb_binmat_free(s->z);
    kb_grids_free(s->grids);
    kb_law_free(s->law);
    kb_release(b->one, s->shift);
    kb_release(b->one, s->scale);
    kb_data_free(s->data);
    memset(s, 0, sizeof *s);
}

/* sigma is in units of each feature's range if `minmax`. */
static kb_status binned_create(bench *b, const char *name, double sigma, int minmax, size_t R,
                               binned *s) {
    kb_status status = KB_ERR_IO;
    kb_width *widths = NULL;
    memset(s, 0, sizeof *s);
    s->data = bench_data(b, name);
    if (!s->data)
        return status;
    size_t d = s->data->features;
    TRY(kb_alloc(b->one, d, sizeof(double), &s->shift));
    TRY(kb_alloc(b->one, d, sizeof(double), &s->scale));
    TRY(kb_alloc(b->one, d, sizeof *widths, &widths));
    TRY(kb_law_parse(b->one, "laplace", &s->law));
    TRY(kb_scaling_learn(b->one, minmax ? KB_SCALE_MINMAX : KB_SCALE_NONE, s->data, s->shift,
                         s->scale));
    for (size_t j = 0; j < d; j++)
        widths[j] = (kb_width){s->law, sigma, 1};
    TRY(kb_grids_build(b->one, 1, 0, R, &(kb_widths){1, d, widths}, &s->grids));
    kb_binning how = {s->grids, s->shift, s->scale, NULL};
    TRY(kb_binmat_build(b->one, &how, s->data, R, NULL, &s->z));
done:
    kb_release(b->one, widths);
    if (status != KB_OK)
        binned_release(b, s);
    return status;
}

typedef struct keying {
    const binned *s;
    const kb_simd *simd;
    uint64_t *keys; /* KB_LANES x rows, of the last block */
    uint64_t *zero;
} keying;

static void compute_keys(void *arg) {
    keying *k = arg;
    kb_binning how = {k->s->grids, k->s->shift, k->s->scale, k->simd};
    size_t N = k->s->data->rows;
    for (size_t block = 0; block < kb_grids_blocks(k->s->grids); block++) {
        kb_bin_keys_prepare(&how, k->s->data, block, k->zero);
        kb_bin_keys_compute(&how, k->s->data, block, 0, N, k->zero, N, k->keys);
    }
}

typedef struct numbering {
    kb_context *ctx;
    kb_bintable table;
    size_t count;
    const uint64_t *keys;
    uint32_t *ids;
} numbering;

static void number_keys(void *arg) {
    numbering *n = arg;
    if (kb_bintable_clear(n->ctx, &n->table) == KB_OK)
        kb_bintable_number(n->ctx, &n->table, n->count, n->keys, 1, n->ids);
}

static void bench_table(bench *b, const char *what, size_t count, const uint64_t *keys) {
    double seconds;
    numbering n = {.ctx = b->one, .count = count, .keys = keys};
    if (kb_alloc(b->one, count, sizeof *n.ids, &n.ids) != KB_OK)
        return;
    bench_time(number_keys, &n, NULL, NULL, &seconds, NULL);
    char name[96];
    snprintf(name, sizeof name, "%s, %u bins", what, n.table.count);
    bench_row(b, name, seconds / (double)count * 1e9, "ns a key", NULL, 0, 0);
    kb_bintable_release(b->one, &n.table);
    kb_release(b->one, n.ids);
}

typedef struct building {
    kb_context *ctx;
    const binned *s;
} building;

static void build_ids(void *arg) {
    building *m = arg;
    kb_binmat *z;
    kb_binning how = {m->s->grids, m->s->shift, m->s->scale, NULL};
    if (kb_binmat_build(m->ctx, &how, m->s->data, m->s->grids->grids, NULL, &z) == KB_OK)
        kb_binmat_free(z);
}

void bench_binning(bench *b) {
    binned s;
    const kb_simd *levels[4];
    size_t count = kb_simd_list(levels, 4);
    double best, plain, cells;
    if (binned_create(b, "ijcnn1.train", 0.75, 0, 128, &s) != KB_OK) {
        bench_skip(b, "binning", "no ijcnn1 in the data folder");
        return;
    }
    size_t N = s.data->rows;
    keying fast = {.s = &s, .simd = levels[count - 1]}, slow = {.s = &s, .simd = levels[0]};
    if (kb_alloc(b->one, KB_LANES * N, sizeof(uint64_t), &fast.keys) != KB_OK ||
        kb_alloc(b->one, kb_bin_keys_scratch(s.data) + 1, sizeof(uint64_t), &fast.zero) != KB_OK)
        exit(1);
    slow.keys = fast.keys;
    slow.zero = fast.zero;
    cells = (double)(N * s.grids->grids * s.data->features);
    bench_time(compute_keys, &fast, compute_keys, &slow, &best, &plain);
    bench_row(b, "keys, ijcnn1 R=128, 22 features", cells / best / 1e9, "G cells/s",
              "the plain kernels", plain / best, 0);
    building one = {b->one, &s}, all = {b->all, &s};
    double alone, together;
    bench_time(build_ids, &one, build_ids, &all, &alone, &together);
    bench_row(b, "binning, dictionary included", cells / alone / 1e9, "G cells/s", NULL, 0, 0);
    bench_row(b, "binning, all threads", cells / together / 1e9, "G cells/s", "one thread",
              alone / together, 0);
    bench_table(b, "dictionary, ijcnn1", N, fast.keys);
    kb_release(b->one, fast.keys);
    kb_release(b->one, fast.zero);
    binned_release(b, &s);

    size_t many = 4000000;
    uint64_t *keys;
    if (kb_alloc(b->one, many, sizeof *keys, &keys) != KB_OK)
        return;
    for (size_t i = 0; i < many; i++)
        keys[i] = kb_key_mix((i * 2654435761u) % 2000000 * 0x9E3779B97F4A7C15u);
    bench_table(b, "dictionary, synthetic", many, keys);
    kb_release(b->one, keys);
}

/* ---- products ---------------------------------------------------------- */

typedef struct multiplying {
    kb_context *ctx;
    kb_operator *op;
    csr *rival;
    size_t C, times;
    double *v, *out;
} multiplying;

static void apply_k(void *arg) {
    multiplying *m = arg;
    for (size_t t = 0; t < m->times; t++)
        m->op->apply_k(m->op, m->ctx, m->C, m->v, m->out, NULL);
}

static void apply_csr(void *arg) {
    multiplying *m = arg;
    csr_apply_k(m->rival, m->v, m->out);
}

static void check_same(bench *b, multiplying *m, size_t N) {
    double *other, worst = 0, most = 0;
    if (kb_alloc(b->one, N, sizeof(double), &other) != KB_OK)
        return;
    apply_k(m);
    csr_apply_k(m->rival, m->v, other);
    for (size_t i = 0; i < N; i++) {
        worst = fmax(worst, fabs(other[i] - m->out[i]));
        most = fmax(most, fabs(other[i]));
    }
    if (!(worst <= 1e-12 * most)) {
        printf("the two products differ by %g\n", worst / most);
        b->failed++;
    }
    kb_release(b->one, other);
}

static void bench_set(bench *b, const char *name, const char *title, double sigma, int minmax) {
    binned s;
    csr rival;
    char what[96];
    double ours, theirs, together;
    if (binned_create(b, name, sigma, minmax, 128, &s) != KB_OK) {
        bench_skip(b, title, "not in the data folder");
        return;
    }
    size_t N = s.data->rows;
    double nonzeros = (double)N * 128;
    multiplying m = {.ctx = b->one, .rival = &rival, .C = 1, .times = 1};
    if (kb_operator_binmat(b->one, s.z, &m.op) != KB_OK ||
        csr_from_binmat(b->one, s.z, &rival) != KB_OK ||
        kb_alloc(b->one, N, sizeof(double), &m.v) != KB_OK ||
        kb_alloc(b->one, N, sizeof(double), &m.out) != KB_OK)
        exit(1);
    for (size_t i = 0; i < N; i++)
        m.v[i] = sin((double)i);
    check_same(b, &m, N);
    bench_time(apply_k, &m, apply_csr, &m, &ours, &theirs);
    snprintf(what, sizeof what, "K v, %s R=128, D=%zu", title, s.z->bins);
    bench_row(b, what, ours / nonzeros * 1e9, "ns a nonzero", "CSR with doubles", theirs / ours, 3);
    multiplying all = m;
    all.ctx = b->all;
    bench_time(apply_k, &m, apply_k, &all, &ours, &together);
    bench_row(b, "  all threads", together / nonzeros * 1e9, "ns a nonzero", "one thread",
              ours / together, 0);
    kb_operator_free(m.op);
    csr_release(b->one, &rival);
    kb_release(b->one, m.v);
    kb_release(b->one, m.out);
    binned_release(b, &s);
}

static void bench_letter(bench *b) {
    binned s;
    double block, single;
    enum { C = 26 };
    if (binned_create(b, "letter.tr", 1, 0, 128, &s) != KB_OK) {
        bench_skip(b, "K V, letter", "not in the data folder");
        return;
    }
    size_t N = s.data->rows;
    multiplying m = {.ctx = b->one, .C = C, .times = 1};
    if (kb_operator_binmat(b->one, s.z, &m.op) != KB_OK ||
        kb_alloc(b->one, N * C, sizeof(double), &m.v) != KB_OK ||
        kb_alloc(b->one, N * C, sizeof(double), &m.out) != KB_OK)
        exit(1);
    for (size_t i = 0; i < N * C; i++)
        m.v[i] = sin((double)i);
    multiplying each = m;
    each.C = 1;
    each.times = C;
    bench_time(apply_k, &m, apply_k, &each, &block, &single);
    bench_row(b, "K V, letter R=128, 26 columns at once", block / ((double)N * 128 * C) * 1e9,
              "ns nonzero, col.", "26 single products", single / block, 3);
    kb_operator_free(m.op);
    kb_release(b->one, m.v);
    kb_release(b->one, m.out);
    binned_release(b, &s);
}

void bench_products(bench *b) {
    bench_set(b, "ijcnn1.train", "ijcnn1", 0.75, 0);
    bench_set(b, "cod-rna.train", "cod-rna", 0.25, 1);
    bench_letter(b);
}

/* ---- predicting -------------------------------------------------------- */

typedef struct predicting {
    kb_context *ctx;
    const kb_model *model;
    const kb_data *data;
    double *decision;
} predicting;

static void decide(void *arg) {
    predicting *p = arg;
    kb_model_decide(p->ctx, p->model, p->data, p->decision);
}

static kb_status fit_ijcnn1(kb_context *ctx, const kb_data *data, const char *grids,
                            kb_model **out) {
    kb_status status;
    kb_options *options = NULL;
    *out = NULL;
    TRY(kb_options_create(ctx, &options));
    TRY(kb_options_set(ctx, options, "scale", "none"));
    TRY(kb_options_set(ctx, options, "sigma", "0.75"));
    TRY(kb_options_set(ctx, options, "lambda", "1"));
    TRY(kb_options_set(ctx, options, "grids", grids));
    TRY(kb_model_fit(ctx, options, data, out));
done:
    kb_options_free(options);
    return status;
}

void bench_predict(bench *b) {
    double alone, together;
    kb_model *model = NULL;
    kb_data *train = bench_data(b, "ijcnn1.train"), *test = bench_data(b, "ijcnn1.test");
    if (!train || !test || fit_ijcnn1(b->all, train, "128", &model) != KB_OK) {
        bench_skip(b, "predicting", "no ijcnn1 in the data folder");
        return;
    }
    predicting one = {.ctx = b->one, .model = model, .data = test}, all;
    if (kb_alloc(b->one, test->rows, sizeof(double), &one.decision) != KB_OK)
        exit(1);
    all = one;
    all.ctx = b->all;
    bench_time(decide, &one, decide, &all, &alone, &together);
    bench_row(b, "predict, ijcnn1 R=128", alone / (double)test->rows * 1e6, "us a row", NULL, 0, 0);
    bench_row(b, "  all threads", together / (double)test->rows * 1e6, "us a row", "one thread",
              alone / together, 0);
    kb_release(b->one, one.decision);
    kb_model_free(model);
    kb_data_free(train);
    kb_data_free(test);
}

/* ---- memory ------------------------------------------------------------ */

/* A child process only reads and fits; the operating system reports its peak memory. */
void bench_memory(bench *b) {
    int told[2];
    double bytes = 0;
    struct rusage usage;
    if (pipe(told) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        kb_context *ctx;
        kb_model *model;
        kb_data *data = bench_data(b, "ijcnn1.train");
        kb_context_config two = {.size = sizeof two, .threads = 2};
        if (data && kb_context_create(&two, &ctx) == KB_OK &&
            fit_ijcnn1(ctx, data, "1024", &model) == KB_OK)
            bytes = (double)kb_model_cost(model)->id_bytes;
        _exit(write(told[1], &bytes, sizeof bytes) != sizeof bytes);
    }
    close(told[1]);
    if (read(told[0], &bytes, sizeof bytes) != sizeof bytes)
        bytes = 0;
    close(told[0]);
    if (child < 0 || wait4(child, NULL, 0, &usage) < 0 || bytes == 0) {
        bench_skip(b, "peak memory", "no ijcnn1 in the data folder");
        return;
    }
    bench_row_at_most(b, "peak memory of ijcnn1 R=1024 / ids, 2 threads",
                      (double)usage.ru_maxrss * 1024 / bytes, "x", 2.5);
}
