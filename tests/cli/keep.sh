#!/bin/bash
# predict --keep: columns of the input beside the predictions, and one rule for headers.
. "$(dirname "$0")/lib.sh"

# Ids with zeros in front, names with commas and quotes, dates, missing cells, and CR LF line ends.
awk 'BEGIN { srand(2); printf "id,name,size,when,colour,kind\r\n"
    for (i = 0; i < 300; i++) { s = rand()
        printf "%05d,\"Smith, \"\"J\"\" %d\", %.3f ,2021-03-%02d,%s,%s\r\n", i, i, s, i % 28 + 1,
            i % 3 ? "red" : "", (s > 0.5 ? "\"a, b\"" : "c") } }' > data.csv
run train -q --ignore id,name -o m.kerbin data.csv
expect_status 0

# As they were read, in the order of the list: by name, number and pattern, each once.
run predict -q --keep 'when,1,na*,size,id,colour' m.kerbin data.csv
expect_status 0
expect_no_stderr
[ "$(head -n 1 stdout)" = "when,id,name,size,colour,prediction" ] || fail "another header"
tr -d '\r' < data.csv | sed -n 's/^\([0-9]*\),\(".*"\), \([0-9.]*\) ,\([0-9-]*\),\(red\|\),.*/\4,\1,\2,\3,\5/p' > want.csv
[ "$(wc -l < want.csv)" = 300 ] || fail "the test itself"
sed 1d stdout | sed 's/,\("a, b"\|c\)$//' | cmp -s - want.csv || fail "cells are not as they were read"
sed 1d stdout | grep -q ',"a, b"$' || fail "a class with a comma is not in quotes"
cp stdout kept.csv
for threads in 1 3; do
    run predict -q --threads $threads --keep 'when,1,na*,size,id,colour' -o again.csv m.kerbin data.csv
    expect_same kept.csv again.csv
done

# The predictions beside them are those without.
for output in label decision probability set novelty; do
    run predict -q --output $output m.kerbin data.csv
    cp stdout alone
    run predict -q --output $output --keep size m.kerbin data.csv
    expect_status 0
    [ "$(wc -l < stdout)" = 301 ] || fail "$output: no header, or other lines"
    case $output in
        label) sed 1d stdout | sed 's/^[^,]*,//; s/"//g' > beside ;;
        decision) sed 1d stdout | cut -d, -f2- > beside ;;
        *) cut -d, -f2- stdout > beside ;;
    esac
    expect_same alone beside
done
run predict -q --output decision --keep kind m.kerbin data.csv
[ "$(head -n 1 stdout)" = "kind,decision" ] || fail "the name of a decision"
run predict -q --output probability --keep kind m.kerbin data.csv
[ "$(head -n 1 stdout)" = 'kind,"a, b",c' ] || fail "the names of probabilities"

# One column alone has neither a header nor quotes.
run predict -q m.kerbin data.csv
[ "$(wc -l < stdout)" = 300 ] || fail "labels alone have a header"
grep -qx 'a, b' stdout || fail "labels alone are quoted"

# A name that is taken becomes another, as in files that are read.
sed '1s/when/prediction/' data.csv > taken.csv
run train -q --ignore id,name -o taken.kerbin taken.csv
run predict -q --keep prediction taken.kerbin taken.csv
[ "$(head -n 1 stdout)" = "prediction,prediction.1" ] || fail "two columns of one name"

# Columns that the model does not know are kept without a warning; others still have one.
tr -d '\r' < data.csv | sed '1s/$/,extra,more/; 2,$s/$/,7, e /' > more.csv
run predict --keep extra,more -o out.csv m.kerbin more.csv
expect_status 0
grep -q 'unknown to the model' stderr && fail "kept columns are said to be ignored"
[ "$(sed -n 2p out.csv | cut -d, -f1,2)" = "7,e" ] || fail "the cells of unknown columns"
run predict --keep extra -o out.csv m.kerbin more.csv
expect_stderr "1 column unknown to the model is ignored \\(column 'more'\\)"

# Files without names: by number.
sed 1d more.csv | cut -d, -f1,6- | awk -F, 'NR % 2 { print NR "," NR % 7 "," NR % 5 "," (NR % 7 > 3) }' > bare.csv
run train -q --header off -o bare.kerbin bare.csv
run predict -q --keep -1,1 bare.kerbin bare.csv
expect_status 0
[ "$(head -n 1 stdout)" = "column 4,column 1,prediction" ] || fail "names of columns without names"
[ "$(sed -n 3p stdout | cut -d, -f1,2)" = "0,3" ] || fail "cells of columns without names"

# Refusals, before anything is written.
fails_with 2 "^kerbin: data.csv: --keep: no column is named 'nam'; did you mean 'name'\\? The columns are id, name" \
    predict -q --keep nam -o no.csv m.kerbin data.csv
fails_with 2 "^kerbin: bare.csv: --keep: no column has the number '9'" predict -q --keep 9 bare.kerbin bare.csv
"$KERBIN" generate checkers --rows 100 -o two.libsvm || fail "generate"
run train -q -o two.kerbin two.libsvm
fails_with 2 '^kerbin: --keep 1: two.libsvm is LIBSVM text, which has no named columns to keep; make it CSV$' \
    predict -q --keep 1 -o no.csv two.kerbin two.libsvm
fails_with 2 '^kerbin: train takes no --keep' train --keep id data.csv
expect_no_file no.csv
end
