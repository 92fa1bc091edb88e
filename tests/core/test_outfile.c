/* Output files appear whole or not at all. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "support.h"

#include "core/outfile.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- calls to the kernel that the tests see ---------------------------- */

/* A link that another program makes where a file is about to be made, to this; NULL: none. */
static const char *planted;
static char plant[256]; /* its path, once it is made */
/* Of files and of folders; the call that fails, counted from 1, and 0: none does. */
static int syncs, sync_that_fails;

int open(const char *path, int flags, ...);
int open(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    mode_t mode = 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = (mode_t)va_arg(args, int);
        va_end(args);
        if (planted && !plant[0]) {
            snprintf(plant, sizeof plant, "%s", path);
            assert_int_equal(symlink(planted, path), 0);
        }
    }
    return real(path, flags, mode);
}

int fsync(int fd) {
    (void)fd;
    errno = EIO;
    return ++syncs == sync_that_fails ? -1 : 0;
}

/* ------------------------------------------------------------------------ */

typedef struct place {
    char folder[64], file[128];
} place;

/* A fresh folder, so that left-over temporary files can be seen. */
static place make_place(void) {
    place p;
    strcpy(p.folder, "/tmp/kerbin-test-XXXXXX");
    assert_non_null(mkdtemp(p.folder));
    snprintf(p.file, sizeof p.file, "%s/out.txt", p.folder);
    return p;
}

static int files_in(const char *folder) {
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void remove_place(place p) {
    unlink(p.file);
    assert_int_equal(rmdir(p.folder), 0); /* fails if anything is left */
}

static void a_committed_file_is_whole(void **unused) {
    kb_context *ctx = test_context();
    kb_outfile *file;
    place p = make_place();
    (void)unused;
    assert_ok(ctx, kb_outfile_create(ctx, p.file, &file));
    for (int i = 0; i < 100000; i++)
        assert_ok(ctx, kb_outfile_printf(file, "%d\n", i));
    assert_int_not_equal(access(p.file, F_OK), 0);
    assert_ok(ctx, kb_outfile_commit(file));
    kb_outfile_free(file);
    assert_int_equal(files_in(p.folder), 1);

    FILE *back = fopen(p.file, "r");
    for (int i = 0, n; i < 100000; i++) {
        assert_int_equal(fscanf(back, "%d", &n), 1);
        assert_int_equal(n, i);
    }
    fclose(back);
    remove_place(p);
    kb_context_free(ctx);
}

static void an_aborted_file_leaves_the_old_one_and_no_trace(void **unused) {
    kb_context *ctx = test_context();
    kb_outfile *file;
    place p = make_place();
    (void)unused;
    FILE *old = fopen(p.file, "w");
    fputs("old", old);
    fclose(old);
    assert_ok(ctx, kb_outfile_create(ctx, p.file, &file));
    char *big = calloc(1, 1 << 20);
    assert_ok(ctx, kb_outfile_write(file, big, 1 << 20));
    free(big);
    kb_outfile_free(file);
    assert_int_equal(files_in(p.folder), 1);
    char *text = bytes_of(p.file, NULL);
    assert_string_equal(text, "old");
    free(text);
    remove_place(p);
    kb_context_free(ctx);
}

static void a_link_stays_and_the_file_behind_it_is_replaced(void **unused) {
    kb_context *ctx = test_context();
    kb_outfile *file;
    struct stat info;
    place p = make_place();
    char link[128];
    (void)unused;
    FILE *old = fopen(p.file, "w");
    fputs("old", old);
    fclose(old);
    snprintf(link, sizeof link, "%s/link", p.folder);
    assert_int_equal(symlink("out.txt", link), 0);
    assert_ok(ctx, kb_outfile_create(ctx, link, &file));
    assert_ok(ctx, kb_outfile_printf(file, "new"));
    assert_ok(ctx, kb_outfile_commit(file));
    kb_outfile_free(file);
    assert_int_equal(files_in(p.folder), 2);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    char *text = bytes_of(p.file, NULL);
    assert_string_equal(text, "new");
    free(text);
    unlink(link);
    remove_place(p);
    kb_context_free(ctx);
}

static void a_link_to_nothing_makes_the_file(void **unused) {
    kb_context *ctx = test_context();
    place p = make_place();
    char link[128], again[128];
    (void)unused;
    snprintf(link, sizeof link, "%s/link", p.folder);
    snprintf(again, sizeof again, "%s/again", p.folder);
    assert_int_equal(symlink("out.txt", link), 0);
    assert_int_equal(symlink(link, again), 0);
    assert_ok(ctx, kb_file_write(ctx, again, "new", 3));
    char *text = bytes_of(p.file, NULL);
    assert_string_equal(text, "new");
    free(text);
    unlink(link);
    unlink(again);
    assert_int_equal(symlink("round", again), 0);
    assert_int_equal(symlink("again", strcat(strcpy(link, p.folder), "/round")), 0);
    assert_int_equal(kb_file_check(ctx, again), KB_ERR_IO);
    unlink(link);
    unlink(again);
    remove_place(p);
    kb_context_free(ctx);
}

/* Somebody who may write in the folder guesses the name of the temporary file. */
static void a_link_that_is_planted_is_not_followed(void **unused) {
    kb_context *ctx = test_context();
    place p = make_place();
    char victim[128];
    (void)unused;
    snprintf(victim, sizeof victim, "%s/victim", p.folder);
    assert_ok(ctx, kb_file_write(ctx, victim, "precious", 8));
    planted = victim;
    assert_ok(ctx, kb_file_write(ctx, p.file, "new", 3));
    planted = NULL;
    assert_string_not_equal(plant, "");
    unlink(plant);
    char *text = bytes_of(victim, NULL), *other = bytes_of(p.file, NULL);
    assert_string_equal(text, "precious");
    assert_string_equal(other, "new");
    free(text), free(other);
    unlink(victim);
    remove_place(p);
    kb_context_free(ctx);
}

/* The bytes before the name is given, the name after that. */
static void what_is_not_on_disk_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    char says[200];
    place p = make_place();
    (void)unused;
    snprintf(says, sizeof says, "%s: cannot write: Input/output error", p.file);
    for (int k = 1; k <= 2; k++) {
        syncs = 0;
        sync_that_fails = k;
        kb_status status = kb_file_write(ctx, p.file, "new", 3);
        sync_that_fails = 0;
        assert_int_equal(status, KB_ERR_IO);
        assert_string_equal(kb_context_message(ctx), says);
        assert_int_equal(access(p.file, F_OK) == 0, k == 2);
        assert_int_equal(files_in(p.folder), k - 1);
    }
    syncs = 0;
    assert_ok(ctx, kb_file_write(ctx, p.file, "new", 3));
    assert_int_equal(syncs, 2);
    remove_place(p);
    kb_context_free(ctx);
}

