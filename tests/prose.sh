#!/bin/sh
# Fails on phrases that the project's plain English avoids, in every tracked text file.
#
#   tests/prose.sh ROOT           checks everything
#   tests/prose.sh ROOT FOLDER    checks one folder
#
# Lines that contain a line of prose_allowed.txt are quotations.  The licence, expected values,
# generated files and inputs of tests are not prose.  Exits with 77 without git.
set -u
cd "${1:-.}" || exit 2
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 77

words='behind|somebody|nobody|anybody|someone|anyone|whoever|whom|stands?|lies'
phrases="\\b($words)\\b|\\bis no \\b|goes on (from|with)|at the begin\\b"

files() {
    if [ $# -gt 0 ]; then
        git ls-files -z -- "$@"
        return
    fi
    set -- . ':!LICENSE' ':!examples/topology.schema.json' ':!tests/fuzz/corpus' ':!tests/prose*' \
        ':!tests/oracle/*.txt'
    git ls-files -z -- "$@"
}

shift
found=$(files "$@" | xargs -0 grep -nIiE "$phrases" /dev/null |
    grep -vFf tests/prose_allowed.txt)
[ -z "$found" ] && exit 0
echo "$found"
echo "$(echo "$found" | wc -l) lines: name the subject, and use the usual verb (after, nothing, is not a)"
exit 1
