# pages.sh PROGRAM DIR - writes what `make install` puts beside the program: DIR/man, DIR/bash, DIR/zsh and
# DIR/fish.
set -eu
program=$1
cd "$2"
rm -rf man bash zsh fish complete
mkdir man bash zsh fish
"$program" help --man > man/kerbin.1
for command in $("$program" help | sed -n 's/^  kerbin \([a-z]*\) .*/\1/p'); do
    "$program" help --man "$command" > "man/kerbin-$command.1"
done
"$program" help --completion bash > bash/kerbin
"$program" help --completion zsh > zsh/_kerbin
"$program" help --completion fish > fish/kerbin.fish
touch complete