/* The new file has the rights of the old one, also while it is written. */
static void rights_stay(void **unused) {
    static const mode_t modes[] = {0600, 0640, 0755, 0666};
    kb_context *ctx = test_context();
    struct stat info;
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        place p = make_place();
        assert_ok(ctx, kb_file_write(ctx, p.file, "old", 3));
        assert_int_equal(chmod(p.file, modes[k]), 0);
        int as_root = geteuid() == 0 && chown(p.file, 12, 34) == 0;
        assert_ok(ctx, kb_file_write(ctx, p.file, "new", 3));
        assert_int_equal(stat(p.file, &info), 0);
        assert_int_equal(info.st_mode & 07777, modes[k]);
        assert_int_equal(info.st_uid, as_root ? 12 : geteuid());
        assert_true(!as_root || info.st_gid == 34);
        remove_place(p);
    }
    kb_context_free(ctx);
}

/* Whether a process that is not root's may write the file; its folder is open to everybody. */
static int stranger_may_write(const char *path) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        kb_context *ctx = test_context();
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        _exit(kb_file_check(ctx, path) == KB_OK);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status);
}

/* Though the folder would allow to replace it. */
static void a_read_only_file_is_refused(void **unused) {
    kb_context *ctx = test_context();
    place p = make_place();
    (void)unused;
    assert_int_equal(chmod(p.folder, 0777), 0);
    assert_true(stranger_may_write(p.file));
    assert_ok(ctx, kb_file_write(ctx, p.file, "old", 3));
    assert_int_equal(chmod(p.file, 0666), 0);
    assert_true(stranger_may_write(p.file));
    assert_int_equal(chmod(p.file, 0444), 0);
    assert_false(stranger_may_write(p.file));
    assert_int_equal(chmod(p.folder, 0555), 0);
    assert_int_equal(chmod(p.file, 0666), 0);
    assert_false(stranger_may_write(p.file));
    assert_int_equal(chmod(p.folder, 0777), 0);
    remove_place(p);
    kb_context_free(ctx);
}

