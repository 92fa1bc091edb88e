/* How many processors and how much memory this process may use: the limits of control groups of
 * both versions, in folders that stand for those of the kernel, and of the process. */
#define _GNU_SOURCE
#include "support.h"

#include "core/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

static test_path root;

static void run(const char *command) {
    char line[1200];
    snprintf(line, sizeof line, "%s '%s'", command, root.text);
    assert_int_equal(system(line), 0);
}

static void put(const char *name, const char *text) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", root.text, name);
    for (char *slash = path + strlen(root.text) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A machine with 8 GiB to spare, and no limits. */
static int make_root(void **unused) {
    (void)unused;
    root = path_of("root");
    run("rm -rf");
    run("mkdir");
    put("proc/meminfo", "MemTotal:  16777216 kB\nMemAvailable:  8388608 kB\n");
    return 0;
}

static int remove_root(void **unused) {
    (void)unused;
    run("rm -rf");
    return 0;
}

static const size_t MIB = 1 << 20;

static void without_groups_it_is_what_the_machine_has(void **unused) {
    (void)unused;
    assert_int_equal(kb_memory_under(root.text), 8192 * MIB);
    assert_int_equal(kb_processors_under(root.text, 6), 6);
    run("rm -rf");
    assert_int_equal(kb_memory_under(root.text), SIZE_MAX);
}

/* The limit may be that of a group above, and files that can be dropped are no use of memory. */
static void groups_of_version_2_count_up_to_the_root(void **unused) {
    (void)unused;
    put("proc/self/cgroup", "0::/user.slice/run.scope\n");
    put("sys/fs/cgroup/user.slice/run.scope/memory.max", "max\n");
    put("sys/fs/cgroup/user.slice/run.scope/memory.current", "1048576\n");
    put("sys/fs/cgroup/user.slice/run.scope/cpu.max", "max 100000\n");
    assert_int_equal(kb_memory_under(root.text), 8192 * MIB);
    assert_int_equal(kb_processors_under(root.text, 6), 6);
    put("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
    put("sys/fs/cgroup/user.slice/memory.current", "536870912\n");
    put("sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n");
    assert_int_equal(kb_memory_under(root.text), 512 * MIB);
    assert_int_equal(kb_processors_under(root.text, 6), 3);
    assert_int_equal(kb_processors_under(root.text, 2), 2);
    put("sys/fs/cgroup/user.slice/memory.stat", "anon 1\ninactive_file 104857600\n");
    assert_int_equal(kb_memory_under(root.text), 612 * MIB);
    put("sys/fs/cgroup/user.slice/run.scope/memory.max", "11534336\n");
    assert_int_equal(kb_memory_under(root.text), 10 * MIB);
    put("sys/fs/cgroup/user.slice/run.scope/memory.max", "1000\n"); /* more is used already */
    assert_int_equal(kb_memory_under(root.text), 0);
}

static void groups_of_version_1_are_read_too(void **unused) {
    (void)unused;
    put("proc/self/cgroup",
        "9:name=systemd:/\n4:memory:/box/one\n2:cpu,cpuacct:/box\n0::/elsewhere\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(kb_memory_under(root.text), 8192 * MIB);
    assert_int_equal(kb_processors_under(root.text, 6), 6);
    put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "536870912\n");
    put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "419430400\n");
    put("sys/fs/cgroup/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 209715200\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(kb_memory_under(root.text), 312 * MIB);
    assert_int_equal(kb_processors_under(root.text, 6), 1);
}

/* The folder of two controllers has the names of both; "cpu" is a link that may be missing. */
static void controllers_of_one_folder_are_found(void **unused) {
    (void)unused;
    put("proc/self/cgroup", "3:cpu,cpuacct:/box\n");
    put("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n");
    put("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(kb_processors_under(root.text, 6), 2);
}

/* A container sees its own group at the top, while the path is that of the host. */
static void a_container_has_its_limits_at_the_top(void **unused) {
    (void)unused;
    static const char *const paths[] = {"0::/\n", "0::/docker/0123abcd\n", "0::/../../other\n"};
    put("sys/fs/cgroup/memory.max", "2147483648\n");
    put("sys/fs/cgroup/memory.current", "1073741824\n");
    put("sys/fs/cgroup/cpu.max", "150000 100000\n");
    put("sys/other/memory.max", "1000\n"); /* of nobody here, whatever the path says */
    put("sys/other/memory.current", "0\n");
    for (size_t k = 0; k < 3; k++) {
        put("proc/self/cgroup", paths[k]);
        assert_int_equal(kb_memory_under(root.text), 1024 * MIB);
        assert_int_equal(kb_processors_under(root.text, 6), 2);
    }
}

/* The sanitizers reserve more address space than any limit. */
static void the_address_space_is_a_limit(void **unused) {
    struct rlimit before, limit;
    char text[64];
    (void)unused;
    snprintf(text, sizeof text, "%ld 100\n", 64 * (long)MIB / sysconf(_SC_PAGESIZE));
    put("proc/self/statm", text);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)1 << 30;
    if (!TEST_LIGHT && setrlimit(RLIMIT_AS, &limit) == 0) {
        size_t left = kb_memory_under(root.text);
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
        assert_int_equal(left, 960 * MIB);
    }
}

/* As many as it is bound to, whatever the machine has. */
static void a_process_may_use_what_it_is_bound_to(void **unused) {
    cpu_set_t all, one;
    (void)unused;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(kb_processors(), 1, CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int k = 0; k < CPU_SETSIZE && !CPU_COUNT(&one); k++)
        if (CPU_ISSET(k, &all))
            CPU_SET(k, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(kb_processors(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

#define in_root(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_root(without_groups_it_is_what_the_machine_has),
        in_root(groups_of_version_2_count_up_to_the_root),
        in_root(groups_of_version_1_are_read_too),
        in_root(controllers_of_one_folder_are_found),
        in_root(a_container_has_its_limits_at_the_top),
        in_root(the_address_space_is_a_limit),
        cmocka_unit_test(a_process_may_use_what_it_is_bound_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
