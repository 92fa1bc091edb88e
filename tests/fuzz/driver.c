/*
 * driver.c - runs a fuzz target without libFuzzer: first all files of its corpus, then changed
 * ones.
 *
 *     fuzz_NAME [-runs=N] [-seconds=T] [-seed=S] [-max_len=BYTES] FILE_OR_FOLDER..
 *
 * What run i does depends on the corpus, the seed and i alone.  An input that crashes the target,
 * or takes more than 30 seconds, is kept as finding-NAME in the working directory.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_A_RUN = 30 };

/* So that a finding of the sanitizers ends in the handler below. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void) {
    return "abort_on_error=1:allocator_may_return_null=1:handle_abort=0:detect_leaks=1";
}
const char *__ubsan_default_options(void) {
    return "abort_on_error=1:print_stacktrace=1";
}

/* A target may have none. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                                                     unsigned seed);

typedef struct item {
    uint8_t *bytes;
    size_t count;
} item;
static item *corpus;
static size_t items;

static uint64_t state;
static char finding[4096];
static const uint8_t *now; /* the input under way */
static size_t now_count;

static void keep_finding(int signal_number) {
    static const char says[] = "fuzz: the input is kept in the file finding-..\n";
    int fd = open(finding, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0 && write(fd, now, now_count) == (ssize_t)now_count)
        (void)!write(STDERR_FILENO, says, sizeof says - 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number == SIGALRM ? SIGKILL : signal_number);
}

/* In memory of its own length, so that a read beyond it is seen. */
static void run_one(const uint8_t *bytes, size_t count) {
    uint8_t *copy = malloc(count ? count : 1);
    fuzz_check(copy);
    if (count)
        memcpy(copy, bytes, count);
    now = copy;
    now_count = count;
    alarm(SECONDS_A_RUN);
    LLVMFuzzerTestOneInput(copy, count);
    alarm(0);
    free(copy);
}

/* ---- the corpus -------------------------------------------------------- */

static void add_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0) {
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    item it = {malloc((size_t)info.st_size + 1), (size_t)info.st_size};
    corpus = realloc(corpus, (items + 1) * sizeof *corpus);
    fuzz_check(corpus && it.bytes);
    fuzz_check(fread(it.bytes, 1, it.count, file) == it.count);
    fclose(file);
    corpus[items++] = it;
}

static int no_dots(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name); /* the same in every locale */
}

static void add_path(const char *path) {
    struct dirent **list;
    int count = scandir(path, &list, no_dots, by_name);
    if (count < 0 && errno == ENOTDIR) {
        add_file(path);
        return;
    }
    if (count < 0) {
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, list[i]->d_name);
        add_file(name);
        free(list[i]);
    }
    free(list);
}

/* ---- changes ----------------------------------------------------------- */

static size_t below(size_t n) {
    return n ? (size_t)(fuzz_random(&state) % n) : 0;
}

/* Words and bytes that readers treat apart. */
static const char *const WORDS[] = {"0",
                                    "1",
                                    "-1",
                                    "1e308",
                                    "1e-320",
                                    "1e400",
                                    "nan",
                                    "inf",
                                    "NA",
                                    "?",
                                    "\"",
                                    "\"\"",
                                    ",",
                                    ";",
                                    "\t",
                                    "|",
                                    "\n",
                                    "\r",
                                    "\r\n",
                                    ":",
                                    "#",
                                    "qid:1",
                                    "1:1",
                                    "'",
                                    "\xef\xbb\xbf",
                                    "\xff\xfe",
                                    "\xe4",
                                    "%",
                                    "2024-02-30",
                                    "1,234",
                                    "1.5",
                                    "4294967296",
                                    "18446744073709551616",
                                    "2147483647",
                                    "-0",
                                    " ",
                                    "e",
                                    "=",
                                    "auto"};

static size_t insert(uint8_t *data, size_t size, size_t most, size_t at, const void *what,
                     size_t count) {
    if (size + count > most)
        return size;
    memmove(data + at + count, data + at, size - at);
    memcpy(data + at, what, count);
    return size + count;
}

