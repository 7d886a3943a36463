#!/bin/sh
# Every C file is as clang-format 14 writes it by .clang-format; other versions differ in opinion.
# Exits with 77 where there is no clang-format 14.  Usage: format.sh ROOT
set -u
cd "${1:-.}" || exit 2
for program in clang-format-14 clang-format none; do
    "$program" --version 2>/dev/null | grep -q 'version 14\.' && break
done
if [ "$program" = none ]; then
    echo "no clang-format 14 here: not checked"
    exit 77
fi
bad=$(find actors examples runtime tests tools transport -name '*.[ch]' -exec \
    "$program" --dry-run {} + 2>&1 | grep -o '^[^ :]*\.[ch]:[0-9]*' | sort -u)
[ -z "$bad" ] && exit 0
echo "not as .clang-format says; try: $program -i FILE"
echo "$bad"
exit 1
