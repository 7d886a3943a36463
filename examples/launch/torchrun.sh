#!/bin/sh
# Processes of torchrun: `torchrun.sh 4 GRAPH spmd.yaml`.  On several machines, add --nnodes and
# --rdzv-endpoint, on each.  A program of Python with tundish.feed is started by `torchrun train.py`.
count=$1
shift
exec torchrun --no-python --nproc-per-node "$count" tundish run "$@"
