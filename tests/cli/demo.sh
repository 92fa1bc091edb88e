#!/bin/bash
# kerbin demo: every step runs, with and without gnuplot, and nothing of the user's is touched.
. "$(dirname "$0")/lib.sh"
run demo -q
expect_status 0
expect_no_stderr
expect_stdout '^All files are in kerbin-demo; open kerbin-demo/report.html\.$'
expect_stdout '^   binning +fourier$'
# The last lines are commands that work as they stand.
sed -n '/^Now tuned/,$s/^  \$ //p' stdout > commands
[ "$(wc -l < commands)" = 4 ] || fail "not four commands at the end"
if ! light; then
    bash -e commands > next.out 2> next.err || fail "a command at the end fails: $(tail -n 1 next.err)"
    expect_file demo.html
    [ "$(wc -l < predictions.csv)" = 10001 ] || fail "not all rows are predicted"
fi
for name in demo-train.csv demo-test.csv demo-binning.kerbin demo-fourier.kerbin demo-compare.csv \
    demo-compare.json report.html; do
    expect_file "kerbin-demo/$name"
done
grep -q '<td>fourier</td>' kerbin-demo/report.html || fail "no comparison on the page"
if command -v gnuplot > /dev/null; then
    expect_file kerbin-demo/demo-compare.svg
    expect_file kerbin-demo/demo-surfaces.svg
    grep -q '<text>the truth' kerbin-demo/demo-surfaces.svg || fail "the surfaces have no titles"
    grep -q '<svg ' kerbin-demo/report.html || fail "no figure on the page"
    grep -q '<img ' kerbin-demo/report.html || fail "no surfaces on the page"
fi

# A second time, in the same place, without gnuplot.
if light; then
    end
    exit
fi
mkdir empty
command="demo without gnuplot"
status=0
PATH=$PWD/empty "$KERBIN" demo -o kerbin-demo > stdout 2> stderr || status=$?
expect_status 0
expect_stdout '^accuracy 9[0-9.]+ % of 10000 rows'
expect_stdout '^No figures: gnuplot is not installed; on Debian: apt-get install gnuplot-nox$'
expect_file kerbin-demo/report.html
[ ! -e kerbin-demo/demo-surfaces.svg ] || fail "a figure of the time before is still there"

# A folder of the user's is left alone.
mkdir mine
echo mine > mine/report.html
fails_with 2 '^kerbin: mine: exists and is not from a demonstration' demo -o mine
[ "$(cat mine/report.html)" = mine ] || fail "mine/report.html was overwritten"
fails_with 1 '^kerbin: no/where: ' demo -o no/where
end
