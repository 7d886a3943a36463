#!/bin/sh
# Fails on phrases that the project's plain English avoids, in every tracked text file.
#
#   tests/prose.sh ROOT           checks every folder but those in `later` below
#   tests/prose.sh ROOT FOLDER    checks one folder, also one of `later`
#
# The phrases of prose_allowed.txt are quotations.  Licences, expected values, generated files and
# inputs of tests are not prose.  Exits with 77 if git does not know this tree.
set -u
cd "${1:-.}" || exit 2
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 77

words='behind|somebody|nobody|anybody|someone|anyone|whoever|whom|stands?|lies'
phrases="\\b($words)\\b|\\bis no \\b|goes on (from|with)|at the begin\\b"
data='^LICENSE$|^examples/topology\.schema\.json$|^tests/(fuzz/corpus|oracle/.*\.txt$|prose)'
# Folders whose texts are not rewritten yet.
later='^(actors|runtime|transport|tools|examples|tests)/'

found=$(git ls-files ${2:+"$2"} | grep -vE "$data" |
    if [ $# -gt 1 ]; then cat; else grep -vE "$later"; fi |
    xargs -d '\n' grep -nIiE "$phrases" /dev/null |
    grep -vFf tests/prose_allowed.txt)
[ -z "$found" ] && exit 0
echo "$found"
echo "$(echo "$found" | wc -l) lines: name the subject and use the usual verb (after, nothing, is located, is not a)"
exit 1
