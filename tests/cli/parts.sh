#!/bin/bash
# A pattern in place of a file: its files are read as one, and a model is that of all their rows.
. "$(dirname "$0")/lib.sh"

"$KERBIN" generate checkers --rows 900 -o all.csv 2> /dev/null
mkdir in
head -n 1 all.csv > header
tail -n +2 all.csv | split -l 260 - in/rows
for part in in/rows*; do
    cat header "$part" > "${part/rows/d-}.csv"
    rm "$part"
done
[ "$(ls in | wc -l)" = 4 ] || fail "the test itself"
run train -q -o whole.kerbin all.csv
expect_status 0
run train -q -o parts.kerbin 'in/d-*.csv'
expect_status 0
expect_no_stderr
expect_same whole.kerbin parts.kerbin
gzip in/d-ab.csv
mv in/d-ab.csv.gz in/d-ab.csv
run train -q -o parts.kerbin 'in/d-a?.csv'
expect_same whole.kerbin parts.kerbin

run predict -q -o whole.csv whole.kerbin all.csv
cp stdout score
run predict -q -o parts.csv whole.kerbin 'in/d-*.csv'
expect_status 0
expect_same whole.csv parts.csv
expect_same score stdout

# The model's name, where none is given.
run train -q 'in/d-*.csv'
expect_status 0
[ -e d.kerbin ] || fail "no d.kerbin"

# A file of the pattern is no output; a pattern without a file is an error.
cp in/d-aa.csv aa
fails_with 2 "^kerbin: in/d-aa.csv: would be overwritten by the output" predict -q -o in/d-aa.csv whole.kerbin 'in/*.csv'
expect_same aa in/d-aa.csv
fails_with 1 "^kerbin: in/e-\*: no file has such a name" train -q -o x.kerbin 'in/e-*'
fails_with 1 "^kerbin: no/e-\*: cannot open no/: " train -q -o x.kerbin 'no/e-*'

# A mistake has its file and line.
echo 1,2 >> in/d-ac.csv
fails_with 1 "^kerbin: in/d-ac.csv:262: fewer fields than the 3 of line 1" train -q -o x.kerbin 'in/*.csv'
sed -i '1s/.*/u,v,w/' in/d-ac.csv
fails_with 1 "^kerbin: in/d-ac.csv:1: column 1 is 'u', and '.*' in the first file of in/\*.csv: all need one header" \
    train -q -o x.kerbin 'in/*.csv'
[ ! -e x.kerbin ] || fail "a model of a failed run"

end
