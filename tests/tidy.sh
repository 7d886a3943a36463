#!/bin/sh
# Every C file outside tests passes a short list of checks of clang-tidy 14.  They look for mistakes that
# the compiler does not report; none is about style, which is clang-format's.
# Exits with 77 without clang-tidy 14.  Usage: tidy.sh ROOT BUILD [FILE...]
set -u
cd "${1:-.}" || exit 2
build=${2:-build}
[ $# -gt 2 ] && shift 2 || set --
for program in clang-tidy-14 clang-tidy none; do
    "$program" --version 2>/dev/null | grep -q 'version 14\.' && break
done
if [ "$program" = none ]; then
    echo "clang-tidy 14 is not installed: not checked"
    exit 77
fi
checks='-*,bugprone-*,misc-redundant-expression,misc-definitions-in-headers,readability-misleading-indentation'
checks="$checks,readability-duplicate-include,readability-redundant-control-flow,readability-redundant-declaration"
# What these report here is meant: pointers in arrays, texts that are not strings, arguments of one type in a row.
for meant in branch-clone easily-swappable-parameters implicit-widening-of-multiplication-result \
    incorrect-roundings macro-parentheses misplaced-widening-cast narrowing-conversions \
    not-null-terminated-result reserved-identifier sizeof-expression suspicious-memory-comparison; do
    checks="$checks,-bugprone-$meant"
done
# The commands of the build, without options that clang does not know.
commands=$(mktemp -d) || exit 2
trap 'rm -rf "$commands"' EXIT
sed 's/ -mmemset-strategy=[^ ]*//; s/ -Wno-format-truncation//; s/ -Werror//' "$build/compile_commands.json" \
    >"$commands/compile_commands.json" || exit 2
[ $# -eq 0 ] && set -- $(find actors examples runtime tools transport -name '*.c')
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 40 "$program" --quiet -p "$commands" --checks="$checks" \
    --warnings-as-errors='*' 2>"$commands/errors" || {
    grep -v 'warnings\{0,1\} generated' "$commands/errors"
    exit 1
}
