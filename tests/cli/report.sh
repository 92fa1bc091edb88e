#!/bin/bash
# kerbin report: a page that needs nothing else, and what it says of files that are no good.
. "$(dirname "$0")/lib.sh"
run generate checkers --rows 300 --seed 1 -o train.csv
run generate checkers --rows 200 --seed 2 -o test.csv
bad=$'<b>"x&y"\'.csv'
cp train.csv "$bad"

# Nothing to show.
fails_with 1 '^kerbin: nowhere: cannot read: ' report nowhere
mkdir results results/deeper
fails_with 1 '^kerbin: results: no sweeps or comparisons' report -o r.html results
expect_no_file r.html
fails_with 1 '^kerbin: no/r.html: cannot write' report -o no/r.html results
fails_with 2 'too few arguments' report

run sweep -q --values 0.1,0.3 --grids 8 --seeds 2 -o results/sigma.csv train.csv test.csv
run sweep -q --vary threads --values 1,2 --grids 8 -o results/threads.csv train.csv test.csv
run compare -q --maps binning,fourier --ranks 4,8 --sigmas 0.1,0.3 -o results/deeper/c.csv "$bad" test.csv
run compare -q --maps binning --ranks 8,100000 --sigmas 0.3 --max-memory 2M -o results/f.csv \
    train.csv test.csv
echo '{"points": [' > results/broken.json
echo '{"mine": 1}' > results/other.json
echo '{"command": "kerbin sweep x", "vary": "<i>", "points": []}' > results/forged.json
echo '{"command": "kerbin compare <i>", "train": "<i>",
    "runs": [{"typed": "<i>", "machine": {"cpu": "<i>"}}, 1],
    "failed": [{"map": "<i>", "reason": "<i>"}, 2], "points": [3, null, {}, {"map": "<i>", "rank": "x",
    "test_score": 0.5, "test_error": 0.5}]}' > results/odd.json
ln -s nothing.json results/dangling.json
mkfifo results/pipe.json # it would be waited for: here until the sleep ends
(exec sleep 10 > results/pipe.json) &
waiting=$!

run report -o r.html results
expect_status 0
expect_no_stdout
expect_stderr 'warning: results/broken.json: broken JSON in line [0-9]+: .*; left out$'
expect_stderr 'warning: results/dangling.json: cannot read: .*; left out$'
expect_stderr 'warning: results/pipe.json: is no file; left out$'
kill $waiting
expect_stderr '^kerbin: results/other.json: neither a sweep nor a comparison; left out$'
expect_stderr '^kerbin: the report is in r.html$'
for text in 'Score and time over sigma: train.csv' 'Speed-up over threads: train.csv' \
    'kerbin sweep -q --values 0.1,0.3 --grids 8 --seeds 2 -o results/sigma.csv train.csv test.csv' \
    'each map at its largest rank' 'chosen on the test rows' '<dt>CPU</dt>' '<dt>cores</dt>' '<dt>memory</dt>' '<dt>kerbin</dt>' \
    '<dt>compiled by</dt>' 'Without result: binning, rank 100000: 100000 grids' '<td>fourier</td>'; do
    grep -qF -- "$text" r.html || fail "not on the page: $text"
done

# It needs nothing else, and texts are texts.
grep -Eq 'https?://|<script|<link|<iframe|@import|url\(' r.html && fail "the page loads or runs something"
grep -Eo '(src|href)=["'"'"'][^#d"'"'"']' r.html | grep . && fail "the page has links to elsewhere"
grep -Fq '&lt;' r.html || fail "no escaped name on the page"
grep -Eq '<[bi]>' r.html && fail "a name came through as HTML"

# As a whole, on standard output, and always the same.
cp r.html first.html
run report -q results
expect_status 0
expect_same stdout first.html

# With gnuplot there are figures, each with names of its own; those drawn before are not shown twice.
if command -v gnuplot > /dev/null; then
    [ "$(grep -c '<svg ' r.html)" = 5 ] || fail "not a figure each: $(grep -c '<svg ' r.html)"
    grep -o " id=[\"'][^\"']*" r.html | sort | uniq -d | grep . && fail "a name is there twice"
    grep -q 'prefers-color-scheme:dark' r.html || fail "not for the dark"
    run sweep -q --values 0.1,0.3 --grids 8 --seeds 2 -o results/sigma.csv --plot results/x.svg \
        train.csv test.csv
    sed 's/<!-- kerbin.*//' results/x.svg > results/own.svg
    run report -q -o r.html results
    [ "$(grep -c '<img ' r.html)" = 1 ] || fail "not the one figure of others"
    sed -n 's/.*<img [^>]*base64,\([^"]*\)".*/\1/p' r.html | base64 -d | cmp - results/own.svg ||
        fail "the picture is another"
fi

# Without it, one line.
mkdir empty
command="report without gnuplot"
status=0
PATH=$PWD/empty "$KERBIN" report -q -o plain.html results/deeper 2> stderr > stdout || status=$?
expect_status 0
expect_stderr_line '^kerbin: warning: the page has no figures: gnuplot is not installed'
grep -q '<td>fourier</td>' plain.html || fail "no table without gnuplot"
end
