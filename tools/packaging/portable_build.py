"""Builds Tundish for an older glibc, or for another processor: tools/wheel --glibc runs it.

The compiler is that of ziglang (PyPI), which has the C library's headers and symbols of every version.  The
libraries of libraries.py are built from Debian's sources as static archives.  Nothing is installed
outside the folder of the build; what is up to date in it is not built again.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from libraries import LIBRARIES, OPTIONS_OF_MACHINE
from wheel_files import ROOT, TARGETS

ZIG = "ziglang==0.17.1"
MIRROR = "http://deb.debian.org/debian"
SUITE = "bookworm"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
OLDER = ROOT / "tools/packaging/older_glibc"
COMMANDS = "cmake ninja make pkg-config apt-get dpkg-source autoreconf libtoolize nasm protoc-c".split()
PACKAGES = "cmake ninja-build make pkgconf apt dpkg-dev autoconf automake libtool nasm protobuf-c-compiler"

# The linker of zig refuses what it does not know; ncurses names functions in its list of versions that it lacks.
WRAPPER = """#!/bin/sh
# {tool} for {target}, by {zig}
for word; do
    shift
    case $word in
    -Wl,-stats) ;;
    -shared) set -- "$@" -shared -Wl,--undefined-version ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec {program} {tool} {words} "$@"
