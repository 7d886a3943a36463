"""`python3 -m tundish` is the command `tundish` of a wheel; with --include it prints the folder of
<tundish/tundish.h>, for the compiler: cc -shared -fPIC mine.c -o mine.so -I$(python3 -m tundish --include)"""
import os
import pathlib
import sys


def main():
    command = str(pathlib.Path(__file__).with_name("tundish"))
    os.environ.setdefault("TUNDISH_PYTHON", sys.executable)
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    if sys.argv[1:] == ["--include"]:
        from tundish import get_include
        print(get_include())
    else:
        main()
