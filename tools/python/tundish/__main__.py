"""`python3 -m tundish` is the command `tundish` of a wheel, or the installed one; with --include it prints the folder of
<tundish/tundish.h>, for the compiler: cc -shared -fPIC mine.c -o mine.so -I$(python3 -m tundish --include); with --libs what
links a program with the library: cc mine.c -o mine -I$(python3 -m tundish --include) $(python3 -m tundish --libs)"""
import os
import pathlib
import sys


def main():
    beside = pathlib.Path(__file__).with_name("tundish")
    command = str(beside) if beside.exists() else "tundish"
    os.environ.setdefault("TUNDISH_PYTHON", sys.executable)
    os.execvp(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    if sys.argv[1:] == ["--include"]:
        from tundish import get_include
        print(get_include())
    elif sys.argv[1:] == ["--libs"]:
        from tundish import get_library
        library = get_library()
        print(f"{library} -Wl,-rpath,{os.path.dirname(library)}")
    else:
        main()