"""

TOOLCHAIN = """# CMake's toolchain for {target}, by {zig}
set(CMAKE_C_COMPILER {tools}/cc)
set(CMAKE_CXX_COMPILER {tools}/c++)
set(CMAKE_AR {tools}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB {tools}/ranlib CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH {prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
"""
CROSS = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {machine})
"""


class Failure(Exception):
    """What failed, as text for the user."""


class Build:
    """A folder with everything of one target: the tools, the sources, the libraries and the project."""

    def __init__(self, folder, glibc, machine):
        self.folder, self.glibc, self.machine = folder, glibc, machine
        self.target = f"{machine}-linux-gnu.{glibc}"
        self.tools, self.prefix, self.sources = folder / "tools", folder / "libraries", folder / "sources"
        self.project = folder / "project"
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")},
                            "LC_ALL": "C", "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig-cache"),
                            "PKG_CONFIG_LIBDIR": f"{self.prefix}/lib/pkgconfig", "APT_CONFIG": str(self.sources / "apt.conf"),
                            "SOURCE_DATE_EPOCH": "1577836800"}
        for name in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"):
            self.environment.pop(name, None)

    def cross(self):
        return self.machine != os.uname().machine

    def call(self, *words, cwd=None, log="build"):
        """Runs a command; its output goes to a file, of which a failure shows the end."""
        path = self.folder / f"{log}.log"
        with open(path, "a", encoding="utf-8") as out:
            print("+", *words, file=out, flush=True)
            done = subprocess.run(list(map(str, words)), cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            lines = path.read_text(errors="replace").splitlines()
            wrong = [line for line in lines if re.search(r"\berror\b|\bE:", line)][-5:]
            raise Failure("\n".join([f"{words[0]} exits with {done.returncode}: see {path}", *(wrong or lines[-10:])]))


def say(text):
    print(f"tools/wheel: {text}", flush=True)


def check_commands():
    missing = [name for name in COMMANDS if not shutil.which(name)]
    if missing:
        raise Failure(f"missing: {' '.join(missing)}; on Debian: apt install {PACKAGES}")
    if not pathlib.Path(KEYS).exists():
        raise Failure(f"no {KEYS}, by which Debian's sources are checked: apt install debian-archive-keyring")


def make_tools(build):
    """The compiler, and the file that tells CMake of it."""
    venv = build.folder / "zig"
    if not (venv / "installed").exists():
        say(f"downloads {ZIG} from PyPI (100 MB)")
        build.call(sys.executable, "-m", "venv", "--clear", venv)
        build.call(venv / "bin/pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", ZIG)
        (venv / "installed").touch()
    program = next(venv.glob("lib/python*/site-packages/ziglang/zig"))
    build.tools.mkdir(exist_ok=True)
    for name, words in ("cc", f"-target {build.target}"), ("c++", f"-target {build.target}"), ("ar", ""), ("ranlib", ""):
        path = build.tools / name
        path.write_text(WRAPPER.format(tool=name, words=words, target=build.target, zig=ZIG, program=program))
        path.chmod(0o755)
    text = TOOLCHAIN + (CROSS if build.cross() else "")
    (build.folder / "toolchain.cmake").write_text(
        text.format(target=build.target, zig=ZIG, tools=build.tools, prefix=build.prefix, machine=build.machine))
    return program.parent


def download_sources(build):
    """The source packages, checked by Debian's keys; returns the .dsc file of each."""
    lists, packages = build.sources / "lists", build.sources / "packages"
    for folder in (lists / "partial", build.sources / "cache/archives/partial", packages):
        folder.mkdir(parents=True, exist_ok=True)
    (build.sources / "apt.list").write_text("".join(
        f"deb-src [signed-by={KEYS}] {mirror} {suite} main\n"
        for mirror, suite in ((MIRROR, SUITE), (MIRROR, f"{SUITE}-updates"), (f"{MIRROR}-security", f"{SUITE}-security"))))
    (build.sources / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{build.sources}/apt.list";\nDir::Etc::sourceparts "-";\nDir::State::lists "{lists}";\n'
        f'Dir::Cache "{build.sources}/cache";\nAPT::Sandbox::User "";\n')
    def missing():
        return [library.source for library in LIBRARIES if not list(packages.glob(f"{library.source}_*.dsc"))]

    def download(*sources):
        build.call("apt-get", "-q", "source", "--download-only", "--only-source", *sources, cwd=packages, log="download")

    if missing():
        say(f"downloads {len(LIBRARIES)} source packages of Debian {SUITE} (20 MB) from {MIRROR}")
        build.call("apt-get", "-q", "update", log="download")
        try:
            download(*missing())
        except Failure:
            for source in missing():  # a mirror may list an update before it has its files
                say(f"takes {source} without its last updates, which cannot be downloaded: see {build.folder}/download.log")
                download(f"{source}/{SUITE}")
    return {library.source: max(packages.glob(f"{library.source}_*.dsc")) for library in LIBRARIES}


def build_with_cmake(build, library, source, log):
    work = source / "build-static"
    build.call("cmake", "-G", "Ninja", "-S", source / library.folder, "-B", work,
               f"-DCMAKE_TOOLCHAIN_FILE={build.folder}/toolchain.cmake", f"-DCMAKE_INSTALL_PREFIX={build.prefix}",
               "-DCMAKE_INSTALL_LIBDIR:STRING=lib", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF",
               "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", f"-DCMAKE_C_FLAGS={flags(build)}", f"-DCMAKE_CXX_FLAGS={flags(build)}",
               *library.options, log=log)
    build.call("ninja", "-C", work, "-j1", "install", log=log)


def build_with_configure(build, library, source, log):
    build.call("env", *variables(build), "./configure", f"--prefix={build.prefix}", *library.options, cwd=source, log=log)
    build.call("make", "install", cwd=source, log=log)


def build_with_autoconf(build, library, source, log):
    if not (source / "configure").exists():
        build.call("autoreconf", "-fi", cwd=source, log=log)
    build.call("./configure", f"--prefix={build.prefix}", f"--host={build.machine}-linux-gnu", "--disable-shared", "--with-pic",
               *variables(build), *library.options, cwd=source, log=log)
    build.call("make", "install", cwd=source, log=log)


def build_with_make(build, library, source, log):
    build.call("make", f"PREFIX={build.prefix}", *variables(build), *library.options, cwd=source, log=log)


def build_with_file(build, library, source, log):
    """Compiles its one file; pkg-config is told the options."""
    (name,), folder, work = library.archives, source / library.folder, source / "build-static"
    work.mkdir()
    build.call(build.tools / "cc", *flags(build).split(), f"-I{build.prefix}/include", "-c", folder / f"{name}.c",
               "-o", work / f"{name}.o", log=log)
    build.call(build.tools / "ar", "rcs", build.prefix / f"lib/lib{name}.a", work / f"{name}.o", log=log)
    shutil.copy(folder / f"{name}.h", build.prefix / "include")
    (build.prefix / f"lib/pkgconfig/{name}.pc").write_text(
        f"Name: {name}\nDescription: {name}\nVersion: 0\nCflags: -I{build.prefix}/include\n"
        f"Libs: -L{build.prefix}/lib -l{name} {' '.join(library.options)}\n")


SYSTEMS = {"autoconf": build_with_autoconf, "cmake": build_with_cmake, "configure": build_with_configure,
           "file": build_with_file, "make": build_with_make}


def flags(build):
    """Of a compiler: paths of this machine do not enter the result."""
    return f"-O2 -fPIC -fstack-protector-strong -ffile-prefix-map={build.folder}=. -ffile-prefix-map={ROOT}=."


def variables(build):
    return (f"CC={build.tools}/cc", f"CXX={build.tools}/c++", f"AR={build.tools}/ar", f"RANLIB={build.tools}/ranlib",
            f"CFLAGS={flags(build)}", f"CXXFLAGS={flags(build)}")


def build_library(build, library, description):
    """Builds one library from its source package, unless it was built in this way."""
    more = OPTIONS_OF_MACHINE.get((library.source, build.machine), ())
    library = library._replace(options=(*library.options, *more))
    stamp = build.prefix / "built" / library.source
    wanted = hashlib.sha256(repr((library, description.name, build.target, ZIG, flags(build))).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"builds {description.stem}")
    source, log = build.sources / library.source, library.source
    shutil.rmtree(source, ignore_errors=True)
    (build.folder / f"{log}.log").unlink(missing_ok=True)
    build.call("dpkg-source", "--no-check", "-x", description, source, log=log)
    SYSTEMS[library.system](build, library, source, log)
    for shared in build.prefix.glob("lib/*.so*"): # which some build beside the archive, and the linker would prefer
        shared.unlink(missing_ok=True)
    missing = [name for name in library.archives if not (build.prefix / f"lib/lib{name}.a").exists()]
    if missing:
        raise Failure(f"{description.stem} does not make {', '.join(f'lib{name}.a' for name in missing)}")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)


