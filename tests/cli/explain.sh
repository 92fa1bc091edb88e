#!/bin/bash
# kerbin explain: partial dependence, and contributions that add up.
. "$(dirname "$0")/lib.sh"
awk 'BEGIN { srand(3); print "size,\"a, b\",when,town,price"
    for (i = 0; i < 300; i++) {
        s = rand(); t = int(3 * rand()); d = 1 + int(28 * rand())
        printf "%g,%g,2020-%02d-%02d,%s,%g\n", s, rand(), 1 + int(12 * rand()), d, substr("xyz", t + 1, 1), 3 * s + t } }' > t.csv
run train -q --importance on --sigma 0.5 -o m.kerbin t.csv
expect_status 0

# Partial dependence: it rises with the size, and with the town.
run explain m.kerbin t.csv
expect_status 0
expect_no_stderr
expect_stdout '^partial dependence: the prediction over [0-9]+ rows, '
expect_stdout '^town +[xyz] +[xyz] +[xyz]$'
expect_stdout '^when +2020-01-0[1-9] .* 2020-12-[0-9]+$'
[ "$(grep -c '^  mean price ' stdout)" -eq 4 ] || fail "not four features"
run explain --top 1 m.kerbin t.csv
[ "$(grep -c '^  mean price ' stdout)" -eq 1 ] || fail "not one feature"
run explain --json m.kerbin t.csv
expect_status 0
cp stdout told.json
python3 - << 'END' || fail "dependence in JSON"
import json
told = json.load(open("told.json"))
assert told["of"] == "prediction" and 150 < told["rows"] <= 300, told
found = {one["feature"]: one for one in told["dependence"]}
assert set(found) == {"size", "a, b", "when", "town"}
size = found["size"]
assert size["at"] == sorted(size["at"]) and len(size["at"]) == len(size["mean"]) == 20
assert size["mean"][-1] - size["mean"][0] > 1 and all(e > 0 for e in size["standard_error"])
town = dict(zip(found["town"]["at"], found["town"]["mean"]))
assert town["x"] < town["y"] < town["z"], town
END

# Contributions.
head -n 11 t.csv > rows.csv
run explain -q -o why.csv --background t.csv --samples 20 m.kerbin rows.csv
expect_status 0
[ "$(head -n 1 why.csv)" = 'decision,base,size,"a, b",when,town' ] || fail "the header: $(head -n 1 why.csv)"
[ "$(wc -l < why.csv)" -eq 11 ] || fail "not a line a row"
awk -F, 'NR > 1 { e = $1 - $2 - $3 - $4 - $5 - $6; if (e > 1e-8 || e < -1e-8) exit 1 }' why.csv ||
    fail "the contributions do not add up"
run predict -q --output decision -o f.txt m.kerbin rows.csv
awk -F, 'NR > 1 { print $1 }' why.csv | paste -d' ' - f.txt |
    awk '{ e = $1 - $2; if (e > 1e-8 || e < -1e-8) exit 1 }' || fail "other decisions than predict"
run explain -o - --samples 20 --background t.csv m.kerbin rows.csv
expect_same stdout why.csv

# The standard errors are told; four times the samples halve them.
errors='contributions have standard errors of about [0-9.]+, at most [0-9.]+; more --samples make them smaller$'
expect_stderr "$errors"
typical() { sed -n 's/.*standard errors of about \([0-9.]*\),.*/\1/p' stderr; }
few=$(typical)
run explain -o - --samples 80 --background t.csv m.kerbin rows.csv
expect_stderr "$errors"
awk -v few="$few" -v many="$(typical)" 'BEGIN { exit !(many > 0.35 * few && many < 0.7 * few) }' ||
    fail "standard errors of $few with 20 samples and of $(typical) with 80"

# Three classes: the one that is predicted.
awk -F, 'NR == 1 { print "a,b,c" } NR > 1 { print $1 "," $2 "," ($1 < 0.3 ? "low" : $1 < 0.6 ? "mid" : "high") }' t.csv |
    sed 's/^a,b,c$/a,b,class/' > k.csv
run train -q --label class --sigma 0.3 -o k.kerbin k.csv
run explain -q -o why.csv k.kerbin k.csv
expect_status 0
[ "$(head -n 1 why.csv)" = 'class,decision,base,a,b' ] || fail "the header: $(head -n 1 why.csv)"
run predict -q -o labels.txt k.kerbin k.csv
awk -F, 'NR > 1 { print $1 }' why.csv | cmp -s - labels.txt || fail "other classes than predict"

# A picture.
if command -v gnuplot > /dev/null; then
    run explain -q --plot pd.svg m.kerbin t.csv
    expect_status 0
    grep -q 'Partial dependence' pd.svg || fail "no picture"
    run explain -q --plot pd.png k.kerbin k.csv
    expect_file pd.png
fi

# What does not work.
head -n 2 t.csv > one.csv
fails_with 1 '^kerbin: the background has 1 row; ' explain -q -o why.csv m.kerbin one.csv
fails_with 2 'would be overwritten' explain -o rows.csv m.kerbin rows.csv
fails_with 2 'would be overwritten' explain -o t.csv --background t.csv m.kerbin rows.csv
fails_with 2 'would both go to standard output' explain --json -o - m.kerbin rows.csv
fails_with 2 'a model cannot come from standard input' explain - t.csv
fails_with 2 'too few arguments' explain m.kerbin
end
