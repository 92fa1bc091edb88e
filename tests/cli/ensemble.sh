#!/bin/bash
# --ensemble: the mean of several tuned models, as one.
. "$(dirname "$0")/lib.sh"
TUNE=on
"$KERBIN" generate checkers --rows 300 --seed 1 --noise 0.1 -o two.csv || fail "generate"

run train -q --ensemble 2 --json -o two.kerbin two.csv
expect_status 0
[ "$(json models)" = 2 ] || fail "models are $(json models)"
grids=$(json grids)
run train -q --ensemble 2 --threads 3 -o threads.kerbin two.csv
expect_same two.kerbin threads.kerbin

run inspect two.kerbin
expect_stdout '^ensemble +the mean of 2 models$'
expect_stdout "R = $grids grids"
for output in decision probability set novelty; do
    run predict --output $output two.kerbin two.csv
    expect_status 0
done
run update -q -o updated.kerbin two.kerbin two.csv
expect_status 0
run compact -q -o small.kerbin two.kerbin
expect_status 0

run train --ensemble 0 two.csv
expect_status 2
run train -q --ensemble 2 --penalty l1 two.csv
expect_status 2
expect_stderr_line 'leave out --ensemble or --penalty$'
end
