#!/bin/bash
# Help, manual page and option reference come from the tables and agree.
. "$(dirname "$0")/lib.sh"

run --version
expect_status 0
expect_stdout '^kerbin [0-9]+\.[0-9]+\.[0-9]+$'
run
expect_status 2
expect_no_stdout
expect_stderr '^Usage: kerbin COMMAND'
for words in help --help -h; do
    run "$words"
    expect_status 0
    expect_stdout 'kerbin train +DATA +fit and save a model'
    expect_no_stderr
done

run help
names=$(sed -n 's/^  kerbin \([a-z]*\) .*/\1/p' stdout)
[ "$(echo $names | wc -w)" -ge 14 ] || fail "the list of commands is not understood"
awk 'length > 80' stdout | grep -q . && fail "a line of help is wider than 80"
for name in $names; do
    run help "$name"
    expect_status 0
    expect_no_stderr
    expect_stdout "^Usage: kerbin $name "
    expect_stdout '^Example:$'
    awk 'length > 80' stdout | grep -q . && fail "a line of help is wider than 80"
    grep -q ' $' stdout && fail "a line of help ends in a blank"
    mv stdout "$name.help"
    for form in --help -h; do
        run "$name" $form
        expect_status 0
        expect_same stdout "$name.help"
    done
done
fails_with 2 "^kerbin: unknown command 'nonsense'" help nonsense

# Train begins with the ten options that most people need.
sed -n '/^Most used:$/,/^$/p' train.help > usual
[ "$(grep -c '^  -' usual)" = 10 ] || fail "not ten options at the top of help train"
for option in --label --ignore --weights --split --task --budget --model; do
    grep -q -- "^  \(-[a-z], \)*$option " usual || fail "$option is not among the most used ones"
    [ "$(grep -c -- "^  \(-[a-z], \)*$option " train.help)" = 1 ] || fail "$option is there twice"
done

# The stopping rule is stated.
tr -s ' \n' ' ' < train.help | grep -qF "|Z'(y - f) - lambda w| <= tol * |Z'y|" ||
    fail "help train does not state the stopping rule"

# Every option in a command's help is in the reference and the manual page.
run help --markdown
expect_status 0
expect_same stdout "$TESTS/../../docs/options.md"
mv stdout options.md
run help --man
expect_status 0
expect_stdout '^\.TH KERBIN 1'
sed 's/\\-/-/g' stdout > manual
for option in $(cat ./*.help | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u); do
    [ "$option" = --help ] && continue
    grep -qF -- "\`$option" options.md || fail "$option is not in docs/options.md"
    grep -qF -- "$option" manual || fail "$option is not in the manual page"
done
# Every command has a page of its own, with each option of its help.
for name in $names; do
    run help --man "$name"
    expect_status 0
    sed 's/\\-/-/g' stdout > page
    for option in $(grep -oE '^  (-[a-z], )?--[a-z-]+' "$name.help" | grep -oE -- '--[a-z-]+'); do
        grep -qF -- "$option" page || fail "$option is not in the page of $name"
    done
    if command -v groff > /dev/null; then
        groff -man -Tascii -ww stdout 2> stderr > /dev/null
        expect_no_stderr
    fi
done
fails_with 2 "^kerbin: unknown command 'nonsense'" help --man nonsense

# Completion: bash itself is asked, for words in several places.
run help --completion bash
expect_status 0
cat > ask << 'END'
# ask WORD.. - what bash offers for the last word
. ./completion
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_kerbin
echo "${COMPREPLY[*]}"
END
mv stdout completion
offers() {
    local wanted=$1 got
    shift
    got=$(bash ask "$@")
    [ "$got" = "$wanted" ] || fail "completion of '$*' offers '$got', not '$wanted'"
}
offers "train" kerbin tr
offers "--lambda --lambda-path" kerbin train --lambda
offers "logistic" kerbin train --loss logi
offers "bash" kerbin help --completion b
offers "predict" kerbin help pred
offers "checkers" kerbin generate che
offers "" kerbin predict --lam
: > rows.csv
offers "rows.csv" kerbin train ro
: > "two words.csv"
offers "two words.csv" kerbin train --valid two
offers "logistic" kerbin train --loss = logi
for name in $names; do
    for option in $(grep -oE '^  (-[a-z], )?--[a-z-]+' "$name.help" | grep -oE -- '--[a-z-]+'); do
        case " $(bash ask kerbin "$name" "$option") " in
        *" $option "*) ;;
        *) fail "$option of $name is not completed" ;;
        esac
    done
done
run help --completion zsh
expect_status 0
expect_stdout '^#compdef kerbin$'
run help --completion fish
expect_status 0
expect_stdout "^complete -c kerbin -n '__kerbin_command_is predict' -l output -x -a 'label decision "
if command -v fish > /dev/null; then
    mv stdout completion.fish
    got=$(HOME=$PWD fish -N -c 'source completion.fish; complete -C "kerbin train --loss=logi"' | cut -f 1)
    [ "$got" = --loss=logistic ] || fail "fish offers '$got'"
    got=$(HOME=$PWD fish -N -c 'source completion.fish; complete -C "kerbin train predict --outp"' | cut -f 1)
    [ -z "$got" ] || fail "fish offers '$got', an option of another command"
fi
for shell in zsh fish; do
    command -v $shell > /dev/null || continue
    run help --completion $shell
    $shell -n stdout 2> stderr || fail "$shell does not read its completion"
done
if command -v zsh > /dev/null; then
    run help --completion zsh
    got=$(zsh -f -c 'autoload -U compinit; compinit -u -D; eval "$(cat stdout)"; echo $_comps[kerbin]' 2>&1)
    [ "$got" = _kerbin ] || fail "zsh says '$got' when it evaluates its completion"
fi
fails_with 2 "completion tcsh: must be one of bash, zsh, fish" help --completion tcsh

run help --man
if command -v groff > /dev/null; then
    groff -man -Tascii -ww stdout 2> stderr > /dev/null
    expect_no_stderr
fi
end
