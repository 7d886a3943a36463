#!/usr/bin/env python3
"""Which files of one folder use each other in circles, by the symbols of their objects.

tests/layers.sh knows circles of includes; files that share a header can still call each other.  A folder that
has none stays so; of those below, no circle may grow.  Usage: circles.py BUILD
"""
import collections
import pathlib
import re
import subprocess
import sys

# By folder: the numbers of files that are in one circle.
KNOWN = {
    "runtime/core": [3],  # the leader
    "runtime/feed": [8, 2],  # device workers; feeds that follow another one
    "runtime/host": [10, 7, 2],  # a host, the leader, sessions
    "runtime/option": [4],  # tables contain tables
    "runtime/plan": [5],
    "runtime/topology": [5],
    "tools/command": [3],  # the list has the commands that show it
    "transport/collective": [5],
    "transport/device": [2],
    "transport/zmq": [3],
}
ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = re.compile(r"(?:.*/)?CMakeFiles/[^/]+\.dir/(.*)\.o$")


def source_of(build, thing):
    """The path of the source of an object in the tree, or None: it is of a test, made by the build, or gone."""
    path = thing.relative_to(build).as_posix()
    match = OURS.match(path)
    folder = path.split("CMakeFiles/")[0]
    name = (pathlib.PurePosixPath(folder) / match[1].replace("__/", "")).as_posix()
    name = re.sub(r".*?((runtime|transport|actors|tools)/)", r"\1", name)
    return name if not path.startswith("tests/") and (ROOT / name).is_file() else None


def read_symbols(build):
    made, wanted = {}, collections.defaultdict(set)
    objects = {thing: source for thing in build.rglob("*.o") if (source := source_of(build, thing))}
    text = subprocess.run(["nm", "--extern-only", "--print-file-name", *map(str, objects)], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    for line in text.splitlines():
        thing, _, rest = line.partition(":")
        kind, symbol = rest.split()[-2:]
        source = objects[pathlib.Path(thing)]
        if kind == "U":
            wanted[source].add(symbol)
        else:
            made.setdefault(symbol, source)
    return made, wanted


def circles_of(arrows):
    """The strongly connected components of more than one file."""
    def reach(start):
        seen, waits = {start}, [start]
        while waits:
            for other in arrows.get(waits.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waits.append(other)
        return seen

    reached = {name: reach(name) for name in arrows}
    done = set()
    for name in sorted(arrows):
        circle = {other for other in reached[name] if name in reached.get(other, ())}
        if len(circle) > 1 and name not in done:
            done |= circle
            yield sorted(circle)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    made, wanted = read_symbols(build)
    folders = collections.defaultdict(lambda: collections.defaultdict(set))
    for source, symbols in wanted.items():
        folder = source.rpartition("/")[0]
        for symbol in symbols:
            other = made.get(symbol, source)
            if other != source and other.rpartition("/")[0] == folder:
                folders[folder][source].add(other)
    assert len(wanted) > 500, f"only {len(wanted)} objects below {build}"
    bad = False
    for folder in sorted(folders.keys() | KNOWN.keys()):
        found = sorted(circles_of(folders[folder]), key=len, reverse=True)
        if sorted(map(len, found), reverse=True) == KNOWN.get(folder, []):
            continue
        bad = True
        print(f"{folder}: circles of {[len(circle) for circle in found]} files, and {KNOWN.get(folder, [])} are known "
              f"(tests/circles.py)")
        for circle in found:
            names = [name.rpartition("/")[2] for name in circle]
            print("  " + " ".join(names))
            for name in circle:
                for other in sorted(folders[folder][name] & set(circle)):
                    symbol = min(s for s in wanted[name] if made.get(s) == other)
                    print(f"    {name.rpartition('/')[2]} -> {other.rpartition('/')[2]}: {symbol}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
