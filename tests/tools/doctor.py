#!/usr/bin/env python3
"""`tundish doctor`: a line each, what is bad makes it fail."""
import json

from command import BUILD, holds, main, run, same

NAMES = ["cores", "memory", "descriptors", "threads", "/dev/shm", "statistics", "temporary", "ports", "ipc",
         "clock", "huge pages", "libraries", "cuda", "nccl", "launcher"]


def test_it_says_a_line_for_each_thing(folder):
    code, out, err = run("doctor", env={"XDG_RUNTIME_DIR": str(folder)})
    same((code, err), (0, ""))
    lines = [line for line in out.splitlines() if not line.lstrip().startswith("->")]
    same([line[8:20].strip() for line in lines], NAMES)
    same({line.split()[0] for line in lines} - {"ok", "warning"}, set())
    holds(out, "zeromq ", "czmq ", "msgpack ", "libyaml ", "xxhash ", "isa-l ", "zlib ", "libdeflate", "libarchive ", "libjpeg-turbo ", "libspng ", "ncurses ",
          "jansson ", "protobuf-c ", "libmicrohttpd ")
    assert "\033" not in out
    same(list(folder.iterdir()), [], "it leaves no file")


def test_a_bad_check_is_reported_and_fails(folder):
    code, out, _ = run("doctor", "--json", env={"TMPDIR": str(folder / "no")})
    same(code, 1)
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    same(list(checks), NAMES)
    same(checks["temporary"]["level"], "bad")
    holds(checks["temporary"]["advice"], "TMPDIR")
    holds(checks["temporary"]["found"], "No such file or directory")


def test_a_driver_of_cuda_is_asked(folder):
    def ask(driver, **settings):
        code, out, _ = run("doctor", env={"LD_LIBRARY_PATH": str(BUILD / "tests" / "support" / "cuda" / driver),
                                          "XDG_RUNTIME_DIR": str(folder), **settings})
        same(code, 0)
        return out[out.rindex(" cuda ") - 8:]

    holds(ask("whole", TND_CUDA_DEVICES="2"), "ok ", "driver for CUDA 13.0, 2 devices: Hostile device 0, 1 GiB")
    holds(ask("whole", TND_CUDA_INIT="100"), "warning ", "the CUDA driver finds no device", "--gpus all")
    holds(ask("lacking"), "warning ", "the CUDA driver lacks cu")


def test_nccl_is_named_with_its_file(folder):
    support = BUILD / "tests" / "support"
    library = support / "nccl" / "whole" / "libnccl.so.2"

    def ask(path, **settings):
        code, out, _ = run("doctor", env={"TUNDISH_NCCL": str(path), "XDG_RUNTIME_DIR": str(folder), **settings})
        same(code, 0)
        return out[out.rindex(" nccl ") - 8:out.rindex(" launcher ")]

    holds(ask(library, LD_LIBRARY_PATH=str(support / "cuda" / "whole")), "ok ", f"NCCL 2.28.9, {library}\n")
    holds(ask(library, LD_LIBRARY_PATH=str(support / "cuda" / "whole"), TND_CUDA_INIT="100"), "ok ",
          f"NCCL 2.28.9, {library}; no device of CUDA can use it\n")
    holds(ask(library, NCCL_DEBUG="INFO", NCCL_ALGO="Ring"), "NCCL 2.28.9, ", "; set: ", "NCCL_DEBUG", "NCCL_ALGO")
    holds(ask(library, TND_NCCL_VERSION="21806"), "warning ", f"{library} is NCCL 2.18.6 and 2.19 is needed", "TUNDISH_NCCL")
    holds(ask("/no/such.so"), "ok ", "NCCL cannot be loaded: /no/such.so: cannot open shared object file")


if __name__ == "__main__":
    main(globals())
