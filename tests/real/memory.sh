#!/bin/bash
# Training takes little more than the bin numbers, and as much as it said it would.  The
# bar is that of two threads; while it bins, each further one takes some 100 bytes a row.
. "$(dirname "$0")/lib.sh"
find_data ijcnn1.train
grids=1024
light && grids=32
options=(--scale none --sigma 0.75 --lambda 1 "$ijcnn1_train")

# What the program and the data take by themselves.
run train -q --json -o m.kerbin --grids 1 --max-iter 1 --tol 1 "${options[@]}"
expect_status 0
base=$(json peak_memory_bytes)

run train --json -o m.kerbin --threads 2 --grids $grids "${options[@]}"
expect_status 0
expect_stderr '^kerbin: memory: .* forecast, .* of it for the bin numbers'
peak=$(json peak_memory_bytes)
ids=$(json id_bytes)
forecast=$(json forecast_bytes)
echo "R = $grids: peak $peak, before $base, bin numbers $ids, forecast $forecast bytes"
expect_at_least "bytes of the bin numbers" "$ids" $((35000 * grids))
if light; then
    echo "not checked: the peak, which includes the sanitizers"
else
    expect_at_most "peak over the bin numbers" "$(awk "BEGIN { print $peak / $ids }")" 2.5
    ratio=$(awk "BEGIN { print ($peak - $base) / $forecast }")
    expect_at_least "taken over forecast" "$ratio" 0.67
    expect_at_most "taken over forecast" "$ratio" 1.5
    run train -q --json -o m.kerbin --threads 8 --grids $grids "${options[@]}"
    expect_status 0
    expect_at_most "peak over the bin numbers, 8 threads" \
        "$(awk "BEGIN { print $(json peak_memory_bytes) / $ids }")" 3
fi

# What does not fit is refused before it is taken.
fails_with 1 '^kerbin: .*--max-memory' train -q -o no.kerbin --max-memory 20M --grids 1024 \
    "${options[@]}"
expect_no_file no.kerbin
end
