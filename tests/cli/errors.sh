#!/bin/bash
# Every error is one line that says what and where, and leaves no output.
. "$(dirname "$0")/lib.sh"
make_data
TUNE=on # nothing is told only after the trials
"$KERBIN" train -q --tune off -o good.kerbin train.libsvm > /dev/null || fail "train"

# bad STATUS PATTERN ARG.. - training fails so, and there is no model.
bad() {
    local expected=$1 pattern=$2
    shift 2
    fails_with "$expected" "$pattern" train -q -o out.kerbin "$@"
    expect_no_file out.kerbin
}

# ---- the command line
fails_with 2 "^kerbin: unknown command 'trian'; did you mean train\?$" trian
fails_with 2 '^kerbin: too few arguments; usage: kerbin predict \[options\] MODEL DATA$' predict m
fails_with 2 "^kerbin: too many arguments at 'b'; usage: " train a b
fails_with 2 '^kerbin: unknown option --sgma; did you mean --sigma\?$' train --sgma 1 train.libsvm
fails_with 2 '^kerbin: unknown option -z; see kerbin help train$' train -z train.libsvm
fails_with 2 '^kerbin: predict takes no --sigma; ' predict --sigma 1 good.kerbin test.libsvm
fails_with 2 '^kerbin: --grids needs a value: R$' train train.libsvm --grids
fails_with 2 '^kerbin: --output foo: must be one of label, decision, probability, interval, set, novelty$' \
    predict --output foo good.kerbin test.libsvm
bad 2 '^kerbin: --grids 0: must be a whole number from 1 to 1000000, or auto$' --grids 0 train.libsvm
bad 2 '^kerbin: --task foo: must be one of auto, regression, classification$' --task foo train.libsvm
bad 2 '^kerbin: --lambda -1: must be a number from ' --lambda -1 train.libsvm
bad 2 '^kerbin: --sigma 1,x: must be ' --sigma 1,x train.libsvm
bad 2 '^kerbin: --kernel gauss: is isotropic' --kernel gauss train.libsvm
bad 2 '^kerbin: --threads -1: must be ' --threads -1 train.libsvm
bad 2 '^kerbin: .*sigma' --sigma 1,2,3 train.libsvm
bad 1 '^kerbin: nowhere\.txt: ' --sigma @nowhere.txt train.libsvm
bad 1 '^kerbin: nowhere\.txt: ' --kernel table:nowhere.txt train.libsvm
fails_with 2 "^kerbin: .*nonsense" generate nonsense

# ---- the data
bad 1 '^kerbin: missing\.txt: .*[Nn]o such file' missing.txt
: > empty.txt
bad 1 '^kerbin: empty\.txt' empty.txt
INPUT=empty.txt bad 1 '^kerbin: standard input' -
printf '1 1:2\n\n-1 1:abc\n' > word.txt
bad 1 "^kerbin: word\.txt:3: '?.*abc'? is not a number" word.txt
printf '1 1:2\n-1 0:5\n' > zero.txt
bad 1 '^kerbin: zero\.txt:2: .*--zero-based' zero.txt
printf '1 1:2 2:1\n-1 2:5 1:5\n' > falling.txt
bad 1 '^kerbin: falling\.txt:2: ' falling.txt
printf '1 1:2\n-1 1:inf\n' > inf.txt
bad 1 '^kerbin: inf\.txt:2: ' inf.txt
printf '1 1:2\n-1 1:inf\n' > inf.txt
bad 1 '^kerbin: inf\.txt:2: ' inf.txt
printf '1 1:2\n-1 1:1e999\n' > large.txt
bad 1 '^kerbin: large\.txt:2: ' large.txt
printf 'a,b,y\n1,2,3\n1,inf,3\n' > word.csv
bad 1 "^kerbin: word\.csv: column 'b', row 2: 'inf' is infinite" word.csv
printf '1,2,3\n1,2\n' > ragged.csv
bad 1 '^kerbin: ragged\.csv:2: ' ragged.csv
bad 2 '^kerbin: .*price' --label price word.csv
printf '1 1:2\n1 1:3\n1 1:4\n' > one.txt
bad 1 '^kerbin: .*labels are the same' --task classification one.txt
head -c 300 < <(gzip -c train.libsvm) > broken.gz
bad 1 '^kerbin: broken\.gz' broken.gz
bad 1 '^kerbin: \.: ' .

# ---- files that are not text
printf 'PAR1 PAR1' > a.parquet
bad 1 "^kerbin: a\.parquet: a Parquet file is not read; make it CSV: python3 -c .*read_parquet" a.parquet
printf 'ARROW1\0\0 ' > a.arrow
bad 1 "^kerbin: a\.arrow: an Arrow file is not read; make it CSV: python3 -c .*read_feather" a.arrow
printf 'PK\3\4' > cut.npz
bad 1 '^kerbin: cut\.npz: ' cut.npz
printf '\223NUMPY' > cut.npy
bad 1 '^kerbin: cut\.npy: the file ends within an array' cut.npy

# ---- more features than the model knows
printf '1 1:0.5 2:0.5\n0 1:0.1 7:1\n' > wide.libsvm
run predict -q good.kerbin wide.libsvm
expect_status 0
expect_stderr_line '^kerbin: warning: '
[ "$(wc -l < stdout)" -eq 2 ] || fail "not two predictions"
printf '0.5,0.5,0.5,1\n' > wide.csv
fails_with 1 '^kerbin: wide\.csv' predict -q good.kerbin wide.csv

# ---- memory: the forecast comes first
bad 1 '^kerbin: .*--max-memory' --max-memory 1M --grids 100000 train.libsvm

# ---- damaged models
damaged() {
    fails_with 1 "^kerbin: $1: " predict -q -o out.txt "$1" test.libsvm
    expect_no_file out.txt
    fails_with 1 "^kerbin: $1: " inspect "$1"
}
damaged missing.kerbin
: > empty.kerbin
damaged empty.kerbin
damaged train.libsvm
size=$(stat -c %s good.kerbin)
for part in 5 100 $((size / 2)) $((size - 1)); do
    head -c "$part" good.kerbin > cut.kerbin
    damaged cut.kerbin
done
for place in 0 9 40 $((size / 3)) $((size / 2)) $((size - 2)); do
    cp good.kerbin flipped.kerbin
    byte=$(od -An -tu1 -j "$place" -N1 good.kerbin)
    printf "\\x$(printf %02x $((byte ^ 8)))" |
        dd of=flipped.kerbin bs=1 seek="$place" conv=notrunc 2> /dev/null
    damaged flipped.kerbin
done
{ cat good.kerbin; echo more; } > longer.kerbin
damaged longer.kerbin

# A message is one line, whatever an argument contains, and so is a line of the summary.
fails_with 2 "^kerbin: unknown command 'tra\\\\nin'" $'tra\nin'
fails_with 2 '^kerbin: --grids 1\\n2\\x1b: ' train --grids $'1\n2\e' good.libsvm
fails_with 1 '^kerbin: no\\nfile: cannot open' train -q $'no\nfile'
cp good.kerbin $'two\nlines'
fails_with 2 '^kerbin: two\\nlines: would be overwritten' compact -q -o $'two\nlines' $'two\nlines'
run inspect $'two\nlines'
expect_status 0
expect_stdout '^file      two\\nlines, '
end
