#!/bin/bash
# The model file is the same, byte for byte, for 1, 2 and 5 threads.
. "$(dirname "$0")/lib.sh"
find_data ijcnn1.train letter.tr
grids=128
light && grids=16

same() {
    local name=$1
    shift
    for threads in 1 2 5; do
        run train -q --threads $threads --grids $grids -o "$name.$threads" "$@"
        expect_status 0
    done
    expect_same "$name.1" "$name.2"
    expect_same "$name.1" "$name.5"
    echo "$name: $(cksum < "$name.1")"
}
same ijcnn1 --scale none --sigma 0.75 --lambda 1 "$ijcnn1_train"
same letter --scale none --sigma 1 --lambda 0.01 "$letter_tr"
end
