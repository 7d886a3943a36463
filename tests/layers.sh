#!/bin/sh
# Includes point one way: tools, examples -> actors, transport -> runtime.  The pure core further
# names no clock, thread, socket, file or allocator.  Usage: layers.sh ROOT
set -u
cd "${1:-.}" || exit 2
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
refuse "runtime includes what lies above it" '#include "(transport|actors|tools|examples|tests)/' runtime
refuse "transport includes what lies above or beside it" '#include "(actors|tools|examples|tests)/' transport
refuse "actors include what lies above or beside them" '#include "(transport|tools|examples|tests)/' actors
refuse "an actor names a socket, a lock or a driver" '#include <(zmq|czmq|pthread|cuda|nccl)' actors
refuse "the library includes its own public header" '#include <tundish/' runtime/core runtime/data transport
refuse "the runtime names a transport" '#include <(zmq|czmq|msgpack)' runtime
refuse "the pure core is not pure" '#include <(pthread|time|unistd|stdio|stdlib|stdatomic|sys/|errno|fcntl)|[^_a-z](malloc|calloc|free|clock_gettime|rand)\(' runtime/core
exit $bad
