#!/bin/sh
# The kernels as clang compiles them: PTX 6.3 for sm_75, which rounds once and keeps denormals, and which ptxas,
# where it is installed, assembles for sm_75, 80 and 90 without spills.
#
#   cuda_ptx.sh SOURCE PTXAS COMMAND...     the command lacks `-o OUT SOURCE`
#
# Exit codes: 0 all of that is so; 1 it is not; 77 the command cannot compile any kernel.
set -eu
source=$1 ptxas=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'extern "C" __attribute__((global)) void trial(int *out) { *out = 1; }' >"$work/trial.cu"
"$@" -o "$work/ptx" "$work/trial.cu" || {
    echo "skipped: $1 does not compile kernels"
    exit 77
}
"$@" -o "$work/ptx" "$source"

# expect COUNT PATTERN: how many lines have the pattern.
expect() {
    found=$(grep -cE -- "$2" "$work/ptx" || :)
    [ "$found" = "$1" ] || {
        echo "$found lines have '$2', $1 should"
        exit 1
    }
}
expect 1 '^\.version 6\.3$'
expect 1 '^\.target sm_75$'
expect 12 '^\.visible \.entry tnd_cast_(u8|i16|u16|f32)_(f32|f16|bf16)\($'
expect 6 '^\.visible \.entry tnd_reduce_(f16|bf16|f32|f64|i32|i64)\($'
expect 0 '\.ftz|\.approx|\.local|\.func|call'
# Without `.rn`, ptxas may fuse a multiplication and an addition.
expect 0 '(mul|add|sub|div|mad)\.f(32|64)'
[ -x "$ptxas" ] || exit 0
for arch in 75 80 90; do
    "$ptxas" -arch=sm_$arch --warn-on-spills --warn-on-local-memory-usage --warning-as-error -o "$work/cubin" "$work/ptx"
done
