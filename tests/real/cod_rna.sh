#!/bin/bash
# cod-rna: features of very different ranges.  The paper has 96.60 % at R = 128.
. "$(dirname "$0")/lib.sh"
find_data cod-rna.train cod-rna.test
grids=128
bar=0.965
if light; then
    grids=32
    bar=0.95
fi
accuracy=$(measure accuracy m.kerbin "$cod_rna_train" "$cod_rna_test" \
    --scale minmax --sigma 0.25 --lambda 1 --grids $grids)
echo "R = $grids: accuracy $accuracy"
expect_at_least accuracy "$accuracy" $bar
end
