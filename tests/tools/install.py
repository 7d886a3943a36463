#!/usr/bin/env python3
"""Programs and plugins outside build against the installed tree and against the build folder."""
import os
import shutil
import subprocess

from command import BUILD, ROOT, holds, main, same

EXAMPLES = ROOT / "examples"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES C)
find_package(Tundish 0.1 REQUIRED)
add_executable(outside operation.c operation_main.c)
target_link_libraries(outside PRIVATE Tundish::tundish)
"""


def done(*words, env=None):
    out = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100,
                         env={**os.environ, **(env or {})})
    assert out.returncode == 0, (words, out.stdout, out.stderr)
    return out.stdout


def staged(folder):
    done("cmake", "--install", BUILD, "--prefix", folder / "stage")
    return folder / "stage"


def config_folder(tree, name):
    found = sorted(tree.rglob(name))
    assert len(found) == 1, found
    return found[0].parent


def copied(folder):
    place = folder / "outside"
    place.mkdir()
    for name in ("operation.c", "operation.h", "operation_main.c", "operation.yaml"):
        shutil.copy(EXAMPLES / name, place)
    (place / "CMakeLists.txt").write_text(PROJECT)
    return place


def by_pkg_config(place, name, pc, libraries):
    flags = done("pkg-config", "--cflags", "--libs", "tundish",
                 env={"PKG_CONFIG_PATH": str(pc)}).split()
    done("cc", *WARNINGS, place / "operation.c", place / "operation_main.c", "-o", place / name,
         *flags)
    return done(place / name, env={"LD_LIBRARY_PATH": str(libraries)})


def by_cmake(place, name, config):
    # The default, make, need not be installed: the project itself is built with ninja.
    done("cmake", "-G", "Ninja", "-S", place, "-B", place / name, f"-DTundish_DIR={config}")
    done("cmake", "--build", place / name)
    return done(place / name / "outside")


def test_each_way_to_the_library_gives_the_same_stream(folder):
    stage, place = staged(folder), copied(folder)
    pc = config_folder(stage, "tundish.pc")
    first = by_pkg_config(place, "one", pc, pc.parent)
    holds(first, "stream ")
    same(by_pkg_config(place, "two", BUILD, BUILD), first)
    same(by_cmake(place, "three", config_folder(stage, "TundishConfig.cmake")), first)
    same(by_cmake(place, "four", BUILD), first)

    flags = done("pkg-config", "--cflags", "tundish", env={"PKG_CONFIG_PATH": str(pc)}).split()
    done("cc", *WARNINGS, "-shared", "-fPIC", "-fvisibility=hidden", place / "operation.c", "-o",
         place / "operation.so", *flags)
    done(stage / "bin" / "tundish", "run", place / "operation.yaml", "--report", place / "r.json")
    holds((place / "r.json").read_text(), first.split()[1])

    # Without a plugin beside the file, the installed one is used.
    (place / "operation.so").unlink()
    done(stage / "bin" / "tundish", "run", place / "operation.yaml")


def test_what_is_installed_is_public(folder):
    stage = staged(folder)
    headers = [str(path.relative_to(stage)) for path in stage.rglob("*.h")]
    same(sorted(name for name in headers if name.startswith("include")), [
        "include/tundish/device_values.h", "include/tundish/parameters.h", "include/tundish/tundish.h",
        "include/tundish/types.h"])
    library = config_folder(stage, "libtundish.so")
    assert (library / "libtundish.so.0").exists()
    assert (library / "tundish" / "mlp.so").exists() and (library / "tundish" / "operation.so").exists()
    same(list(stage.rglob("*.a")), [])
    for name in ("share/tundish/examples/compose.c", "share/tundish/examples/fashion/fashion.yaml",
                 "share/doc/tundish/README.md"):
        assert (stage / name).exists(), name


main(globals())
