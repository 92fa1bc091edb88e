#!/bin/bash
# --json prints exactly one object with the promised keys.
. "$(dirname "$0")/lib.sh"
make_data

# keys - the keys of the object on standard output, in order; nested ones as a.b.
keys() {
    awk '/^  "/ { top = $1 } /^    "/ { printf "%s.", top }
         match($0, /^ *"[a-z_0-9]+":/) { print $1 }' stdout | tr -d '":' | tr '\n' ' '
}
expect_keys() {
    [ "$(keys)" = "$1 " ] || fail "the keys are: $(keys)"
    [ "$(head -n 1 stdout)" = "{" ] && [ "$(tail -n 1 stdout)" = "}" ] &&
        [ "$(grep -c '^{$' stdout)" -eq 1 ] || fail "not one object"
    if command -v python3 > /dev/null; then
        python3 -c 'import json, sys; json.load(sys.stdin)' < stdout || fail "not JSON"
    fi
}

fit="task loss penalty map kernel sigma lambda grids rows features classes bins kappa steps converged"
fit="$fit objective train_score nonzeros solver linear_columns directions"
expected="expected expected.held_out expected.learned expected.folds expected.measure expected.value"
expected="$expected expected.low expected.high"
dictionary="label columns name type missing name type missing left_out"
theory="theory theory.kappa_bar theory.rate theory.threads theory.predicted_speedup"
fit_seconds="seconds seconds.read seconds.encode seconds.tune seconds.importance seconds.bin seconds.solve seconds.write seconds.total"
predict_seconds="seconds seconds.read seconds.predict seconds.total"
run train --json -q --sigma 0.2 --lambda 0.5 --grids 64 train.libsvm
expect_status 0
expect_no_stderr
expect_keys "$fit $expected tried shortened $dictionary $theory $fit_seconds peak_memory_bytes forecast_bytes id_bytes model"
[ "$(json task) $(json loss) $(json penalty) $(json map)" = "classification square l2 binning" ] ||
    fail "task, loss, penalty or map"
[ "$(json sigma) $(json lambda) $(json grids)" = "0.2 0.5 64" ] || fail "sigma, lambda or grids"
[ "$(json rows) $(json features) $(json classes)" = "2000 2 2" ] || fail "rows, features or classes"
[ "$(json converged) $(json model)" = "true train.kerbin" ] || fail "converged or model"
expect_at_least bins "$(json bins)" 64
expect_at_least kappa "$(json kappa)" 1
expect_at_least train_score "$(json train_score)" 0.9
expect_at_least peak_memory_bytes "$(json peak_memory_bytes)" 1000000
grep -q '^  "tried": \[\],$' stdout || fail "trials where nothing was open"
cp stdout train.json

# What was tried.
TUNE=on
run train --json -q --sigma 0.2 -o tried.kerbin train.libsvm
expect_status 0
TUNE=off
if command -v python3 > /dev/null; then
    python3 - stdout << 'END' || fail "tried"
import json, sys
told = json.load(open(sys.argv[1]))
tried = told["tried"]
assert tried and told["seconds"]["tune"] > 0, told
keys = "widths loss sigma lambda grids steps error seconds chosen".split()
assert all(list(one) == keys and one["sigma"] == 0.2 for one in tried), tried
(won,) = [one for one in tried if one["chosen"]]
assert won["lambda"] == told["lambda"] and won["loss"] == told["loss"], told
END
fi

# A list of widths is text.
run train --json -q --sigma 0.2,0.3 -o list.kerbin train.libsvm
[ "$(json sigma)" = "0.2,0.3" ] || [ "$(sed -n 's/.*"sigma": //p' stdout)" = '"0.2,0.3",' ] ||
    fail "sigma is not the list"

run predict --json train.kerbin test.libsvm
expect_status 0
class_metrics="metrics metrics.accuracy metrics.balanced_accuracy metrics.auc metrics.log_loss"
class_metrics="$class_metrics metrics.brier metrics.f1"
expect_keys "rows $class_metrics $predict_seconds peak_memory_bytes"
[ "$(json rows)" = 500 ] || fail "rows"
expect_at_least accuracy "$(json accuracy)" 0.9
run predict --json -o labels.txt train.kerbin test.libsvm
expect_status 0
expect_keys "rows $class_metrics $predict_seconds peak_memory_bytes"
[ "$(wc -l < labels.txt)" -eq 500 ] || fail "no labels beside the JSON"

run inspect --json train.kerbin
expect_status 0
for key in task kernel grids bins kappa steps objective train_score nonzeros; do
    value=$(json "$key")
    [ -n "$value" ] &&
        [ "$value" = "$(sed -n "s/^  \"$key\": \"\\{0,1\\}\\([^\",]*\\)\"\\{0,1\\},\$/\\1/p" train.json)" ] ||
        fail "$key is not what train said"
done

awk 'BEGIN { for (i = 0; i < 300; i++) print i / 300 "," sin(i / 50) + 2 }' > r.csv
run train --json -q --task regression r.csv
expect_status 0
[ "$(json classes)" = 0 ] || fail "classes of a regression"
run predict --json -q r.kerbin r.csv
expect_keys "rows metrics metrics.rmse metrics.mae metrics.r2 metrics.relative_error $predict_seconds peak_memory_bytes"
cut -d, -f1 r.csv > unlabelled.csv
run predict --json -q --label none r.kerbin unlabelled.csv
expect_keys "rows seconds seconds.read seconds.predict seconds.total peak_memory_bytes"

# Two things cannot both go to standard output.
fails_with 2 '^kerbin: --json and the model would both' train --json -o - train.libsvm
fails_with 2 '^kerbin: --json and the predictions would both' \
    predict --json -o - train.kerbin test.libsvm
# A failure prints no object.
fails_with 1 '^kerbin: missing: ' train --json -q missing
end