static void left(const char *folder, const char *name, int there) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(access(path, F_OK) == 0, there);
    unlink(path);
}

/* What nobody writes any more is removed, and what is written now is not. */
static void temporary_files_of_killed_writers_are_removed(void **unused) {
    static const char *const name[] = {"out.txt.kb-0123456789ab.tmp", "out.txt.kb-0123456789ax.tmp",
                                       "out.text.kb-0123456789ab.tmp", "out.txt.kb-0123456789ab"};
    kb_context *ctx = test_context();
    kb_outfile *first, *second;
    char path[256];
    place p = make_place();
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", p.folder, name[k]);
        FILE *file = fopen(path, "w");
        fclose(file);
    }
    assert_ok(ctx, kb_outfile_create(ctx, p.file, &first));
    assert_ok(ctx, kb_outfile_create(ctx, p.file, &second)); /* leaves that of the first */
    assert_ok(ctx, kb_outfile_printf(first, "first"));
    assert_ok(ctx, kb_outfile_printf(second, "second"));
    assert_ok(ctx, kb_outfile_commit(second));
    assert_ok(ctx, kb_outfile_commit(first));
    kb_outfile_free(first);
    kb_outfile_free(second);
    char *text = bytes_of(p.file, NULL);
    assert_string_equal(text, "first");
    free(text);
    for (size_t k = 0; k < 4; k++)
        left(p.folder, name[k], k > 0);
    remove_place(p);
    kb_context_free(ctx);
}

static void a_name_may_be_as_long_as_names_are(void **unused) {
    kb_context *ctx = test_context();
    place p = make_place();
    char path[400];
    (void)unused;
    snprintf(path, sizeof path, "%s/%0255d", p.folder, 0);
    assert_ok(ctx, kb_file_check(ctx, path));
    assert_ok(ctx, kb_file_write(ctx, path, "a", 1));
    assert_ok(ctx, kb_file_write(ctx, path, "b", 1));
    assert_int_equal(files_in(p.folder), 1);
    unlink(path);
    strcat(path, "0");
    assert_int_equal(kb_file_check(ctx, path), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), ": cannot write: File name too long"));
    assert_int_equal(kb_file_check(ctx, p.folder), KB_ERR_IO);
    assert_int_equal(kb_file_check(ctx, strcat(p.file, "/")), KB_ERR_IO);
    p.file[strlen(p.file) - 1] = '\0';
    assert_ok(ctx, kb_file_check(ctx, "-"));
    remove_place(p);
    kb_context_free(ctx);
}