def build_libraries(build, descriptions):
    """As many at a time as there are processors: most of the time is spent by configuring, one check after another."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {}

        def build_after(library):
            for name in library.needs:
                running[name].result()
            build_library(build, library, descriptions[library.source])

        for library in LIBRARIES:
            running[library.source] = pool.submit(build_after, library)
        try:
            for future in running.values():
                future.result()
        except Failure:
            pool.shutdown(cancel_futures=True)
            raise


def build_project(build):
    """The library, the command and the plugin of the example; nothing of the libraries is visible outside of them."""
    say("builds Tundish")
    older = build.folder / "older_glibc.o"
    build.call(build.tools / "cc", *flags(build).split(), "-c", OLDER / "older_glibc.c", "-o", older, log="project")
    build.call(build.tools / "ar", "rcs", build.prefix / "lib/libolder_glibc.a", older, log="project")
    (build.folder / "exports").write_text("{ global: tnd_*; local: *; };\n")
    linking = f"-s -L{build.prefix}/lib -Wl,--version-script={build.folder}/exports"
    build.call("cmake", "-G", "Ninja", "-S", ROOT, "-B", build.project,
               f"-DCMAKE_TOOLCHAIN_FILE={build.folder}/toolchain.cmake", "-DCMAKE_BUILD_TYPE=None",
               "-DPKG_CONFIG_ARGN=--static", "-DTND_HAS_GOLD=OFF", "-DTND_PROTECTS_JUMPS=OFF",
               f"-DCMAKE_C_FLAGS={flags(build)} -D_GNU_SOURCE -include {OLDER}/older_glibc.h", f"-DCMAKE_SHARED_LINKER_FLAGS={linking}",
               f"-DCMAKE_EXE_LINKER_FLAGS={linking}", f"-DCMAKE_MODULE_LINKER_FLAGS=-s -L{build.prefix}/lib",
               "-DCMAKE_C_STANDARD_LIBRARIES=-lolder_glibc -lc++ -lpthread -ldl -lrt -lm",
               log="project")
    # For ninja `tundish` is the file of that name, the command.
    build.call("ninja", "-C", build.project, f"-j{os.cpu_count()}", "libtundish.so", *TARGETS, log="project")


def licences(build, zig):
    """The licences of what is linked: by name, bytes."""
    found = {library.source: (build.sources / library.source / "debian/copyright").read_bytes() for library in LIBRARIES}
    for name in ("libcxx", "libcxxabi", "libunwind"):
        text = zig / "lib" / name / "LICENSE.TXT"
        if text.exists():
            found[name] = text.read_bytes()
    return found


def build_portable(folder, glibc, machine):
    """Builds all of it into FOLDER; returns the folder of the project, and the licences."""
    check_commands()
    folder.mkdir(parents=True, exist_ok=True)
    build = Build(folder, glibc, machine)
    zig = make_tools(build)
    descriptions = download_sources(build)
    build_libraries(build, descriptions)
    build_project(build)
    return build.project, licences(build, zig)
