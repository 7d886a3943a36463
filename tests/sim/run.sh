#!/bin/sh
# Runs simulated clusters: SEEDS `new` ones, another range for each DRAW; `kept`, those that once
# failed; `plants`, every known bug, each of which must be found in one of the first thousand seeds.
# plants.txt has the first that found each; where the simulator has changed since, all are tried.
# Usage: run.sh SIMULATE new SEEDS DRAW, or run.sh SIMULATE kept|plants, or run.sh SIMULATE first >plants.txt
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
    known=$(dirname "$0")/plants.txt
    for name in $("$simulate" --plant list | cut -d' ' -f1); do
        seed=$(sed -n "s/^$name //p" "$known")
        if [ -n "$seed" ]; then
            "$simulate" --plant "$name" --seeds 1 --from "$seed"
            [ $? = 1 ] && continue
        fi
        echo "$name: not found by the seed of $known; run.sh SIMULATE first writes that file"
        "$simulate" --plant "$name" --seeds 1000
        [ $? = 1 ] || { echo "$name was not found"; bad=1; }
    done
    exit $bad
    ;;
first)
    for name in $("$simulate" --plant list | cut -d' ' -f1); do
        "$simulate" --plant "$name" --seeds 1000 | sed -n 's/^\([A-Z_]*\): seed \([0-9]*\) finds it.*/\1 \2/p'
    done
    ;;
esac
