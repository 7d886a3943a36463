#!/usr/bin/env python3
"""A plugin loads in the command, in Python and in a program that keeps the library to itself, with or
without -ltundish; the wheel has what is needed to compile one."""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys

import numpy

from command import BUILD, ROOT, TUNDISH, holds, main, same

GRAPH = """tundish: 1
actors:
  read:  {kind: reader, source: {npy: {x: x.npy}}}
  prep:  {kind: preprocessor, ops: [{plugin: halve}]}
  batch: {kind: batcher, size: 32}
  feed:  {kind: feeder}
links: [read -> prep -> batch -> feed]
"""
PYTHON = """
import tundish
with tundish.feed("graph.yaml") as feed:
    print(sum(float(batch["x"].numpy().sum()) for batch in feed))
"""
PROGRAM = r"""
#include <stdio.h>
#include <tundish/tundish.h>
int main(void)
{
    tnd_graph_t *graph = tnd_graph_new("graph", 1);
    printf("%d\n", graph != NULL);
    tnd_graph_destroy(&graph);
    return 0;
}
"""
# A program that has loaded the library by dlopen, as extensions of other languages do.
LOCAL = r"""
#include <dlfcn.h>
#include <stdio.h>
typedef int call_t();
typedef void *make_t();
typedef const char *text_t();
int main(int count, char **words)
{
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL), *session = NULL;
    const char *file = "graph.yaml";
    if (count < 2 || library == NULL)
        return fputs(dlerror(), stderr), 1;
    void *graph = ((make_t *)dlsym(library, "tnd_graph_load"))(&file, (size_t)1);
    int status = ((call_t *)dlsym(library, "tnd_session_open"))(&session, graph, NULL);
    if (status == 0)
        status = ((call_t *)dlsym(library, "tnd_session_wait"))(session);
    if (session != NULL)
        fputs(((text_t *)dlsym(library, "tnd_session_error"))(session), stderr);
    fputs(((text_t *)dlsym(library, "tnd_graph_errors"))(graph), stderr);
    return status;
}
"""


def done(*words, cwd, env=None, code=0):
    out = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100, cwd=cwd,
                         env={**os.environ, "TUNDISH_LIBRARY": "", **(env or {})})
    same(out.returncode, code, (words, out.stdout, out.stderr))
    return out.stdout


def prepare(folder, *flags):
    """A graph with the plugin of examples/README.md, built as it shows."""
    text = (ROOT / "examples/README.md").read_text()
    block = next(one for one in re.findall(r"^```c\n(.*?)^```$", text, re.M | re.S) if "tnd_op_halve" in one)
    (folder / "halve.c").write_text(block)
    (folder / "graph.yaml").write_text(GRAPH)
    numpy.save(folder / "x.npy", numpy.arange(100, dtype="f4"))
    done("cc", "-shared", "-fPIC", "halve.c", "-o", "halve.so", *flags, cwd=folder)


def wheel(folder):
    """The files of the wheel before auditwheel adds the libraries of Debian; the folder of its module."""
    path = str(ROOT / "tools/wheel")
    loader = importlib.machinery.SourceFileLoader("wheel_tool", path)
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("wheel_tool", loader))
    loader.exec_module(tool)
    tool.copy_programs(BUILD, folder)
    place = folder / "wheel"
    for name, (data, program) in tool.contents(folder, "0", "linux_x86_64", {}).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
        (place / name).chmod(0o755 if program else 0o644)
    return place


def test_one_plugin_loads_everywhere(folder):
    for flags in ([], [f"-L{BUILD}", "-ltundish"]):
        prepare(folder, f"-I{ROOT}/runtime", *flags)
        holds(done(TUNDISH, "run", "graph.yaml", cwd=folder), "100 rows")
        env = {"PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
        same(done(sys.executable, "-c", PYTHON, cwd=folder, env=env), "2475.0\n")
        (folder / "local.c").write_text(LOCAL)
        done("cc", "local.c", "-o", "local", cwd=folder)
        done("./local", BUILD / "libtundish.so", cwd=folder)


def test_a_library_of_a_plugin_may_use_tundish(folder):
    """The reason that the loader gives begins with a path, of any length."""
    prepare(folder, f"-I{ROOT}/runtime")
    deep = folder / ("a" * 150) / ("b" * 150)
    deep.mkdir(parents=True)
    (deep / "help.c").write_text("extern int tnd_schema_add(); void *helper(void) { return tnd_schema_add; }\n")
    done("cc", "-shared", "-fPIC", "help.c", "-o", "libhelp.so", cwd=deep)
    done("cc", "-shared", "-fPIC", "halve.c", "-o", "halve.so", f"-I{ROOT}/runtime", "-Wl,--no-as-needed", f"-L{deep}",
         "-lhelp", f"-Wl,-rpath,{deep}", cwd=folder)
    env = {"PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
    same(done(sys.executable, "-c", PYTHON, cwd=folder, env=env), "2475.0\n")
    holds(done(TUNDISH, "run", "graph.yaml", cwd=folder), "100 rows")


def test_the_wheel_compiles_and_loads_plugins(folder):
    place = wheel(folder)
    env = {"PYTHONPATH": str(place)}
    include = done(sys.executable, "-m", "tundish", "--include", cwd=folder, env=env).strip()
    same(include, str(place / "tundish/include"))
    for flags in ([], [f"-L{BUILD}", "-ltundish"]):
        prepare(folder, f"-I{include}", *flags)
        same(done(sys.executable, "-c", PYTHON, cwd=folder, env=env), "2475.0\n")
        holds(done(sys.executable, "-m", "tundish", "run", "graph.yaml", cwd=folder, env=env), "100 rows")
    libs = done(sys.executable, "-m", "tundish", "--libs", cwd=folder, env=env).split()
    same(libs[0], str(place / "tundish/libtundish.so.0"))
    (folder / "version.c").write_text(PROGRAM)
    done("cc", "version.c", "-o", "version", f"-I{include}", *libs, cwd=folder)
    same(done("./version", cwd=folder), "1\n")


def test_the_source_tree_names_its_header(folder):
    env = {"PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so")}
    same(done(sys.executable, "-m", "tundish", "--include", cwd=folder, env=env), f"{ROOT}/runtime\n")


main(globals())
