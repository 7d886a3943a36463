#!/bin/sh
# Checks the layers of the tree.  An include may only name a file of the same folder or of a folder
# that comes earlier in `order`, so there are no circles of folders.  Files do not include each other
# in circles either, where x.c, x.h and x_internal.h count as one file.  An include guard follows the
# path of its header.  The pure core uses no clock, thread, socket, file or allocator.  A folder holds
# at most 30 C files (tools/command has one for each subcommand), and a file at most 800 lines.  Every folder of tests is built.
# Usage: layers.sh ROOT
set -u
cd "${1:-.}" || exit 2
order='runtime/tundish runtime/base
    runtime/core/stream runtime/core/numeric runtime/core/places runtime/core/protocol runtime/core/lane runtime/core/session runtime/core/tuning runtime/core/device runtime/core/parameters runtime/core runtime/core/host
    runtime/text runtime/notes runtime/option runtime/topology
    runtime/timing runtime/pages runtime/touch runtime/data runtime/plan runtime/launch runtime/log runtime/observe runtime/looks runtime/checkpoint runtime/posts runtime/interface runtime/feed/slots runtime/feed/values runtime/feed runtime/resources runtime/meeting
    runtime/host
    transport transport/inproc transport/zmq transport/cuda transport/nccl transport/device transport/collective transport/hub
    actors/file actors/text actors/stored actors/optimizer actors/source actors/source/sample actors/quarantine actors/example actors/image actors/expression actors/python actors/op actors/op/number actors/op/image actors/op/text actors/op/python actors/chain actors/plan actors/batcher actors/cache actors/reader actors/source/combine actors/source/python actors/adapt actors/parameters
    actors/feeder actors
    tools/cli tools/launch tools/machine tools/table tools/new tools/inspect tools/rows tools/report tools/choice tools/process tools/events tools/remote tools/touch tools/top tools/watch tools/reference tools/faults tools/command
    tools/packaging/older_glibc examples examples/fashion tools/bench tools/bench/device tools/bench/many tools/bench/reduce'
bad=0
refuse() { # refuse TEXT PATTERN PATHS...: no line below PATHS may match PATTERN
    text=$1 pattern=$2
    shift 2
    found=$(grep -rnE "$pattern" "$@" --include='*.[ch]' --include='*.def' 2>/dev/null)
    [ -z "$found" ] && return
    echo "$text:"
    echo "$found"
    bad=1
}
complain() { # complain TEXT FOUND
    [ -z "$2" ] && return
    echo "$1:"
    echo "$2"
    bad=1
}

found=$(grep -rE '^ *# *include "' runtime transport actors tools examples --include='*.[ch]' --include='*.def' | sort -u | awk -v order="$order" '
    function folder(path) { sub("/[^/]*$", "", path); return path }
    BEGIN { count = split(order, names, /[ \n]+/); for (i = 1; i <= count; i++) place[names[i]] = i }
    {
        split($0, part, "\"")
        file = substr($0, 1, index($0, ":") - 1)
        from = folder(file)
        to = folder(part[2])
        if (!(from in place)) print file ": its folder is not in the order of tests/layers.sh"
        else if (part[2] ~ "/" && place[to] > place[from]) print file ": includes " part[2]
    }')
complain "includes of a later folder" "$found"
found=$(grep -rE '^ *# *include "' runtime actors transport tools examples tests --include='*.[ch]' --include='*.def' |
    awk '
    function unit(path) { sub("(_internal)?[.][a-z]+$", "", path); return path }
    {
        split($0, part, "\"")
        file = substr($0, 1, index($0, ":") - 1)
        to = part[2]
        if (to !~ "/") { to = file; sub("[^/]*$", part[2], to) }
        if (unit(file) != unit(to)) print unit(file), unit(to)
    }' | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //; s/^-: .*/a circle:/')
complain "files that include each other in a circle" "$found"
found=$(find runtime transport actors tools tests -name '*.h' ! -path 'runtime/tundish/*' -exec awk '
    /^#ifndef/ {
        guard = "TND_" toupper(FILENAME)
        gsub(/[^A-Z0-9]/, "_", guard)
        if ($2 != guard) print FILENAME ": " $2 " should be " guard
        nextfile
    }' {} +)
complain "include guards that do not follow the path" "$found"
found=$(find runtime transport actors tools examples -name '*.[ch]' | sed 's|/[^/]*$||' | sort | uniq -c |
    awk '$1 > 30 && $2 != "tools/command" { print $2 ": " $1 " files" }')
complain "folders with more than 30 C files" "$found"
found=$(find runtime transport actors tools examples tests -name '*.[ch]' -exec wc -l {} + |
    awk '$1 > 800 && $2 != "total" { print $2 ": " $1 " lines" }')
complain "files with more than 800 lines" "$found"
found=$(find tests -mindepth 2 -name CMakeLists.txt | while read -r list; do
    folder=$(dirname "$list")
    parent=$(dirname "$folder")
    grep -q "add_subdirectory($(basename "$folder"))" "$parent/CMakeLists.txt" || echo "$folder"
done)
complain "tests that nothing builds: add_subdirectory() is missing for" "$found"

refuse "transport includes an actor" '#include "actors/' transport
refuse "an actor includes a transport" '#include "transport/' actors
refuse "an actor uses a socket, a lock or a driver" '#include <(zmq|czmq|pthread|cuda|nccl)' actors
refuse "the library includes its own public header" '#include <tundish/' runtime/core runtime/data transport
refuse "the runtime uses a transport library" '#include <(zmq|czmq|msgpack)' runtime
refuse "the pure core is not pure" '#include <(pthread|time|unistd|stdio|stdlib|stdatomic|sys/|errno|fcntl)|[^_a-z](malloc|calloc|free|clock_gettime|rand)\(' runtime/core
refuse "code of its own aborts for lack of memory (runtime/base/allocation.h)" '^ *(if \(.*== NULL.*\) *)?abort\(\);$' runtime/data runtime/feed runtime/text runtime/option runtime/topology runtime/plan runtime/log runtime/observe runtime/looks runtime/checkpoint runtime/interface runtime/resources runtime/meeting runtime/host transport
exit $bad
