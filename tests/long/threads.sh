#!/bin/bash
# threads.sh PROGRAM SOURCE - the tests with threads, and some commands, under the thread sanitizer,
# in a build of its own.
root=$(cd "$2" && pwd)
. "$(dirname "$0")/../cli/lib.sh"
export TSAN_OPTIONS=halt_on_error=1

# Not l1/parallel_cd, whose threads race by design.
tests=(team sums jobs pieces column_pass binmat data cholesky direct rival)
targets=(--target kerbin_program)
for test in "${tests[@]}"; do
    targets+=(--target "test_$test")
done
cmake -S "$root" -B "$root/build-threads" -DKERBIN_TESTS=ON -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="-O1 -g -fsanitize=thread" --log-level=WARNING > log 2>&1 &&
    cmake --build "$root/build-threads" "${targets[@]}" -j "$(nproc)" >> log 2>&1 || {
    tail -n 5 log
    exit 1
}
for test in "${tests[@]}"; do
    command=test_$test status=0
    "$root/build-threads/tests/test_$test" > stdout 2> stderr || status=$?
    expect_status 0
    grep -q "WARNING: ThreadSanitizer" stderr && fail "a race in test_$test"
done

KERBIN=$root/build-threads/kerbin
"$KERBIN" generate -q checkers --rows 3000 -o data.libsvm || fail "generate"
for options in "--solver cg" "--solver sweeps" "--loss logistic" "--penalty l1" "--map exact" "--map fourier" \
    "--map nystrom --grids 100"; do
    # shellcheck disable=SC2086
    run train -q --threads 4 --grids 64 $options -o out.kerbin data.libsvm
    expect_status 0
    expect_no_stderr
    run predict -q --threads 4 -o predictions out.kerbin data.libsvm
    expect_status 0
    expect_no_stderr
done
TUNE=on
run train -q --threads 4 -o out.kerbin data.libsvm
expect_status 0
expect_no_stderr
end
