#!/bin/sh
# Runs simulated clusters: SEEDS `new` ones, another range for each DRAW; `kept`, those that once
# failed; `plants`, every known bug, each of which must be found.
# Usage: run.sh SIMULATE new SEEDS DRAW, or run.sh SIMULATE kept|plants
set -u
simulate=$1
case $2 in
new)
    from=$(($4 * 10000))
    echo "seeds from $from on"
    exec "$simulate" --seeds "$3" --from "$from"
    ;;
kept)
    sed 's/#.*//' "$(dirname "$0")/seeds.txt" | while read -r seed; do
        [ -z "$seed" ] || "$simulate" --seed "$seed" || exit 1
    done
    ;;
plants)
    bad=0
    for name in $("$simulate" --plant list | cut -d' ' -f1); do
        "$simulate" --plant "$name" --seeds 1000
        [ $? = 1 ] || { echo "$name was not found"; bad=1; }
    done
    exit $bad
    ;;
esac