static void a_full_disk_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    kb_outfile *file;
    struct stat info;
    test_path path;
    (void)unused;
    if (!device_like("full", 1, 7, &path))
        skip();
    assert_ok(ctx, kb_outfile_create(ctx, path.text, &file));
    assert_ok(ctx, kb_outfile_write(file, "x", 1));
    assert_int_equal(kb_outfile_commit(file), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "full: cannot write: No space left on device"));
    kb_outfile_free(file);
    assert_int_equal(stat(path.text, &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    unlink(path.text);
    kb_context_free(ctx);
}

static void links_in_a_circle_are_an_error(void **unused) {
    kb_context *ctx = test_context();
    place p = make_place();
    (void)unused;
    assert_int_equal(symlink("out.txt", p.file), 0);
    assert_int_equal(kb_file_write(ctx, p.file, "a", 1), KB_ERR_IO);
    assert_non_null(strstr(kb_context_message(ctx), "out.txt: cannot write: Too many levels"));
    assert_int_equal(files_in(p.folder), 1);
    remove_place(p);
    kb_context_free(ctx);
}

/* By number too; other names in that folder are files. */
static void an_open_descriptor_is_written_into(void **unused) {
    static const char *const name[] = {"/dev/fd/%d", "/proc/self/fd/%d", "/dev/fd/%dx",
                                       "/dev/fd/0000000%d"};
    kb_context *ctx = test_context();
    (void)unused;
    for (size_t k = 0; k < 4; k++) {
        char path[64], got[8] = "";
        int end[2];
        assert_int_equal(pipe(end), 0);
        snprintf(path, sizeof path, name[k], end[1]);
        assert_int_equal(kb_file_write(ctx, path, "text", 4), k < 2 ? KB_OK : KB_ERR_IO);
        close(end[1]);
        assert_int_equal(read(end[0], got, sizeof got - 1), k < 2 ? 4 : 0);
        assert_string_equal(got, k < 2 ? "text" : "");
        close(end[0]);
    }
    assert_int_equal(kb_file_check(ctx, "/dev/fd/"), KB_ERR_IO);
    assert_int_equal(kb_file_check(ctx, ""), KB_ERR_IO);
    kb_context_free(ctx);
}

static void a_folder_that_does_not_exist_is_an_error(void **unused) {
    kb_context *ctx = test_context();
    kb_outfile *file;
    (void)unused;
    assert_fails(ctx, KB_ERR_IO, "/nowhere/at/all: cannot write: No such file or directory",
                 kb_outfile_create(ctx, "/nowhere/at/all", &file));
    assert_null(file);
    kb_context_free(ctx);
}

static void the_umask_holds(void **unused) {
    kb_context *ctx = test_context();
    kb_outfile *file;
    struct stat info;
    place p = make_place();
    (void)unused;
    mode_t previous = umask(027);
    assert_ok(ctx, kb_outfile_create(ctx, p.file, &file));
    assert_ok(ctx, kb_outfile_commit(file));
    kb_outfile_free(file);
    umask(previous);
    assert_int_equal(stat(p.file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    remove_place(p);
    kb_context_free(ctx);
}

static int write_something(kb_context *ctx, void *path) {
    kb_status status;
    kb_outfile *file = NULL;
    TRY(kb_outfile_create(ctx, path, &file));
    TRY(kb_outfile_printf(file, "%02000d", 1));
    TRY(kb_outfile_commit(file));
done:
    kb_outfile_free(file);
    return (int)status;
}

static void every_allocation_may_fail(void **unused) {
    place p = make_place();
    (void)unused;
    run_with_allocation_failures(write_something, p.file);
    remove_place(p);
}

static int write_some(kb_context *ctx, void *path) {
    return (int)kb_file_write(ctx, path, "some", 4);
}

static void a_file_is_written_in_one_call(void **unused) {
    kb_context *ctx = test_context();
    place p = make_place();
    char *large = malloc(300000);
    size_t count;
    (void)unused;
    assert_non_null(large);
    memset(large, 'x', 300000);
    assert_ok(ctx, kb_file_write(ctx, p.file, "", 0));
    assert_int_equal(access(p.file, F_OK), 0);
    assert_ok(ctx, kb_file_write(ctx, p.file, large, 300000));
    char *back = bytes_of(p.file, &count);
    assert_int_equal(count, 300000);
    assert_memory_equal(back, large, 300000);
    free(back);
    run_with_allocation_failures(write_some, p.file);
    assert_int_equal(files_in(p.folder), 1);
    assert_int_equal(kb_file_write(ctx, "/nowhere/x", "a", 1), KB_ERR_IO);
    assert_string_equal(kb_context_message(ctx),
                        "/nowhere/x: cannot write: No such file or directory");
    free(large);
    remove_place(p);
    kb_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_committed_file_is_whole),
        cmocka_unit_test(an_aborted_file_leaves_the_old_one_and_no_trace),
        cmocka_unit_test(a_link_stays_and_the_file_behind_it_is_replaced),
        cmocka_unit_test(a_link_to_nothing_makes_the_file),
        cmocka_unit_test(a_link_that_is_planted_is_not_followed),
        cmocka_unit_test(what_is_not_on_disk_is_an_error),
        cmocka_unit_test(rights_stay),
        cmocka_unit_test(a_read_only_file_is_refused),
        cmocka_unit_test(temporary_files_of_killed_writers_are_removed),
        cmocka_unit_test(a_name_may_be_as_long_as_names_are),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(links_in_a_circle_are_an_error),
        cmocka_unit_test(an_open_descriptor_is_written_into),
        cmocka_unit_test(a_folder_that_does_not_exist_is_an_error),
        cmocka_unit_test(the_umask_holds),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_file_is_written_in_one_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
