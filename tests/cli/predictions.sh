#!/bin/bash
# What train expects on new rows, and intervals, sets and novelty from the command line.
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(3); print "x,z,y"
    for (i = 0; i < 2000; i++) { x = rand(); print x "," rand() "," sin(6 * x) + x * (rand() - 0.5) } }' > noise.csv
head -n 1001 noise.csv > train.csv
{ head -n 1 noise.csv; tail -n 1000 noise.csv; } > test.csv

# The expected error comes before the score on the training rows, and it is in the model.
run train --task regression --lambda 1 -o r.kerbin train.csv
expect_status 0
expect_stdout '^expect    an rmse of about [0-9.]+ on new rows \(95 %: [0-9.]+ to [0-9.]+\), by 1000 rows held out$'
[ "$(grep -n '^expect ' stdout | cut -d: -f1)" -lt "$(grep -n '^fit ' stdout | cut -d: -f1)" ] ||
    fail "the score on training rows comes first"
expected=$(grep '^expect ' stdout)
run inspect r.kerbin
[ "$(grep '^expect ' stdout)" = "$expected" ] || fail "inspect says something else"
run train --task regression --holdout off -o off.kerbin train.csv
expect_status 0
grep -q '^expect' stdout && fail "something is expected without rows held out"
run train --task regression --holdout 0.3 -o aside.kerbin train.csv
expect_stdout 'by 300 rows held out$'
fails_with 2 '^kerbin: --holdout 1.5: must be auto, off, or a share above 0 and up to 0.9$' \
    train --holdout 1.5 train.csv

# Nine tenths of new rows lie inside their intervals.
run predict -q --output interval --coverage 0.9 -o i.csv r.kerbin test.csv
expect_status 0
[ "$(head -n 1 i.csv)" = "value,low,high" ] || fail "the header of intervals"
inside=$(paste -d, i.csv test.csv | awk -F, 'NR > 1 { n += $2 <= $6 && $6 <= $3 } END { print n }')
expect_at_least "rows inside" "$inside" 860
expect_at_least "minus rows inside" "-$inside" -940
fails_with 2 'no rows held out to compare with: train it with --holdout auto' \
    predict --output interval off.kerbin test.csv
fails_with 2 '^kerbin: --coverage 2: must be a number from 0.01 to 0.999$' \
    predict --output interval --coverage 2 r.kerbin test.csv
fails_with 2 'sets are for classes' predict --output set r.kerbin test.csv

# Rows far away are novel, and there is a warning.
awk -F, 'NR == 1 || ($1 += 90) { print $1 "," $2 "," $3 }' OFS=, test.csv > far.csv
run predict --output novelty -o n.csv r.kerbin far.csv
expect_status 0
expect_stderr '1000 of 1000 rows are unlike the training rows'
awk -F, 'NR > 1 && $2 < 0.9 { bad = 1 } END { exit bad }' n.csv || fail "far rows are not novel"
run predict --output novelty -o n.csv r.kerbin test.csv
grep -q 'unlike the training rows' stderr && fail "rows like the training rows are said to be strange"

# A label column or a class that is not there gets a hint.
run predict --label yy -o n.csv r.kerbin test.csv
expect_status 0
expect_stderr "warning: test.csv: no column is named 'yy', so it cannot be the label; did you mean 'y'\? The columns are x, z, y$"
cut -d, -f1,2 test.csv > bare.csv
run predict -q --label y -o n.csv r.kerbin bare.csv
expect_no_stderr

# Sets of classes.
awk -F, 'NR == 1 { print "x,z,y"; next } { print $1 "," $2 "," ($3 > 0 ? "up" : "down") }' train.csv > c.csv
run train -o c.kerbin c.csv
expect_stdout '^expect    about [0-9.]+ % wrong on new rows \(95 %: [0-9.]+ to [0-9.]+\), by 1000 rows held out$'
run predict -q --output set --coverage 0.95 -o s.csv c.kerbin c.csv
sed 's/down$/dwon/' c.csv > misprint.csv
run predict -q -o l.txt c.kerbin misprint.csv
expect_stderr_line "warning: [0-9]+ labels are no class of the model and count as wrong, such as 'dwon'; did you mean 'down'\? The classes are down, up$"
run predict -q -o l.txt c.kerbin c.csv
expect_no_stderr
[ "$(head -n 1 s.csv)" = "down,up" ] || fail "the header of sets"
awk -F, 'NR > 1 && $1 + $2 < 1 { bad = 1 } END { exit bad }' s.csv || fail "an empty set"
fails_with 2 'intervals are for regression' predict --output interval c.kerbin c.csv

# The trial that won is named.
TUNE=on
run train -q --json --widths equal --grids 64 -o t.kerbin c.csv
[ "$(grep -c '"chosen": true' stdout)" = 1 ] || fail "not one trial is chosen"
run train --widths equal --grids 64 -o t.kerbin c.csv
expect_stdout '^chosen    equal widths'

end