static size_t change_once(uint8_t *data, size_t size, size_t most) {
    uint8_t piece[256];
    size_t at = below(size), count = size - at < 64 ? size - at : 64;
    count = below(count) + 1;
    switch (below(10)) {
    case 0: /* a bit */
        if (size)
            data[at] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        if (size)
            data[at] = (uint8_t)fuzz_random(&state);
        return size;
    case 2: /* a piece goes */
        if (size == 0)
            return 0;
        memmove(data + at, data + at + count, size - at - count);
        return size - count;
    case 3: /* a piece comes again */
        if (size == 0)
            return 0;
        memcpy(piece, data + at, count);
        return insert(data, size, most, below(size + 1), piece, count);
    case 4: /* the end is lost */
        return below(4) ? size : at;
    case 5: { /* a piece of another item */
        const item *other = &corpus[below(items)];
        size_t from = below(other->count);
        size_t room = other->count - from < sizeof piece ? other->count - from : sizeof piece;
        size_t length = below(room + 1);
        memcpy(piece, other->bytes + from, length);
        return insert(data, size, most, below(size + 1), piece, length);
    }
    case 6: /* a number of 4 or 8 bytes */
        if (size >= 8) {
            static const uint64_t MARKS[] = {0, 1, ~0ull, 1ull << 31, 1ull << 63, 0x7fffffff, 255};
            uint64_t x = MARKS[below(sizeof MARKS / sizeof *MARKS)];
            memcpy(data + below(size - 7), &x, below(2) ? 8 : 4);
        }
        return size;
    case 7: /* a digit */
        for (size_t k = 0; k < size; k++, at = at + 1 < size ? at + 1 : 0)
            if (data[at] >= '0' && data[at] <= '9') {
                data[at] = (uint8_t)('0' + below(10));
                break;
            }
        return size;
    default: {
        const char *word = WORDS[below(sizeof WORDS / sizeof *WORDS)];
        return insert(data, size, most, below(size + 1), word, strlen(word));
    }
    }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
    return change_once(data, size, most);
}

static void run_changed(uint64_t seed, uint64_t number, uint8_t *buffer, size_t most) {
    state = seed ^ number * 0xd1342543de82ef95u;
    const item *it = &corpus[below(items)];
    size_t size = it->count < most ? it->count : most;
    memcpy(buffer, it->bytes, size);
    for (size_t k = below(5) + 1; k > 0; k--)
        size = LLVMFuzzerCustomMutator
                   ? LLVMFuzzerCustomMutator(buffer, size, most, (unsigned)fuzz_random(&state))
                   : change_once(buffer, size, most);
    run_one(buffer, size);
}

/* ---- the program ------------------------------------------------------- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    static const int SIGNALS[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    unsigned long long runs = 0, seed = 1, done = 0;
    double most_seconds = 0, began = seconds();
    size_t most = 1 << 16;
    const char *name = strrchr(argv[0], '/');
    snprintf(finding, sizeof finding, "finding-%s", name ? name + 1 : argv[0]);
    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "-runs=%llu", &runs) != 1 &&
            sscanf(argv[i], "-seed=%llu", &seed) != 1 &&
            sscanf(argv[i], "-seconds=%lf", &most_seconds) != 1 &&
            sscanf(argv[i], "-max_len=%zu", &most) != 1 && argv[i][0] != '-')
            add_path(argv[i]);
    for (size_t k = 0; k < sizeof SIGNALS / sizeof *SIGNALS; k++)
        signal(SIGNALS[k], keep_finding);
    for (size_t k = 0; k < items; k++)
        run_one(corpus[k].bytes, corpus[k].count);
    if (items == 0)
        add_file("/dev/null");
    uint8_t *buffer = malloc(most);
    fuzz_check(buffer);
    while (done < runs || (most_seconds > 0 && seconds() - began < most_seconds))
        run_changed(seed, done++, buffer, most);
    printf("%zu files, %llu runs, %.1f s\n", items, done, seconds() - began);
    for (size_t k = 0; k < items; k++)
        free(corpus[k].bytes);
    free(corpus);
    free(buffer);
    return 0;
}
