#!/bin/bash
# Tables as they come: each of these files is either learned and predicted, with the columns that a
# reader would see in it, or refused in one line that says what to do.
. "$(dirname "$0")/lib.sh"

# rows N AWK - lines made from i = 1 .. N by an awk expression that prints.
rows() {
    awk -v n="$1" "BEGIN { for (i = 1; i <= n; i++) $2 }"
}

# columns_of MODEL - what inspect says of the columns: "a number 0, b category 0 3", missing cells and
# levels behind the type; "| key id" for those that are left out.
columns_of() {
    "$KERBIN" inspect --json "$1" > inspected 2> /dev/null || return 1
    awk '
        /"columns": \[/ { part = " "; before = "" }
        /"left_out": \[/ { part = " | "; before = "" }
        /"scale":/ { part = "" }
        part == "" { next }
        { gsub(/[",]/, "") }
        /^ *name:/ { sub(/^ *name: /, ""); printf "%s%s", before == "" ? part : ", ", $0; before = $0 }
        /^ *type:/ { printf " %s", $2 }
        /^ *missing:/ { printf " %s", $2 }
        /^ *levels:/ { printf "/%s", $2 }' inspected
}

# works FILE WANT NOTE [OPTION..] - `train` learns it; the columns are WANT, and standard error
# matches NOTE; then `predict` gives a line for each row.
HEADER=auto
works() {
    local file=$1 want=$2 note=$3 got lines
    shift 3
    run train --grids 16 -o model.kerbin "$@" "$file"
    expect_status 0
    [ -z "$note" ] || expect_stderr "$note"
    if [ "$(grep -c 'warning' stderr)" -gt 0 ] && [[ $note != *warning* ]]; then
        fail "a warning that is not expected"
    fi
    got=$(columns_of model.kerbin)
    got=${got# }
    [ "$got" = "$want" ] || fail "$file: columns are '$got' instead of '$want'"
    samples=$(sed -n 's/^ *"rows": \([0-9]*\),*$/\1/p' inspected)
    run predict --header "$HEADER" -o predicted model.kerbin "$file"
    expect_status 0
    lines=$(wc -l < predicted)
    [ "$lines" -ge "${samples:-1}" ] || fail "$file: $lines predictions of $samples rows"
}

# samples N - how many rows the last model was trained on.
samples() {
    [ "$samples" -eq "$1" ] || fail "trained on $samples rows instead of $1"
}

# classes A B .. - the classes of the last model.
classes() {
    local got
    got=$(tr -d ' \n' < inspected | sed 's/.*"labels":\[\([^]]*\)\].*/\1/; s/"//g')
    [ "$got" = "$1" ] || fail "classes are '$got' instead of '$1'"
}

# refused STATUS PATTERN FILE [OPTION..] - one line, and no model.
refused() {
    local expected=$1 pattern=$2 file=$3
    shift 3
    rm -f model.kerbin
    fails_with "$expected" "^kerbin: ${file//./\\.}$pattern" train -q -o model.kerbin "$@" "$file"
    expect_no_file model.kerbin
}

# predicts FILE LINES PATTERN - the last model, with this line on standard error.
predicts() {
    run predict -o predicted model.kerbin "$1"
    expect_status 0
    [ "$(wc -l < predicted)" -eq "$2" ] || fail "$(wc -l < predicted) predictions instead of $2"
    cat stdout >> stderr
    expect_stderr "$3"
}

XY='a number 0, b number 0'
rows 40 'print i % 7 "," i * 3 % 11 "," i % 2' > bare
{ echo a,b,y; cat bare; } > plain.csv
rows 40 'print (i % 5 ? "x" : "z") "," (i % 3 ? "red" : "blue") "," (i % 2 ? "yes" : "no")' > words
{ echo u,v,w; cat words; } > words.csv
UV='u boolean 0/2, v boolean 0/2'

# ---- headers
works plain.csv "$XY" 'label: y \(last column\); 2 numbers'
samples 40
cp words headless.csv
works headless.csv '1 boolean 0/2, 2 boolean 0/2' \
    'headless.csv: the first line looks like the others, so it is taken as values \(--header on if'
samples 40
classes no,yes
works words.csv "$UV" 'label: w '
samples 40
works headless.csv "x boolean 0/2, red boolean 0/2" 'label: yes ' --header on
samples 39
for first in 0 1; do
    { seq -s, $first $((first + 3)); rows 40 'print i % 7 "," i % 5 "," i % 3 "," i % 2'; } > counted.csv
    works counted.csv "$first number 0, $((first + 1)) number 0, $((first + 2)) number 0" \
        'counted.csv: the first line counts the columns, so it is taken as their names \(--header off if'
    samples 40
    HEADER=off works counted.csv '1 number 0, 2 number 0, 3 number 0' 'label: the last column' \
        --header off
    samples 41
done
{ echo 0,1,2; cat bare; } > three.csv
works three.csv '1 number 0, 2 number 0' 'could be a row of the table, so it is taken as values'
samples 41
{ echo ,0,1,2; awk '{ print NR - 1 "," $0 }' bare; } > index.csv
works index.csv '0 number 0, 1 number 0 | unnamed 1 id' 'counts the columns'
{ echo ,a,b,y; awk '{ print NR - 1 "," $0 }' bare; } > index.csv
works index.csv "$XY | unnamed 1 id" 'left out: unnamed 1 \(id\)'
samples 40
{ echo a,a,y; cat bare; } > twice.csv
works twice.csv 'a number 0, a.1 number 0' \
    "warning: twice.csv: 1 column has the name of another: column 2 is now 'a.1'"
{ echo a,,y; cat bare; } > noname.csv
works noname.csv 'a number 0, unnamed 2 number 0' ''
{ printf '# made by hand\n# on a Monday\n'; cat plain.csv; } > comment.csv
works comment.csv "$XY" ''
samples 40

# ---- which columns
{ echo id,tmp_1,tmp_2,price,rooms,y
    rows 40 'print "k" i "," i % 7 "," i % 3 "," i % 11 "," i % 4 "," i % 2'; } > house.csv
ALL='The columns are id, tmp_1, tmp_2, price, rooms, y'
works house.csv 'tmp_1 number 0, tmp_2 number 0, price number 0, rooms number 0 | id id' \
    'left out: id \(id\)'
works house.csv 'price number 0, rooms number 0 | id id, tmp_1 ignored, tmp_2 ignored' '' \
    --ignore 'tmp_*'
works house.csv 'tmp_1 number 0, rooms number 0 | id ignored, tmp_2 ignored, price ignored' '' \
    --columns 'r*,2'
works house.csv 'tmp_1 number 0, tmp_2 number 0, rooms number 0, y number 0 | id id' \
    'label: price \(column 4\)' --label price
works house.csv 'tmp_1 number 0, tmp_2 number 0, price number 0, y number 0 | id id' \
    'label: rooms \(column 5\)' --label -2
works house.csv 'tmp_2 number 0, price number 0, rooms number 0, y number 0 | id id' \
    'label: tmp_1 \(column 2\)' --label 2
refused 2 ": no column is named 'pric', so it cannot be the label; did you mean 'price'\? $ALL$" \
    house.csv --label pric
refused 2 ": 'price,rooms' are several columns, and there is one label in a model: make a model for each, and keep the others out by --ignore$" \
    house.csv --label price,rooms
refused 2 ': the label cannot be column 7: there are 6 columns, the first is 1, the last -1$' \
    house.csv --label 7
refused 2 ": --ignore: no column is named 'roms'; did you mean 'rooms'\? $ALL$" house.csv --ignore roms
refused 2 ": --ignore: no column is named 'rom'; the columns are id" house.csv --ignore rom
refused 2 ": --ignore: no column is named 'x\*'; the columns are id" house.csv --ignore 'tmp_1,x*'
refused 2 ": --columns: no column is named 'prices'; did you mean 'price'" house.csv --columns prices
refused 2 ": column 'y' is the label, so it cannot be ignored \(name the label by --label\)$" \
    house.csv --ignore y
refused 2 ': no features: --columns and --ignore leave none$' house.csv --columns y
refused 1 ': no column is left to learn from: all are constant, ids or ignored \(--types may keep one\)$' \
    house.csv --columns id
{ echo 2019,2020,2021; cat bare; } > years.csv
works years.csv '2019 number 0, 2020 number 0' 'label: 2021 ' --label 2021
samples 40
works years.csv '2020 number 0 | 2019 ignored' 'label: 2021 ' --ignore 2019
refused 2 ': the label cannot be column 2022: there are 3 columns' years.csv --label 2022
{ echo 3,a,1; cat bare; } > swapped.csv
works swapped.csv '3 number 0, a number 0' 'label: 1 \(last column\)' --label 1 # the name, first

# ---- types that are asked for
works house.csv 'tmp_1 number 0, tmp_2 number 0, price category 0/11, rooms number 0 | id id' '' \
    --types price=category
works house.csv 'id number 40, tmp_1 number 0, tmp_2 number 0, price number 0, rooms number 0' \
    "warning: house.csv: column 'id': 40 cells are no number, such as 'k1'; taken as missing" \
    --types id=number
works house.csv 'id category 0/40, tmp_1 number 0, tmp_2 number 0, price number 0, rooms number 0' \
    '' --types id=category
fails_with 2 '^kerbin: --types price=word: must be a list like zip=category,code=number, of number' \
    train --types price=word house.csv
refused 2 ": --types: no column is named 'prize'; did you mean 'price'\? $ALL$" \
    house.csv --types prize=number
refused 1 ": column 'price' has 11 levels, and a boolean has two: call it a category$" \
    house.csv --types price=boolean
refused 2 ": --types: column 'y' is the label \(use --task\)$" house.csv --types y=category
{ echo zip,b,y; rows 40 'printf "%05d,%d,%d\n", i % 6 * 17, i % 5, i % 2'; } > zip.csv
works zip.csv 'zip category 0/6, b number 0' '' --types zip=category
works zip.csv 'zip number 0, b number 0' ''

# ---- numbers as people write them
{ echo 'a;b;y'; rows 40 'print i % 7 ",5;1.2" i % 10 "4,25;" i % 4 "," i % 3'; } > comma.csv
works comma.csv "$XY" 'regression'
{ echo a,b,y; rows 40 'print "\"1,23" i % 10 "\",\"" i % 5 "\",\"2,00" i % 3 "\""'; } > thousands.csv
works thousands.csv "$XY" ''
classes 2000,2001,2002
{ echo a,b,y; rows 40 'print i % 11 "%," i % 5 " %," i % 9 * 1.5 "%"'; } > percent.csv
works percent.csv "$XY" 'regression'
{ echo a,b,y; rows 40 'print "$" i % 11 ".50," i % 5 "," i % 2'; } > dollar.csv
works dollar.csv 'a category 0/11, b number 0' \
    "warning: .*'a': '\\\$1.50' and the like are no plain numbers, so it is a category \(write numbers"
{ echo a,y; rows 40 'print i % 7 ",$" i * 1.5'; } > price.csv
works price.csv 'a number 0' "warning: .*the label: '\\\$1.5' and the like are taken as classes"
{ echo a,y; rows 300 'print i % 7 ",$" i * 1.5'; } > price.csv
refused 1 ": column 'y', the label, has 300 different words such as '\\\$1.5' \(for regression" price.csv
{ echo a,b,y; rows 40 'print (i == 7 ? "inf" : i) "," i % 5 "," i % 2'; } > infinite.csv
refused 1 ": column 'a', row 7: 'inf' is infinite" infinite.csv
works infinite.csv 'a number 1, b number 0' "warning: .*1 cell is no number, such as 'inf'" \
    --types a=number
{ echo a,b,y; rows 40 'print i % 7 "," i % 5 "," (i == 7 ? "-inf" : i * 1.5)'; } > infinite.csv
refused 1 ": column 'y', row 7: '-inf' is infinite" infinite.csv
{ echo a,b,y; rows 40 'print (i == 7 ? "1e400" : i) "," i % 5 "," i % 2'; } > large.csv
refused 1 ": column 'a', row 7: '1e400' is too large for a double$" large.csv
{ echo a,b,y; rows 40 'print "90071992547409931234" i "," i % 5 "," i % 2'; } > digits.csv
works digits.csv "$XY" ''
sed 's/\([0-9]*\),\([0-9]*\),\([0-9]*\)/"\1","\2","\3"/' plain.csv > quoted.csv
works quoted.csv "$XY" ''
{ echo a,b,y; rows 60 'print (i % 30 ? i : "unknown") "," i % 5 "," i % 2'; } > doubt.csv
works doubt.csv 'b number 0 | a id' \
    "warning: .*'a': 2 of its 60 values are no numbers, such as 'unknown', so it is left out as an id"
{ echo a,b,y; rows 90 'print (i % 30 ? i % 40 : "unknown") "," i % 5 "," i % 2'; } > doubt.csv
works doubt.csv 'a category 0/41, b number 0' "warning: .*so it is a category \(--types makes it a number"

# ---- booleans and classes
{ echo a,b,c,y
    rows 40 'print (i % 3 ? "True" : "False") "," (i % 4 ? "yes" : "no") "," i % 5 "," \
        (i % 2 ? "TRUE" : "FALSE")'; } > truth.csv
works truth.csv 'a boolean 0/2, b boolean 0/2, c number 0' ''
classes FALSE,TRUE
cp predicted before
sed 's/True/TRUE/; s/False/false/' truth.csv > other_case.csv
predicts other_case.csv 40 'accuracy'
expect_same predicted before
{ echo a,b,y; rows 300 'print i "," i % 5 ",name" i % 60'; } > names.csv
works names.csv "$XY" 'classification \(60 different'
{ echo a,b,y; rows 300 'print i "," i % 5 ",name" i'; } > names.csv
refused 1 ": column 'y', the label, has 300 different words in fewer than twice as many rows: it does not" \
    names.csv
{ echo a,b,y; rows 40 'print i % 7 "," i % 5 "," (i % 3 ? "1" : i % 2 ? "1.0" : "none at all")'; } > mixed.csv
works mixed.csv "$XY" ''
classes 1,noneatall
{ echo k,b,y; rows 120000 'print "w" i % 100000 "," i % 5 "," i % 2'; } > levels.csv
light || works levels.csv 'k category 0/100000, b number 0' ''

# ---- bytes and lines
{ printf '\xef\xbb\xbf'; cat words.csv; } > bom.csv
works bom.csv "$UV" ''
python3 - << 'END'
text = open("words.csv", encoding="utf-8").read()
open("le.csv", "wb").write(b"\xff\xfe" + text.encode("utf-16-le"))
open("be.csv", "wb").write(b"\xfe\xff" + text.encode("utf-16-be"))
open("unmarked.csv", "wb").write(text.encode("utf-16-le"))
END
for file in le.csv be.csv unmarked.csv; do
    works $file "$UV" "$file: UTF-16 text, read as UTF-8"
    samples 40
done
sed 's/^u/\xfc/; s/red/gr\xfcn/' words.csv > latin.csv
works latin.csv 'ü boolean 0/2, v boolean 0/2' \
    'warning: latin.csv: not all of it is UTF-8; other bytes, the first on line 1, are read as Windows'
tr '\n' '\r' < words.csv > cr.csv
sed 's/$/\r/' words.csv > crlf.csv
awk '{ printf "%s%s", $0, NR % 3 == 0 ? "\n" : NR % 3 == 1 ? "\r\n" : "\r" }' words.csv > ends.csv
sed 's/red/"re\nd"/' words.csv > within.csv
sed 's/,/ , /g; s/^/ /; s/$/ /' words.csv > blanks.csv
for file in cr.csv crlf.csv ends.csv within.csv blanks.csv; do
    works $file "$UV" 'label: w '
    samples 40
    classes no,yes
done
printf 'a,b,y\n1,2,3\n2,"x,4\n5,6,7\n' > unclosed.csv
refused 1 ':3: a quote opens a field and is not closed before the file ends$' unclosed.csv
sed 's/red/12" pipe/' words.csv > inches.csv
works inches.csv "$UV" ''
printf 'a,b,y\n1,"12" pipe,3\n2,x,4\n' > stray.csv
refused 1 ":2: column 'b': a quote is not closed where the field ends \(in quotes, write \"\" for one\)$" \
    stray.csv
printf 'a,b,y\n1,2,3\n2,4\n' > short.csv
refused 1 ":3: fewer fields than the 3 of line 1 \(a field with ',' in it needs quotes\)$" short.csv
printf 'a\tb\ty\n1\t2\t3\n2\t4\t5\t6\n' > long.tsv
refused 1 ':3: more fields than the 3 of line 1 \(a field with a tab in it needs quotes\)$' long.tsv
{ echo a,b,y; sed 's/$/,/' bare; } > rows_end.csv
{ echo a,b,y,,; cat bare; } > header_ends.csv
sed 's/$/,/' plain.csv > both_end.csv
gzip -c plain.csv > packed.csv.gz
tr , '\t' < plain.csv > tabs.tsv
tr , '|' < plain.csv > bars.txt
for file in rows_end.csv header_ends.csv both_end.csv packed.csv.gz tabs.tsv bars.txt; do
    works $file "$XY" 'label: y \(last column\)'
    samples 40
done
tr , ' ' < plain.csv > spaces.csv
refused 1 ': no features: the label is the only column \(columns stand between commas, semicolons, tabs' \
    spaces.csv
printf 'a,b\0,y\n1,2,3\n' > zero.csv
refused 1 ':1: a zero byte: this is not plain text$' zero.csv
printf 'x\ty\n\x89\x01\tz\n\r\x1a\0\0\1' > junk.bin
refused 1 ':[0-9]+: a zero byte: this is not plain text$' junk.bin
python3 -c 'import zipfile; zipfile.ZipFile("book.xlsx", "w").writestr("xl/workbook.xml", "<a/>")'
refused 1 ': a zip file without an array X .*, and save spreadsheets as CSV$' book.xlsx
printf 'PAR1\25\0PAR1' > table.parquet
refused 1 ': a Parquet file is not read; make it CSV: python3 -c ' table.parquet

# ---- dates
rows 40 'printf "2020-%02d-%02d,%d,%d\n", i % 12 + 1, i % 28 + 1, i % 5, i % 2' > days
{ echo d,b,y; cat days; } > iso.csv
{ echo d,b,y; sed 's/\(....\)-\(..\)-\(..\)/\2\/\3\/\1/' days; } > us.csv
{ echo d,b,y; sed 's/\(....\)-\(..\)-\(..\)/\3.\2.\1/' days; } > german.csv
{ echo d,b,y; sed 's/,/T12:30:00Z,/' days; } > times.csv
works iso.csv 'd date 0, b number 0' '1 number, 1 date'
cp predicted before
for file in us.csv german.csv times.csv; do
    works $file 'd date 0, b number 0' ''
    [ $file = times.csv ] || expect_same predicted before
done
{ echo d,b,y; sed 's/\(....\)-\(..\)-\(..\)/\3\/\2\/\1/' days; } > british.csv
works british.csv 'b number 0 | d id' \
    'warning: .*have the day before the month, so it is left out as an id \(write dates as YYYY-MM-DD\)'
{ echo d,b,y; rows 40 'print (i % 4 ? "2020-01-0" i % 9 + 1 : "never") "," i % 5 "," i % 2'; } > never.csv
works never.csv 'd category 0/10, b number 0' ''
works never.csv 'd date 10, b number 0' \
    "warning: never.csv: column 'd': 10 cells are no date, such as 'never'; taken as missing" \
    --types d=date
printf 'd,b\nsoon,1\n20200101,2\n2020-01-02,\n' > soon.csv
predicts soon.csv 3 "warning: soon.csv: column 'd': 2 cells are no date, such as 'soon'; taken as"

# ---- what is not there
{ echo c,b,y; rows 40 'print "5," i % 5 "," i % 2'; } > constant.csv
works constant.csv 'b number 0 | c constant' 'left out: c \(constant\)'
{ echo c,b,y; rows 40 'print "5,x," i % 2'; } > constant.csv
refused 1 ': no column is left to learn from: all are constant, ids or ignored \(--types' constant.csv
{ echo a,b,y; rows 40 'print i % 7 "," i % 5 ","'; } > unlabelled.csv
refused 1 ": no row has a label: column 'y' is empty \(use --label\)$" unlabelled.csv
{ echo a,b,y; rows 40 'print i % 7 "," i % 5 "," (i % 4 ? i % 2 : "NA")'; } > some.csv
works some.csv "$XY" 'warning: some.csv: 10 rows without a label are left out'
samples 30
{ echo a,b,y; rows 40 'print i % 4 ? i % 7 "," i % 5 "," i % 2 : ",?," i % 2'; } > holes.csv
works holes.csv 'a number 10, b number 10' '2 with missing values'
samples 40
{ echo a,b,y; rows 40 'print "," i % 5 "," i % 2'; } > void.csv
works void.csv 'b number 0 | a constant' 'left out: a \(constant\)'
predicts plain.csv 40 'accuracy'
printf 'a,b,y\n1,2,3\n' > row.csv
fails_with 1 '^kerbin: all 1 labels are the same: classification needs two classes or more$' \
    train -q row.csv
printf 'y\n1\n2\n' > column.csv
refused 1 ': no features: the label is the only column' column.csv
printf 'a,b,y\n' > header.csv
refused 1 ': no samples: the header is all there is$' header.csv
: > empty.csv
refused 1 ': the file is empty$' empty.csv
printf '\n  \n\n' > blank.csv
refused 1 ': no samples$' blank.csv
printf '1 1:2 2:nan\n0 1:1 2:3\n1 1:NA 2:4\n0 1:5 2:2\n' > nan.libsvm
works nan.libsvm '1 number 1, 2 number 1' '2 numbers; 2 with missing values'

# ---- prediction
rows 40 'print (i % 3 ? "u" : "v" i % 2) "," i % 5 "," i % 2' > levels
{ echo a,b,y; cat levels; } > train.csv
works train.csv 'a category 0/3, b number 0' ''
cp predicted before
{ echo y,more,b,a; awk -F, '{ print $3 ",1," $2 "," $1 }' levels; } > order.csv
predicts order.csv 40 "warning: order.csv: 1 column unknown to the model is ignored \(column 'more'\)"
expect_same predicted before
cut -d, -f1,2 train.csv > unlabelled.csv
predicts unlabelled.csv 40 '40 rows predicted; without labels there is no score'
expect_same predicted before
for columns in 1,2,3 1,2; do
    cut -d, -f$columns levels > headless.csv
    predicts headless.csv 40 'accuracy|40 rows predicted'
    expect_same predicted before
done
printf 'a,b\nu,1\nw,2\nzz,3\n,2\nw,x\n,\n' > odd.csv
predicts odd.csv 6 "warning: odd.csv: column 'a': 3 cells of a level that the training rows did not"
expect_stderr "warning: odd.csv: column 'b': 1 cell is no number, such as 'x'; taken as missing"
printf 'extra,q\n1,1\n' > lacks.csv
fails_with 1 "^kerbin: lacks.csv:1: 2 features of the model are missing: no column is named 'a', 'b'; the" \
    predict -q model.kerbin lacks.csv
printf 'u,1,2,3\nu,1,2,3\n' > wide.csv
fails_with 1 '^kerbin: wide.csv:1: 4 columns, but the model has 2 features \(and there may be one label\)$' \
    predict -q model.kerbin wide.csv
end
