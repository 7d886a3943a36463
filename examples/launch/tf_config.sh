#!/bin/sh
# One process of a cluster of TensorFlow: `tf_config.sh 1 "a:2222 b:2222" GRAPH spmd.yaml` on b.  The
# first worker leads; its port must be free.
index=$1
workers=
for worker in $2; do
    workers="$workers${workers:+, }\"$worker\""
done
shift 2
TF_CONFIG="{\"cluster\": {\"worker\": [$workers]}, \"task\": {\"type\": \"worker\", \"index\": $index}}" \
    exec tundish run "$@"
