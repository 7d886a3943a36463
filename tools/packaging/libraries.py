"""The libraries that Tundish links, as tools/wheel --glibc builds them: static, from Debian's sources,
with what Tundish uses of them.

A row names the archives (-lNAME) that the source package makes, the system that builds it, and its options.
A library comes after those that it needs; of msgpack-c only headers are used.  tests/tools/packaging.py compares the archives with what the
build links.
"""
import collections

# system: autoconf, cmake, configure (written by hand), make, or file (NAME.c and NAME.h).  FOLDER is in the sources.
Library = collections.namedtuple("Library", "source archives system folder needs options")


def library(source, archives, system, *options, folder=".", needs=""):
    return Library(source, archives.split(), system, folder, needs.split(), options)


# Of a library on a machine.  clang does not assemble what libisal has for aarch64: for a processor that it has
# nothing for, it is C alone.
OPTIONS_OF_MACHINE = {("libisal", "aarch64"): ("--host=riscv64-linux-gnu",)}

LIBRARIES = [
    library("zlib", "z", "configure", "--static"),
    library("libzstd", "zstd", "cmake", "-DZSTD_BUILD_PROGRAMS=OFF", "-DZSTD_BUILD_SHARED=OFF", folder="build/cmake"),
    library("libdeflate", "deflate", "make", "DISABLE_SHARED=yes", "libdeflate.a", "install"),
    library("xxhash", "xxhash", "cmake", "-DXXHASH_BUILD_XXHSUM=OFF", folder="cmake_unofficial"),
    library("libyaml", "yaml", "autoconf"),
    library("jansson", "jansson", "cmake", "-DJANSSON_BUILD_DOCS=OFF", "-DJANSSON_EXAMPLES=OFF", "-DJANSSON_WITHOUT_TESTS=ON"),
    library("libjpeg-turbo", "jpeg", "cmake", "-DENABLE_SHARED=OFF", "-DWITH_TURBOJPEG=OFF", "-DREQUIRE_SIMD=ON"),
    # Its CMake makes no archive alone, and meson would be one more command.
    library("libspng", "spng", "file", "-lz -lm", folder="spng", needs="zlib"),
    library("libisal", "isal", "autoconf"),
    # tar is read and zip is written, both without compression.
    library("libarchive", "archive", "cmake", *(f"-DENABLE_{name}=OFF" for name in (
        "ACL BZip2 CAT CNG CPIO EXPAT ICONV LIBB2 LIBXML2 LZ4 LZMA OPENSSL PCREPOSIX TAR TEST XATTR ZLIB ZSTD").split())),
    library("msgpack-c", "", "cmake", "-DMSGPACK_ENABLE_CXX=OFF", "-DMSGPACK_ENABLE_SHARED=OFF",
            "-DMSGPACK_BUILD_EXAMPLES=OFF", "-DMSGPACK_BUILD_TESTS=OFF"),
    library("zeromq3", "zmq", "cmake", "-DBUILD_SHARED=OFF", "-DBUILD_TESTS=OFF", "-DENABLE_CURVE=OFF", "-DENABLE_DRAFTS=OFF",
            "-DWITH_DOCS=OFF", "-DWITH_LIBBSD=OFF", "-DWITH_LIBSODIUM=OFF", "-DWITH_PERF_TOOL=OFF"),
    library("czmq", "czmq", "cmake", "-DCZMQ_BUILD_SHARED=OFF", "-DENABLE_DRAFTS=OFF", "-DBUILD_TESTING=OFF",
            *(f"-DCZMQ_WITH_{name}=OFF" for name in "LIBCURL LIBMICROHTTPD LZ4 NSS SYSTEMD UUID".split()), needs="zeromq3"),
    library("protobuf-c", "protobuf-c", "autoconf", "--disable-protoc"),
    library("libmicrohttpd", "microhttpd", "autoconf", "--disable-https", "--disable-doc",
            "--disable-examples", "--disable-curl"),
    library("ncurses", "ncursesw tinfo", "autoconf", "--enable-widec", "--with-termlib=tinfo", "--enable-pc-files",
            "--without-ada", "--without-cxx-binding", "--without-cxx", "--without-debug", "--without-manpages",
            "--without-progs", "--without-tests", "--disable-db-install", "--with-default-terminfo-dir=/etc/terminfo",
            "--with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo"),
]
