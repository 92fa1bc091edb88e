#!/bin/bash
# cadata: regression with an intercept.  The paper has a relative error of 0.2427 at R = 512.
. "$(dirname "$0")/lib.sh"
find_data cadata.libsvm
split 16512 "$cadata_libsvm" train.libsvm test.libsvm
[ "$(wc -l < test.libsvm)" -eq 4128 ] || fail "not 4128 rows to test with"
grids=512
bar=0.22
if light; then
    grids=64
    bar=0.26
fi
error=$(measure relative_error m.kerbin train.libsvm test.libsvm \
    --scale minmax --sigma 0.5 --lambda 0.3 --grids $grids)
echo "R = $grids: relative error $error"
expect_at_most "relative error" "$error" $bar
run inspect m.kerbin
expect_stdout '^task +regression$'
expect_stdout 'intercept on$'
end
