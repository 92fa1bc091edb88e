#!/bin/bash
# The main job: train, predict, inspect, in every form of data.
. "$(dirname "$0")/lib.sh"
make_data

# The model's name comes from the data's.
run train train.libsvm
expect_status 0
expect_file train.kerbin
expect_stdout '^task +classification, 2 classes$'
expect_stdout '^data +2000 rows x 2 features'
expect_stdout 'R = 256 grids, D = [0-9]+ bins, kappa = [0-9.]+'
expect_stdout '^model +train\.kerbin'

run predict -o labels.txt train.kerbin test.libsvm
expect_status 0
expect_stdout '^accuracy [0-9.]+ % of 500 rows, balanced [0-9.]+ %, auc [0-9.]+, log loss [0-9.]+, brier [0-9.]+, f1 [0-9.]+$'
expect_at_least accuracy "$(awk '{ print $2 }' stdout)" 90
[ "$(wc -l < labels.txt)" -eq 500 ] || fail "not one label a row"

# Without -o the labels go to standard output and the score to standard error.
run predict train.kerbin test.libsvm
expect_status 0
expect_same stdout labels.txt
expect_stderr '^accuracy '
run predict -q train.kerbin test.libsvm
expect_no_stderr
expect_same stdout labels.txt

# A file that is trusted predicts the same.
run predict -q --trust train.kerbin test.libsvm
expect_status 0
expect_same stdout labels.txt

# A decision's sign is the label.
run predict -q --output decision train.kerbin test.libsvm
expect_status 0
paste stdout labels.txt | awk '($1 > 0) != ($2 > 0) { bad++ } END { exit bad > 0 }' ||
    fail "decisions and labels disagree"

run inspect train.kerbin
expect_status 0
expect_stdout '^task +classification'
expect_stdout '^classes +-?[0-9]+ -?[0-9]+$'

# The same samples as CSV, compressed, and from standard input give the same model.
"$KERBIN" generate checkers --rows 2000 --seed 1 -o train.csv || fail "generate"
gzip -k train.libsvm && bzip2 -k train.libsvm && xz -k train.libsvm && zstd -q train.libsvm
for data in train.libsvm.gz train.libsvm.bz2 train.libsvm.xz train.libsvm.zst; do
    run train -q -o again.kerbin "$data"
    expect_status 0
    expect_same again.kerbin train.kerbin
done
run train train.libsvm.gz
expect_stdout '^model +train\.kerbin'
INPUT=train.libsvm run train -
expect_status 0
expect_same model.kerbin train.kerbin
run train -q -o csv.kerbin train.csv
expect_status 0
run predict -q csv.kerbin test.libsvm
expect_same stdout labels.txt

# Options after the operands, the last of two counts, and the seed matters.
run train -q -o first.kerbin --seed 3 train.libsvm
run train train.libsvm --seed=4 -qo second.kerbin --seed 3
expect_same first.kerbin second.kerbin
run train -q -o other.kerbin --seed 4 train.libsvm
cmp -s first.kerbin other.kerbin && fail "the seed changes nothing"

# Regression, with a CSV whose label column has a name.
awk 'BEGIN { srand(1); print "a,target,b";
    for (i = 0; i < 1000; i++) { a = rand(); b = rand(); print a "," sin(6 * a) + b "," b } }' > r.csv
run train --label target --sigma 1 --task regression r.csv
expect_status 0
expect_stdout '^task +regression$'
expect_stdout '^fit +r2 0\.9'
run predict -o values.txt --label target r.kerbin r.csv
expect_stdout '^rmse [0-9.e-]+ on 1000 rows, mae [0-9.e-]+, r2 0\.9[0-9]+, relative error [0-9.]+$'

# Data without labels are predicted and not scored; the columns go by their names.
awk -F, 'NR > 1 { print $3 "," $1 } NR == 1 { print "b,a" }' r.csv > unlabelled.csv
run predict -o again.txt --label none r.kerbin unlabelled.csv
expect_status 0
expect_no_stdout
expect_stderr 'without labels there is no score'
expect_same values.txt again.txt

# A model trained on features that count from 0 reads others so by itself.
awk '{ sub(/1:/, "0:"); sub(/2:/, "1:"); print }' test.libsvm > zero_test.libsvm
awk '{ sub(/1:/, "0:"); sub(/2:/, "1:"); print }' train.libsvm > zero.libsvm
run train -q --zero-based zero.libsvm
expect_status 0
run predict -q zero.kerbin zero_test.libsvm
expect_status 0
expect_same stdout labels.txt
run predict -q --zero-based zero.kerbin zero_test.libsvm
expect_same stdout labels.txt

# A model that did not converge says what to do, and is still a model.
run train -q --max-iter 1 --tol 1e-12 -o rough.kerbin train.libsvm
expect_status 0
expect_stderr_line '^kerbin: warning: not converged after 1 step; raise'
expect_file rough.kerbin
# Quiet: warnings and errors only, and what was asked for.
run train -q train.libsvm
expect_no_stdout
expect_no_stderr
run predict -q -o labels.txt train.kerbin test.libsvm
expect_no_stdout
expect_no_stderr
expect_file labels.txt
end
