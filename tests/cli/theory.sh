#!/bin/bash
# What train and inspect tell of the paper's theorems, against Z itself.
. "$(dirname "$0")/lib.sh"
make_data
run train --json -q --grids 20 --sigma 0.2 --threads 4 -o m.kerbin train.libsvm
expect_status 0
cp stdout train.json
run features -q --from m.kerbin -o z.libsvm train.libsvm
expect_status 0

# by_hand THREADS - D, D/R, kappa, 1/(kappa R) and the predicted speed-up, from the columns of Z.
# A column belongs to the grid at its place in the row.
by_hand() {
    awk -v t="$1" '
        { for (r = 2; r <= NF; r++) { split($r, e, ":"); if (!count[r, e[1]]++) D++
              if (count[r, e[1]] > most[r]) most[r] = count[r, e[1]] } R = NF - 1 }
        END { for (r in most) kappa += NR / most[r] / R
              printf "%d %.12g %.12g %.12g %.12g\n", D, D / R, kappa, 1 / (kappa * R),
                  t / (1 + (R - 1) * (t - 1) / (D - 1)) }' z.libsvm
}
# told FILE - the same, from a JSON object.
told() {
    [ "$1" -ef stdout ] || cp "$1" stdout
    echo "$(json bins) $(json kappa_bar) $(json kappa) $(json rate) $(json predicted_speedup)"
}
expect_close() {
    echo "$1 $2" | awk '{ for (i = 1; i <= 5; i++) if (($i / $(i + 5) - 1) ^ 2 > 1e-18) exit 1
        exit NF != 10 }' || fail "told $1 but Z has $2"
}
expect_close "$(told train.json)" "$(by_hand 4)"
run inspect --json --threads 7 m.kerbin
expect_status 0
cp stdout inspect.json
expect_close "$(told inspect.json)" "$(by_hand 7)"
[ "$(json threads)" = 7 ] || fail "threads: $(json threads)"

# In words; without --threads it is what the machine offers.
run inspect m.kerbin
expect_status 0
speedup='predicted speed-up of [0-9]+ threads? [0-9.]+'
expect_stdout "^theory    kappa-bar = D/R = [0-9.]+; rate 1/\(kappa R\) = [0-9.e-]+; $speedup\$"
# A model that has dropped bins tells of all that it was fitted with.
run train --json -q --penalty l1 --lambda 5 --grids 20 --sigma 0.2 --threads 4 -o s.kerbin train.libsvm
expect_status 0
expect_close "$(told stdout)" "$(by_hand 4)"
run inspect --json --threads 4 s.kerbin
expect_close "$(told stdout)" "$(by_hand 4)"
# The rivals have no bins.
run train --json -q --map fourier --grids 20 --sigma 0.2 -o f.kerbin train.libsvm
expect_status 0
[ -z "$(json kappa_bar)" ] || fail "kappa-bar of Fourier features"
run inspect f.kerbin
! grep -q theory stdout || fail "theory of Fourier features"
end
