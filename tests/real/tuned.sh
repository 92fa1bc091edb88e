#!/bin/bash
# Tuning on real data: better than the plain values, on rows that it has not seen.
. "$(dirname "$0")/lib.sh"
find_data cpusmall.libsvm pendigits.train pendigits.test
rows=4000 digits=3000
light && rows=800 digits=600
split $rows "$cpusmall_libsvm" train.libsvm test.libsvm
split $digits "$pendigits_train" digits.libsvm rest.libsvm

tuned=$(measure rmse tuned.kerbin train.libsvm test.libsvm)
plain=$(measure rmse plain.kerbin train.libsvm test.libsvm --tune off)
echo "cpusmall: rmse $tuned tuned, $plain plain"
expect_at_most "tuned rmse" "$tuned" "$plain"
light || expect_at_most "tuned rmse" "$tuned" 3

tuned=$(measure accuracy tuned.kerbin digits.libsvm "$pendigits_test")
plain=$(measure accuracy plain.kerbin digits.libsvm "$pendigits_test" --tune off)
echo "pendigits: accuracy $tuned tuned, $plain plain"
expect_at_least "tuned accuracy" "$tuned" "$plain"
end
