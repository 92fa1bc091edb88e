#!/bin/bash
# Extra columns with the predictions of a linear fit, from the command line.
. "$(dirname "$0")/lib.sh"
TUNE=on

# rows FILE SEED - which side of a slope through six columns a row is on.
rows() {
    awk -v seed="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < 600; i++) {
            sum = 0
            for (j = 1; j <= 6; j++) {
                x[j] = rand()
                sum += x[j] - 0.5
            }
            printf "%d", (sum > 0)
            for (j = 1; j <= 6; j++)
                printf " %d:%.6f", j, x[j]
            print ""
        }
    }' > "$1"
}
rows train.libsvm 1
rows test.libsvm 2
awk '{ print $1 "," $2 "," $3 "," $4 "," $5 "," $6 "," $7 }' test.libsvm | sed 's/[1-6]://g' |
    sed '1i label,a,b,c,d,e,f' > test.csv
# With few grids the extra column is cut too rarely.
options=(--grids 512 --seed 1 --directions off --holdout off)

version() {
    head -c 100000 "$1" | tr ',' '\n' | sed -n 's/.*"format_version":"\([0-9]*\)".*/\1/p'
}

run train "${options[@]}" -o mixed.kerbin train.libsvm
expect_status 0
expect_stdout '^tried +equal, linear widths, square loss '
expect_stdout '^linear +1 extra column: predictions of a linear fit$'
[ "$(version mixed.kerbin)" = 5 ] || fail "format version $(version mixed.kerbin) with mixtures"
run predict -q --json mixed.kerbin test.libsvm
expect_status 0
mixed=$(json accuracy)

# None with --linear off.
run train "${options[@]}" --linear off -o plain.kerbin train.libsvm
expect_status 0
grep -q linear stdout && fail "tried although off"
[ "$(version plain.kerbin)" = 5 ] || fail "format version $(version plain.kerbin) without mixtures"
run predict -q --json plain.kerbin test.libsvm
plain=$(json accuracy)
echo "slope: accuracy $mixed with mixtures, $plain without"
expect_at_least "accuracy with mixtures" "$mixed" "$plain"
expect_at_least "accuracy with mixtures" "$mixed" 0.95
fails_with 2 '^kerbin: --linear on: must be one of' train --linear on train.libsvm

# The file is all that a prediction takes: rows in either form, and any number of threads.
run predict -q -o sparse.txt mixed.kerbin test.libsvm
run predict -q -o dense.txt --label label mixed.kerbin test.csv
expect_same sparse.txt dense.txt
run train -q "${options[@]}" --threads 1 -o one.kerbin train.libsvm
run train -q "${options[@]}" --threads 3 -o three.kerbin train.libsvm
expect_same one.kerbin three.kerbin
expect_same one.kerbin mixed.kerbin

# A sigma alone would not give it again.
run inspect mixed.kerbin
expect_status 0
expect_stdout '^          linear fit 1  [+-][0-9]+ % [0-9]+ '
expect_stdout '^kernel +laplace, sigma learned$'
expect_stdout '^linear +1 extra column: predictions of a linear fit$'
run inspect --json mixed.kerbin
[ "$(json linear_columns)" = 1 ] || fail "linear_columns $(json linear_columns)"
run inspect --json plain.kerbin
[ "$(json linear_columns)" = 0 ] || fail "linear_columns $(json linear_columns) without"

# Directions are tried together with it, and are in every report.
run train --grids 512 --seed 1 -o both.kerbin train.libsvm
expect_status 0
expect_stdout '^tried +(by slopes|equal), directions widths, square loss '
[ "$(version both.kerbin)" = 6 ] || fail "format version $(version both.kerbin) with a curve"
run train -q --grids 512 --seed 1 --threads 3 -o three.kerbin train.libsvm
expect_same both.kerbin three.kerbin
run inspect --json both.kerbin
found=$(json directions)
run inspect both.kerbin
[ "$found" = 0 ] || expect_stdout "^direction +$found extra columns? along which the targets change$"
fails_with 2 '^kerbin: --directions 65: must be' train --directions 65 train.libsvm

end
