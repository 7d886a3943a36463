#!/bin/sh
# Processes of torchrun: `torchrun.sh 4 GRAPH spmd.yaml`.  On several machines, add --nnodes and
# --rdzv_endpoint, on each.  All versions take names with `_`, and newer ones also with `-`.  A program
# of Python with tundish.feed is started by `torchrun train.py`.
count=$1
shift
exec torchrun --no_python --nproc_per_node "$count" tundish run "$@"
