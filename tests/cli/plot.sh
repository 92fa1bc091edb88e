#!/bin/bash
# --plot of sweep and compare: every kind of figure, and errors before the work.
. "$(dirname "$0")/lib.sh"
run generate checkers --rows 300 --seed 1 -o train.csv
run generate checkers --rows 200 --seed 2 -o test.csv

# A figure that cannot be drawn is reported before the work: TRAIN does not exist.
fails_with 2 '^kerbin: --plot f.pdf: should end in .svg or .png$' \
    sweep --values 1 --plot f.pdf nowhere.csv test.csv
fails_with 2 'should end in .svg or .png' compare --maps binning --ranks 8 --plot svg nowhere.csv test.csv
fails_with 2 'should end in .svg or .png' sweep --values 1 --plot .svg nowhere.csv test.csv
fails_with 1 '^kerbin: no/f.svg: cannot write' sweep --values 1 --plot no/f.svg nowhere.csv test.csv
cp train.csv data.svg
fails_with 2 '^kerbin: data.svg: would be overwritten' sweep --values 1 --plot data.svg data.svg test.csv
mkdir empty
command="without gnuplot"
status=0
PATH=$PWD/empty "$KERBIN" sweep --values 1 --plot f.svg nowhere.csv test.csv > stdout 2> stderr || status=$?
expect_status 1
expect_stderr_line '^kerbin: --plot: gnuplot is not installed; on Debian: apt-get install gnuplot-nox$'

# A gnuplot that fails leaves no file, and the table is there all the same.
mkdir broken
printf '#!/bin/sh\necho "line 0: no such terminal" >&2\nexit 1\n' > broken/gnuplot
chmod +x broken/gnuplot
command="with a broken gnuplot"
status=0
PATH=$PWD/broken:$PATH "$KERBIN" sweep -q --values 0.3 --grids 8 --plot f.svg train.csv test.csv \
    > stdout 2> stderr || status=$?
expect_status 1
expect_stderr_line '^kerbin: gnuplot failed: line 0: no such terminal$'
expect_stdout '^ *0.3 '
expect_no_file f.svg

if ! command -v gnuplot > /dev/null; then
    echo "no gnuplot: the figures themselves are not tested"
    end
    exit
fi

# is_svg FILE TEXT.. - a whole SVG in which each text is to be read.
is_svg() {
    local file=$1
    shift
    grep -q '</svg>' "$file" || fail "$file is not a whole SVG"
    if command -v python3 > /dev/null; then
        python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$file" 2> stderr ||
            fail "$file: not XML"
    fi
    for text in "$@"; do
        grep -qF -- "<text>$text" "$file" || fail "$file: no text '$text'"
    done
    [ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"
}

run sweep -q --values 0.1,0.3,1 --grids 8 --seeds 2 -o s.csv --plot sigma.svg train.csv test.csv
expect_status 0
expect_no_stderr
is_svg sigma.svg 'Score and time over sigma: train.csv (mean and standard deviation over 2 seeds)' sigma \
    accuracy 'time (s)' train test bin solve 'highest on test rows: 0.'
run sweep -q --vary grids --values 4,8,16 --sigma 0.3 --plot grids.svg train.csv test.csv
is_svg grids.svg 'grids R' accuracy 16
run sweep -q --vary lambda --values 0.1,1 --grids 8 --plot lambda.svg train.csv test.csv
is_svg lambda.svg lambda accuracy 'highest on test rows: 0.'
run sweep -q --vary threads --values 1,2 --grids 8 --plot threads.svg train.csv test.csv
is_svg threads.svg threads 'speed-up of the solve' measured 'predicted for coordinate descent' ideal
run compare -q --maps binning,fourier,exact --ranks 4,8 --seeds 2 --sigmas 0.3 -o c.csv --plot c.svg \
    train.csv test.csv
expect_status 0
is_svg c.svg 'rank R' 'test accuracy' 'training time (s)' 'memory at the peak (MiB)' binning fourier exact
awk -F, 'NR > 1 { $3 = $1 * $1 + $2 + 1 } { print $1 "," $2 "," $3 }' train.csv > r.csv
run compare -q --task regression --maps binning --ranks 4,8 --sigmas 1 --plot r.svg r.csv r.csv
is_svg r.svg 'test relative error'
run sweep -q --task regression --values 0.3,1 --grids 8 --plot r2.svg r.csv r.csv
is_svg r2.svg r2
# One point, all scores alike.
run sweep -q --values 0.3 --grids 8 --plot one.svg train.csv test.csv
expect_status 0
is_svg one.svg sigma

# PNG; the table that is there is drawn without TRAIN or TEST.
mv train.csv away.csv
run sweep --values 0.1,0.3,1 --grids 8 --seeds 2 -o s.csv --plot sigma.png train.csv test.csv
expect_status 0
expect_stderr '^kerbin: 6 of 6 points were there already$'
expect_stderr '^kerbin: the figure is in sigma.png$'
[ "$(head -c 8 sigma.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "sigma.png is not a PNG"
[ "$(tail -c 8 sigma.png | head -c 4)" = IEND ] || fail "sigma.png is not whole"
run compare -q --maps binning,fourier,exact --ranks 4,8 --seeds 2 --sigmas 0.3 -o c.csv --plot again.svg \
    train.csv test.csv
expect_status 0
expect_same c.svg again.svg
mv away.csv train.csv

# Hostile names are text and nothing else, in figures, JSON and files.
bad=$'x\'; system "touch pwned"; \'`touch pwned`$(touch pwned)<b>&{_^\\@.csv'
cp train.csv "$bad"
run sweep -q --values 0.3,1 --grids 8 -o bad.csv --plot "$bad.svg" "$bad" test.csv
expect_status 0
[ ! -e pwned ] || fail "a file name was run"
escaped="x'; system \"touch pwned\"; '\`touch pwned\`\$(touch pwned)&lt;b>&amp;{_^\\@.csv"
is_svg "$bad.svg" "Score and time over sigma: $escaped"
cp train.csv $'line\nbreak\xff.csv'
run sweep -q --values 0.3,1 --grids 8 --plot broken.svg $'line\nbreak\xff.csv' test.csv
expect_status 0
is_svg broken.svg 'Score and time over sigma: line break?.csv'

# What was typed is kept so that a shell reads it back.
typed=$(sed -n 's/^ *"typed": "\(.*\)",$/\1/p' bad.json | sed 's/\\"/"/g; s/\\\\/\\/g')
eval "set -- $typed"
[ "$1 $2 ${12}" = "kerbin sweep $bad" ] || fail "not what was typed: $typed"
[ ! -e pwned ] || fail "a quoted name was run"
for key in typed began cpu cores memory_bytes kerbin compiler system train test; do
    grep -q "\"$key\": [^n]" s.json || fail "no $key in s.json"
done
end
