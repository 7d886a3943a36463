#!/usr/bin/env python3
"""What tools/wheel decides without building anything: the tag of a wheel, and the libraries that are in it."""
import ctypes
import os
import re
import signal
import subprocess
import sys

from command import BUILD, ROOT, holds, main, same

sys.path.insert(0, str(ROOT / "tools/packaging"))
import glibc_versions  # noqa: E402
import libraries  # noqa: E402
import portable_build  # noqa: E402

PROGRAMS = [BUILD / "tundish", BUILD / "libtundish.so"]
OF_GLIBC = {"c", "m", "dl", "pthread", "rt", "ld-linux-x86-64", "ld-linux-aarch64"}
# As `readelf --version-info` prints it: what a file has, then what it needs.
PRINTED = """
Version definition section '.gnu.version_d' contains 1 entry:
  000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: GLIBC_2.99

Version needs section '.gnu.version_r' contains 2 entries:
 Addr: 0x0000000000007d58  Offset: 0x00007d58  Link: 5 (.dynstr)
  000000: Version: 1  File: libjpeg.so.62  Cnt: 1
  0x0010:   Name: LIBJPEG_6.2  Flags: none  Version: 6
  0x0020: Version: 1  File: libc.so.6  Cnt: %d
"""


def needed(*names):
    lines = "".join(f"  0x0030:   Name: {name}  Flags: none  Version: 3\n" for name in names)
    return glibc_versions.needed_glibc(PRINTED % len(names) + lines)


def refusal(*names):
    try:
        return f"accepted: {needed(*names)}"
    except ValueError as error:
        return str(error)


def tool(*words):
    done = subprocess.run([sys.executable, ROOT / "tools/wheel", *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_the_tag_is_the_highest_version_that_is_needed(folder):
    same(needed("GLIBC_2.2.5"), (2, 2))
    same(needed("GLIBC_2.28", "GLIBC_2.4", "GLIBC_2.3.4"), (2, 28))
    same(needed("GLIBC_2.9", "GLIBC_2.10"), (2, 10))
    same(needed("GLIBC_2.4", "GLIBC_ABI_DT_RELR"), (2, 36))
    same(needed("GLIBC_ABI_DT_RELR", "GLIBC_2.38"), (2, 38))
    same(glibc_versions.platform_tag((2, 28), "x86_64"), "manylinux_2_28_x86_64")


def test_what_no_release_of_glibc_promises_is_refused(folder):
    same(refusal("GLIBC_2.4", "GLIBC_PRIVATE"), "it needs GLIBC_PRIVATE, which no release promises")
    same(needed(), (0, 0), "data only")
    (folder / "text.so").write_text("no library")
    try:
        glibc_versions.needed_by([BUILD / "tundish", folder / "text.so"])
        raise AssertionError("accepted")
    except ValueError as error:
        holds(str(error), "text.so: ")


def test_objdump_finds_the_same_version_in_the_build(folder):
    printed = subprocess.run(["objdump", "-T", *PROGRAMS], capture_output=True, text=True, check=True).stdout
    found = {tuple(map(int, version.split(".")))[:2] for version in re.findall(r"\bGLIBC_(2[\d.]+)", printed)}
    same(glibc_versions.needed_by(PROGRAMS), max(found))


def test_the_table_has_every_library_that_the_build_links(folder):
    """And none that it does not; a library that is missing here would be missing in the wheel for older systems."""
    printed = subprocess.run(["readelf", "-d", *PROGRAMS], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"NEEDED.*\[(?:lib)?(.*?)\.so", printed)
    linked = {{"yaml-0": "yaml"}.get(name, name) for name in names} - OF_GLIBC
    listed = {name for library in libraries.LIBRARIES for name in library.archives}
    same(sorted(linked - listed), [], "not in tools/packaging/libraries.py")
    same(sorted(listed - linked), [], "in tools/packaging/libraries.py, but not linked")


def test_a_library_comes_after_those_that_it_needs(folder):
    built = set()
    for library in libraries.LIBRARIES:
        assert set(library.needs) <= built, library
        assert library.system in portable_build.SYSTEMS, library
        built.add(library.source)


def test_what_an_older_glibc_lacks_is_what_this_one_has(folder):
    path = folder / "older.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o", path,
                    ROOT / "tools/packaging/older_glibc/older_glibc.c"], check=True)
    ours, theirs = ctypes.CDLL(path), ctypes.CDLL("libc.so.6")
    for library in ours, theirs:
        library.sigabbrev_np.restype = ctypes.c_char_p
    for number in range(-1, 66):
        same(ours.sigabbrev_np(number), theirs.sigabbrev_np(number), number)
    same(ours.gettid(), theirs.gettid())
    child = subprocess.Popen(["sleep", "100"])
    file = ours.pidfd_open(child.pid, 0)
    same(ours.pidfd_send_signal(file, int(signal.SIGTERM), None, 0), 0)
    same(child.wait(60), -signal.SIGTERM)
    os.close(file)
    same(ours.pidfd_open(child.pid, 0), -1)


def test_a_mistake_of_the_caller_is_named(folder):
    for words, told in [(["--glibc", "2.27"], "2.28 or newer"), (["--glibc", "3.1"], "2.28 or newer"),
                        (["--machine", "aarch64"], "--machine needs --glibc"),
                        (["build", "--glibc", "2.28"], "--glibc makes a build of its own"),
                        (["--glibc", "2.28", "--machine", "sparc"], "invalid choice: 'sparc'")]:
        code, out, err = tool(*words)
        same((code, out), (2, ""), words)
        holds(err, "usage: tools/wheel", told)
    code, out, err = tool(str(folder))
    same((code, out), (1, ""))
    holds(err, f"tools/wheel: no libtundish.so, tundish, mlp.so in {folder}: build them with tools/setup")
    same(tool("--help")[::2], (0, ""))


main(globals())
