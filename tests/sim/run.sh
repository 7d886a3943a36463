#!/bin/sh
# Runs simulated clusters: `new` seeds, another range each time; `kept`, those that once failed;
# `plants`, every known bug, each of which must be found.  Usage: run.sh SIMULATE new|kept|plants [SEEDS]
set -u
simulate=$1
case $2 in
new)
    from=$(($(date +%s) % 1000000000 * 1000))
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
