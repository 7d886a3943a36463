#!/bin/sh
# Processes of Open MPI or MPICH: `mpirun.sh 4 GRAPH spmd.yaml`.  On several machines (--host a,b) they
# find one another by a folder that the machines share, MEET=/shared mpirun.sh 4 GRAPH spmd.yaml, or are
# told the first one: LEADER=a mpirun.sh 4 GRAPH spmd.yaml.
count=$1
shift
exec ${MPIRUN:-mpirun} -n "$count" tundish run "$@" ${LEADER:+--leader "$LEADER"} ${MEET:+--meet "$MEET"}
