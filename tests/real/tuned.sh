#!/bin/bash
# Tuning on real data: better than the plain values, on rows that it has not seen.
. "$(dirname "$0")/lib.sh"
TUNE=on
find_data cpusmall.libsvm covtype20k.libsvm
rows=4000
light && rows=800
split $rows "$cpusmall_libsvm" train.libsvm test.libsvm
split $rows "$covtype20k_libsvm" woods.libsvm rest.libsvm

tuned=$(measure rmse tuned.kerbin train.libsvm test.libsvm)
plain=$(measure rmse plain.kerbin train.libsvm test.libsvm --tune off)
echo "cpusmall: rmse $tuned tuned, $plain plain"
expect_at_most "tuned rmse" "$tuned" "$plain"
light || expect_at_most "tuned rmse" "$tuned" 3

tuned=$(measure accuracy tuned.kerbin woods.libsvm rest.libsvm)
plain=$(measure accuracy plain.kerbin woods.libsvm rest.libsvm --tune off)
echo "covtype20k: accuracy $tuned tuned, $plain plain"
expect_at_least "tuned accuracy" "$tuned" "$plain"
end
