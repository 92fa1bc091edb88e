#!/usr/bin/env bash
# checkpoint.sh KERBIN - train --checkpoint: the file goes when the model is there, and is asked for sensibly.  That
# a fit goes on to the same bits is in tests/sweeps/test_sweep_fit.c and tests/api/test_checkpoint.c.
. "$(dirname "$0")/lib.sh"

run generate checkers --rows 400 -o data.csv
expect_status 0
run train --task regression --solver sweeps data.csv -o plain.kerbin
expect_status 0
run train --task regression --solver sweeps --checkpoint state --every 0 data.csv -o kept.kerbin
expect_status 0
cmp -s plain.kerbin kept.kerbin || fail "a checkpoint changes the model"
[ ! -e state ] || fail "the checkpoint stays behind"

# Stopped while it works: what is left is whole, and the next run goes on from it or begins anew.
for seconds in 0.05 0.1 0.2; do
    timeout -s KILL "$seconds" "$KERBIN" train --tune off --task regression --solver sweeps --checkpoint state --every 0 data.csv \
        -o kept.kerbin > /dev/null 2>&1
    run train --task regression --solver sweeps --checkpoint state --every 0 data.csv -o kept.kerbin
    expect_status 0
    cmp -s plain.kerbin kept.kerbin || fail "another model after a stop"
    [ ! -e state ] || fail "the checkpoint stays behind"
done

run train --checkpoint state --every often data.csv
expect_status 2
expect_stderr_line "--every often: must be a time"
run train --every 5s data.csv
expect_status 2
expect_stderr_line "--every: needs --checkpoint FILE"
run train --checkpoint data.csv data.csv -o kept.kerbin
expect_status 2
expect_stderr_line "data.csv: would be overwritten"
run train --checkpoint kept.kerbin data.csv -o kept.kerbin
expect_status 2
expect_stderr_line "kept.kerbin: would be written twice"
echo "mine" > state
run train --checkpoint state data.csv -o kept.kerbin
expect_status 1
expect_stderr_line "state: is no checkpoint of kerbin"
[ "$(cat state)" = mine ] || fail "another file was overwritten"
end
