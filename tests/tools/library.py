#!/usr/bin/env python3
"""The shared library and the program show what <tundish/tundish.h> declares, and nothing else."""
import re
import shutil
import subprocess

from command import BUILD, ROOT, TUNDISH, main


def shown(path):
    out = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True,
                         capture_output=True, text=True).stdout
    return {line.split()[-1] for line in out.splitlines() if " T " in line}


HEADERS = [ROOT / "runtime/tundish" / name for name in ("types.h", "tundish.h", "device_values.h", "parameters.h")]


def declared():
    text = "".join(header.read_text() for header in HEADERS)
    return set(re.findall(r"TND_API[^;]*?\b(tnd_\w+)\(", text))


def test_the_library_shows_the_public_header(_):
    found = {name for name in shown(BUILD / "libtundish.so") if not name.startswith("_")}
    assert found == declared(), f"missing {declared() - found}, beside it {found - declared()}"


def test_the_program_shows_it_to_plugins(_):
    assert declared() <= shown(TUNDISH), declared() - shown(TUNDISH)


def test_a_program_in_c_builds_against_the_library_alone(folder):
    source = folder / "one.c"
    source.write_text('#include <stdio.h>\n#include <tundish/tundish.h>\n'
                      "int main(void) { tnd_graph_t *graph = tnd_graph_new(NULL, 1);\n"
                      "int bad = tnd_graph_check(graph) == TND_OK; puts(tnd_graph_errors(graph));\n"
                      "tnd_graph_destroy(&graph); return bad; }\n")
    program = folder / "one"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", f"-I{ROOT}/runtime", str(source), "-o",
                    str(program), f"-L{BUILD}", "-ltundish", f"-Wl,-rpath,{BUILD}"], check=True,
                   timeout=60)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "actor" in done.stdout, done


def test_the_header_compiles_alone_in_c_and_in_cxx(folder):
    for compiler, name, standard in (("cc", "one.c", "c11"), ("c++", "one.cpp", "c++11"),
                                     ("c++", "one.cpp", "c++20")):
        if shutil.which(compiler) is None:
            continue
        (folder / name).write_text("#include <tundish/tundish.h>\n#include <tundish/device_values.h>\n")
        subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-fsyntax-only", f"-I{ROOT}/runtime", str(folder / name)], check=True,
                       timeout=60)


def test_the_header_includes_nothing_of_ours(_):
    for header in HEADERS:
        found = set(re.findall(r"#include (\S+)", header.read_text()))
        assert found <= {"<stdbool.h>", "<stddef.h>", "<stdint.h>", "<tundish/parameters.h>", "<tundish/types.h>",
                         "<tundish/tundish.h>"}, found


main(globals())
