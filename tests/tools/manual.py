#!/usr/bin/env python3
"""The manual and the completion of shells: made from the tables, so complete and well formed."""
import json
import os
import re
import shutil
import subprocess

from command import ROOT, TUNDISH, holds, main, run, same

TABLES = json.loads(run("help", "--json")[1])
COMMANDS = {one["name"]: one for one in TABLES["commands"]}
PAGES = [None, "topology", "topics", *COMMANDS]


def page(name):
    code, out, err = run("help", "--man", *([name] if name else []))
    same((code, err), (0, ""), name)
    return out


def plain(roff):
    """What a page says, without its escapes."""
    text = re.sub(r"\\f[BRI]", "", roff)
    for escape, byte in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^"),
                         (r"\(ti", "~"), (r"\&", ""), (r"\e", "\\")):
        text = text.replace(escape, byte)
    return " ".join(text.split())


def test_every_page_is_well_formed(_):
    for name in PAGES:
        lines = page(name).splitlines()
        assert lines[0].startswith(".TH "), lines[0]
        for line in lines:
            assert not line.startswith("'"), line
            if line.startswith("."):
                assert re.match(r"\.(TH|SH|SS|TP|PP|B|I|BR|RI|nf|fi)\b", line), line
            for escape in re.findall(r"\\(.)", line):
                assert escape in "fe(&-", line
            assert line == line.rstrip() or line.startswith(".TH"), repr(line)


def test_what_checks_pages_has_nothing_to_say(_):
    if shutil.which("groff") is None:
        return
    for name in PAGES:
        done = subprocess.run(["groff", "-ww", "-man", "-Tascii"], input=page(name), text=True,
                              capture_output=True)
        same((done.returncode, done.stderr), (0, ""), name)
        assert len(done.stdout) > 500, name


def test_every_command_and_option_has_its_place(_):
    for name, command in COMMANDS.items():
        text = plain(page(name))
        holds(text, command["help"], "EXIT STATUS", "SEE ALSO", "tundish-topology (5)")
        for option in command["options"]:
            holds(text, option["name"], " ".join(option["help"].split()))
        holds(plain(page(None)), f"tundish-{name}", command["help"])
    text = plain(page("topology"))
    for chapter in ("kinds", "sources", "operations", "others"):
        for table in TABLES[chapter]:
            holds(text, f".SS {table['name']}", *[" ".join(option["help"].split())
                                                  for option in table["options"]])


def test_every_topic_is_a_page_of_help(_):
    topics = ROOT / "tools/reference/topics"
    names = re.findall(r"^TOPIC\((\w+)\)", (topics / "topics.def").read_text(), re.M)
    same(sorted(names), sorted(path.stem for path in topics.glob("*.txt")))
    for name in names:
        text = (topics / f"{name}.txt").read_text()
        assert run("help", name)[1].startswith(f"{name} - {text}"), name
        # Things of the same name follow the topic.
        same(json.loads(run("help", name, "--json")[1].splitlines()[0])["help"], text)
        holds(run("help")[1], f"  {name} ", text.splitlines()[0])
        holds(plain(page("topics")), f".SH {name.upper()}", *text.split("\n\n")[-1].split())


def test_there_are_no_other_pages(_):
    code, _, err = run("help", "--man", "batcher")
    same(code, 2)
    holds(err, "'batcher' has no manual page")


def bash(folder, *words):
    """What bash offers at the end of a line."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f'source <("$0" completion bash); COMP_WORDS=({quoted}); '
              f"COMP_CWORD={len(words) - 1}; _tundish; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script, os.path.abspath(TUNDISH)], capture_output=True,
                          text=True, cwd=folder)
    same((done.returncode, done.stderr), (0, ""), words)
    return sorted(done.stdout.split())


def test_bash_completes_commands_options_and_files(folder):
    (folder / "graph.yaml").touch()
    (folder / "data").mkdir()
    same(bash(folder, "tundish", ""), sorted([*COMMANDS, "--help", "--version"]))
    same(bash(folder, "tundish", "val"), ["validate"])
    for name, command in COMMANDS.items():
        same(bash(folder, "tundish", name, "--"),
             sorted([*[option["name"] for option in command["options"]], "--help"]))
    same(bash(folder, "tundish", "run", "gr"), ["graph.yaml"])
    same(bash(folder, "tundish", "run", "graph.yaml", "--data", ""), ["data"])
    same(bash(folder, "tundish", "run", "graph.yaml", "--steps", ""), [])
    same(bash(folder, "tundish", "new", "-o", "gr"), ["graph.yaml"])
    same(bash(folder, "tundish", "help", "batc"), ["batcher"])
    same(bash(folder, "tundish", "completion", ""), ["bash", "fish", "zsh"])


def test_other_shells_read_theirs(folder):
    for shell in ("zsh", "fish"):
        path = folder / shell
        path.write_text(run("completion", shell)[1])
        for name, command in COMMANDS.items():
            holds(path.read_text(), name, *[option["name"].lstrip("-")
                                            for option in command["options"]])
        if shutil.which(shell) is not None:
            done = subprocess.run([shell, "-n", path], capture_output=True, text=True)
            same((done.returncode, done.stderr), (0, ""), shell)
    if shutil.which("fish") is not None:
        done = subprocess.run(["fish", "-c", f"source {folder / 'fish'}; complete -C 'tundish vali'"
                               f"; complete -C 'tundish head --js'"],
                              capture_output=True, text=True, env={"HOME": str(folder),
                                                                   "PATH": "/usr/bin:/bin"})
        holds(done.stdout, f"validate\t{COMMANDS['validate']['help']}", "--json\t")


def test_a_shell_that_is_not_known_is_a_mistake(_):
    code, _, err = run("completion", "tcsh")
    same(code, 2)
    holds(err, "bash, fish and zsh")
    same(run("completion")[0], 2)


def test_versions_are_in_the_json(_):
    told = json.loads(run("--version", "--json")[1])
    assert {"tundish", "abi", "wire", "zeromq", "czmq", "msgpack", "libyaml", "xxhash", "isa-l",
            "zlib", "libdeflate", "libarchive", "libjpeg-turbo", "libspng", "jansson", "ncurses",
            "protobuf-c", "libmicrohttpd"} <= set(told), told
    for library in ("czmq", "msgpack", "libyaml", "xxhash", "zlib"):
        holds(run("--version")[1], f"{library} {told[library]}")
    same(run("--version", "--jsn")[0], 2)


main(globals())
