#!/usr/bin/env python3
"""What is shipped was built so that a mistake which corrupts memory ends the process.

Usage: hardening.py CHECKED FILE...  Reads the files by readelf: position-independent, relocations
read-only once it is loaded, all symbols bound at the start, no executable stack, canaries, indirect jumps to
function entries only (where the processor has that) and, if CHECKED is 1, checked calls of libc.
"""
import platform
import re
import subprocess
import sys


def read(*words):
    return subprocess.run(["readelf", "-W", *words], capture_output=True, text=True, check=True).stdout


def lacks(file, checked):
    """What a file lacks."""
    headers, dynamic, symbols = read("-hl", file), read("-d", file), read("--dyn-syms", file)
    found = {
        "a position-independent file": re.search(r"Type: +DYN ", headers),
        "read-only relocations": "GNU_RELRO" in headers,
        "symbols bound at the start": re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic),
        "a stack without code": re.search(r"GNU_STACK.* RW +0x", headers),
        "canaries": "__stack_chk_fail" in symbols,
    }
    if checked:
        found["checked calls of libc"] = re.search(r"UND __\w+_chk\b", symbols)
    if platform.machine() == "x86_64":
        found["protected jumps"] = re.search(r"x86 feature:.*IBT.*SHSTK", read("-n", file))
    return [name for name, there in found.items() if not there]


def main():
    checked, files = sys.argv[1] == "1", sys.argv[2:]
    bad = {file: lacks(file, checked) for file in files}
    for file, names in bad.items():
        if names:
            print(f"{file} lacks: {', '.join(names)}")
    return 1 if any(bad.values()) or not files else 0


if __name__ == "__main__":
    sys.exit(main())
