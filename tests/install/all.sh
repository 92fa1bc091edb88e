#!/bin/bash
# all.sh - every way to install kerbin, one after another: passed, skipped and why, or failed and its output.
set -u
cd "$(dirname "$0")"
failed=0 log=$(mktemp)
trap 'rm -f "$log"' EXIT
for test in release.sh source.sh deb.sh "wheel.sh amd64" "wheel.sh arm64" "musl.sh amd64" "musl.sh arm64" \
    docker.sh first_steps.sh; do
    # shellcheck disable=SC2086 # the test and its argument
    bash ./$test > "$log" 2>&1
    case $? in
    0) echo "passed   $test" ;;
    77) echo "skipped  $test: $(tail -n 1 "$log" | sed 's/^skipped: //')" ;;
    *) echo "failed   $test" && sed 's/^/    /' "$log" && failed=1 ;;
    esac
done
exit $failed
