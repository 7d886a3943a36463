#!/bin/sh
# Every C file is formatted by clang-format 14; other versions format differently.
# Exits with 77 without clang-format 14.  Usage: format.sh ROOT
set -u
cd "${1:-.}" || exit 2
for program in clang-format-14 clang-format none; do
    "$program" --version 2>/dev/null | grep -q 'version 14\.' && break
done
if [ "$program" = none ]; then
    echo "clang-format 14 is not installed: not checked"
    exit 77
fi
bad=$(find actors examples runtime tests tools transport -name '*.[ch]' -exec \
    "$program" --dry-run {} + 2>&1 | grep -o '^[^ :]*\.[ch]:[0-9]*' | sort -u)
[ -z "$bad" ] && exit 0
echo "not formatted; run: $program -i FILE"
echo "$bad"
exit 1
