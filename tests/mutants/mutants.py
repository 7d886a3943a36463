"""Reads the lists of planted bugs, finds the lines that they change, and changes them."""
import collections
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "caught.table"
FOLDERS = ("runtime", "transport", "actors", "tools", "examples")

Mutant = collections.namedtuple("Mutant", "name known sentence search replacement origin")


def read_lists():
    """All planted bugs, in the order of the lists."""
    found = []
    for path in sorted(HERE.glob("*.txt")):
        text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.M)
        for part in re.split(r"^(?=@ )", text, flags=re.M):
            if not part.strip():
                continue
            match = re.fullmatch(r"@ (\w+)( !)?\n(.+)\n-\n((?:.*\n)*?)\+\n((?:.*\n)*)", part)
            if match is None:
                raise SystemExit(f"{path}: not understood: {part.splitlines()[0]}")
            name, known, sentence, search, replacement = match.groups()
            found.append(Mutant(name, known is not None, sentence, search, replacement.rstrip("\n"),
                                path.name))
    return found


def read_results():
    """The test that noticed each planted bug, None where none did, by the name of the bug."""
    results = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            if line and not line.startswith("#"):
                name, test = line.split()
                results[name] = None if test == "-" else test
    return results


def write_results(results):
    """Keeps one line per planted bug, in the order of the lists."""
    names = [mutant.name for mutant in read_lists() if mutant.name in results]
    width = max(len(name) for name in names)
    RESULTS.write_text("# Written by `run`: each planted bug, and the test that noticed it (-: none did).\n" +
                       "".join(f"{name:{width}} {results[name] or '-'}\n" for name in names))


def pattern_of(search):
    """Lines may be broken in another way than in the list: any white space is as good."""
    return re.compile(r"\s+".join(re.escape(word) for word in search.split()))


def sources(root):
    """The text of every C file that a mutant may change, by its path."""
    return {path: path.read_text() for folder in FOLDERS
            for path in sorted((root / folder).rglob("*.[ch]"))}


def find(mutant, texts):
    """Where the search text occurs: (path, start, end), ..."""
    pattern = pattern_of(mutant.search)
    return [(path, match.start(), match.end()) for path, text in texts.items()
            for match in pattern.finditer(text)]


def apply(mutant, texts):
    """(path, the text of that file with the bug planted)."""
    (path, start, end), = find(mutant, texts)
    return path, texts[path][:start] + mutant.replacement.strip() + texts[path][end:]
