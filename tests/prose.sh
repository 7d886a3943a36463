#!/bin/sh
# Fails on phrases that the project's plain English avoids, in every tracked text file.
#
#   tests/prose.sh ROOT           checks everything but the folders in `later` below
#   tests/prose.sh ROOT FOLDER    checks one folder, also one of `later`
#
# Lines that contain a line of prose_allowed.txt are quotations.  The licence, expected values,
# generated files and inputs of tests are not prose.  Exits with 77 without git.
set -u
cd "${1:-.}" || exit 2
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 77

words='behind|somebody|nobody|anybody|someone|anyone|whoever|whom|stands?|lies'
phrases="\\b($words)\\b|\\bis no \\b|goes on (from|with)|at the begin\\b"
# Folders whose texts are not rewritten yet, and tests that quote their messages.
later='actors transport runtime tests/actors tests/conformance tests/mutants tests/runtime tests/sim
    tests/support tests/topology tests/transport tests/stress* tests/e2e/resume.py
    tests/tools/ps.py tests/tools/readme.py tests/tools/validate.py'

files() {
    if [ $# -gt 0 ]; then
        git ls-files -z -- "$@"
        return
    fi
    set -- . ':!LICENSE' ':!examples/topology.schema.json' ':!tests/fuzz/corpus' ':!tests/prose*' \
        ':!tests/oracle/*.txt'
    for folder in $later; do set -- "$@" ":!$folder"; done
    git ls-files -z -- "$@"
    git ls-files -z -- runtime/tundish
}

shift
found=$(files "$@" | xargs -0 grep -nIiE "$phrases" /dev/null |
    grep -vFf tests/prose_allowed.txt)
[ -z "$found" ] && exit 0
echo "$found"
echo "$(echo "$found" | wc -l) lines: name the subject, and use the usual verb (after, nothing, is not a)"
exit 1
