#!/bin/bash
# Tuning by train, from the command line.
. "$(dirname "$0")/lib.sh"
TUNE=on
make_data
"$KERBIN" generate friedman --rows 700 --noise 0.1 --seed 1 -o curve.csv || fail "generate"
"$KERBIN" generate friedman --rows 700 --seed 2 -o more.csv || fail "generate"

# With no options: the trials and the tuned values are printed, and the model is better.
for file in train.libsvm curve.csv; do
    run train --threads 3 -o tuned.kerbin $file
    expect_status 0
    error='(rmse [0-9.]+|[0-9.]+ % wrong)'
    expect_stdout "^tried +equal widths, square loss +lambda [0-9.e-]+ +$error with [0-9]+ grids\$"
    expect_stdout '^tuned +with [0-9]+ trials on validation rows in [0-9.]+ s$'
    expect_stdout '^time .*tune [0-9.]+ s'
    [ "$(grep -c '^kerbin: task: ' stderr)" -eq 1 ] || fail "the task is not told once"
done
run train -q --tune off -o plain.kerbin curve.csv
run predict -q --json tuned.kerbin more.csv
tuned=$(json rmse)
run predict -q --json plain.kerbin more.csv
echo "friedman: rmse $tuned tuned, $(json rmse) plain"
expect_at_least "rmse without tuning" "$(json rmse)" "$tuned"

# The features that matter, of which friedman has five of ten.
run inspect tuned.kerbin
expect_stdout '^kernel +laplace, sigma learned$'
expect_stdout '^features +by importance'
[ "$(sed -n 's/.* %  \(x[0-9]*\)$/\1/p' stdout | head -n 5 | sort | tr '\n' ' ')" = "x1 x2 x3 x4 x5 " ] ||
    fail "the five most important features"

# One object, with every trial in it.  The seed and the data alone decide, not the threads.
run train -q --json --threads 1 -o one.kerbin curve.csv
expect_status 0
expect_no_stderr
expect_stdout '^  "tried": \[$'
expect_stdout '^    "tune": [0-9.e-]+,$'
[ "$(grep -c '"widths": "' stdout)" -ge 5 ] || fail "fewer than 5 trials"
expect_same one.kerbin tuned.kerbin
run train -q --json --tune off -o plain.kerbin curve.csv
[ "$(grep -c '"widths": "' stdout)" -eq 0 ] || fail "trials without tuning"

# --tune off gives the untuned values.
for file in curve.csv train.libsvm; do
    run train -q --tune off -o off.kerbin $file
    expect_status 0
    run train -q --sigma default --lambda 0.1 --grids 256 --widths equal --loss square --scale minmax \
        --early-stop off --importance off -o plain.kerbin $file
    expect_same off.kerbin plain.kerbin
done

# A budget that is spent at once still gives a model, that of the plain values; other words are no
# time.
run train --budget 0.0001s --threads 1 -o late.kerbin curve.csv
expect_status 0
expect_stdout '^kernel .*sigma default'
expect_stderr '^kerbin: .*--budget: spent before a sigma was found; the values of --tune off are taken$'
expect_stderr '^kerbin: --budget: left out or made smaller: tuning, importance, '
expect_stderr '^kerbin: warning: --budget: 0.0001 s were not enough for the least fit; it took '
expect_file late.kerbin
# One that is not reached changes nothing; what was cut is told in JSON.
run train -q --budget 1h --threads 1 -o ample.kerbin curve.csv
run train -q --threads 1 -o usual.kerbin curve.csv
expect_same ample.kerbin usual.kerbin
run train -q --json --budget 0.0001s -o late.kerbin curve.csv
expect_stdout '"shortened": \['
for budget in soon -1s 0 5x; do
    fails_with 2 "^kerbin: --budget $budget: must be a time" train --budget=$budget curve.csv
done

# Where memory is short the model gets fewer grids than were tuned: a warning, told with -q too.
"$KERBIN" generate -q friedman --rows 1500 -o friedman.libsvm || fail "generate"
run train -q --widths equal --max-memory 4M -o fewer.kerbin friedman.libsvm
expect_status 0
expect_stderr '^kerbin: warning: too little memory for the [0-9]* grids that were tuned: the model gets [0-9]*$'
expect_file fewer.kerbin

fails_with 2 '^kerbin: --widths learned: needs --sigma auto and --tune on$' \
    train -q --widths learned --sigma 1 curve.csv
fails_with 2 '^kerbin: --widths learned: needs --sigma auto and --tune on$' \
    train -q --widths learned --tune off curve.csv
fails_with 2 '^kerbin: --widths learned: needs --map binning and --kernel laplace$' \
    train -q --widths learned --map fourier curve.csv

# Early stopping: the number of steps is what was best, and that is no failure to converge.
run train -q --json --sigma 0.5 --lambda 0.001 --early-stop on -o early.kerbin curve.csv
expect_status 0
expect_no_stderr
[ "$(json converged)" = true ] || fail "an early stop has not converged"
early=$(json steps | tail -n 1)
case $early in 15 | 25 | 40 | 60 | 100 | 150) ;; *) fail "stopped after $early steps" ;; esac

end
