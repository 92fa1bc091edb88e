/* How many processors this process may use. */
#define _GNU_SOURCE
#include "support.h"

#include "core/processors.h"

#include <sched.h>

/* As many as it is bound to, whatever the machine has. */
static void a_process_may_use_what_it_is_bound_to(void **unused) {
    cpu_set_t all, one;
    (void)unused;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(kb_processors(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int k = 0; k < CPU_SETSIZE && !CPU_COUNT(&one); k++)
        if (CPU_ISSET(k, &all))
            CPU_SET(k, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(kb_processors(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_may_use_what_it_is_bound_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
