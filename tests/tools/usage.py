#!/usr/bin/env python3
"""The command line itself: help, versions, mistakes, pipes."""
import json
import os
import re
import subprocess

from command import FED, FEED, ROOT, TUNDISH, arrays, holds, main, run, same, topology

COMMANDS = run("help", "commands")[1].split("\n")
COMMANDS = [line.split()[0] for line in COMMANDS if line]


def test_without_a_command_it_says_where_help_is(_):
    code, out, err = run()
    same((code, out), (2, ""))
    holds(err, "no command is given", "tundish --help")


def test_a_misspelt_command_is_guessed(_):
    code, _, err = run("vlidate", "x.yaml")
    same(code, 2)
    holds(err, "unknown command 'vlidate'", "did you mean 'validate'?")


def test_a_misspelt_option_is_guessed(_):
    code, _, err = run("run", "x.yaml", "--reprot", "r.json")
    same(code, 2)
    holds(err, "unknown option --reprot", "did you mean --report?", "tundish run --help")


def test_an_option_of_an_actor_is_not_one_of_the_command(_):
    for words, hint in ((("--epochs", "3"), "unknown option --epochs; a reader has `epochs`: write --set ACTOR.epochs=VALUE"),
                        (("--epochs=3",), "unknown option --epochs; a reader has `epochs`"),
                        (("--size", "3"), "a batcher has `size`: write --set ACTOR.size=VALUE"),
                        (("--seed", "3"), "unknown option --seed; the files have `seed`: write --set seed=VALUE"),
                        (("--batch", "3"), "to change a batcher of the files, write --set ACTOR.OPTION=VALUE")):
        code, out, err = run("run", "x.yaml", *words)
        same((code, out), (2, ""), words)
        holds(err, hint)
    holds(run("head", "x.yaml", "--feeder", "val")[2], "to show a feeder of the files, write --at ACTOR, with its name for ACTOR")
    # A command without --set, and a word that nothing has.
    assert "--set" not in run("ps", "--epochs", "3")[2]
    holds(run("run", "x.yaml", "--stepz", "3")[2], "did you mean --steps?")


def test_an_option_of_another_command_is_refused(_):
    code, _, err = run("validate", "x.yaml", "--npz=a.npz")
    same(code, 2)
    holds(err, "option --npz does not belong here; it is one of head")
    holds(run("help", "--resume")[2], "it is one of run, up")


def test_a_missing_value_is_an_error(_):
    code, _, err = run("run", "x.yaml", "--steps")
    same(code, 2)
    holds(err, "--steps takes N")


def test_values_that_make_no_sense_are_refused(_):
    for words, text in ((["--steps", "many"], "--steps takes a number from 1, not 'many'"),
                        (["--steps=0"], "--steps takes a number from 1, not '0'"),
                        (["--set", "size"], "--set takes KEY=VALUE, not 'size'"),
                        (["--quiet=yes"], "--quiet takes no value"),
                        (["--data="], "--data takes DIR, not an empty text")):
        code, _, err = run("run", "x.yaml", *words)
        same(code, 2, words)
        holds(err, text)


def test_one_operand_too_many_is_named(_):
    for command, operands in (("pause", ["a", "b"]), ("wait", ["healthy", "a", "b"])):
        code, out, err = run(command, *operands)
        same((code, out), (2, ""), command)
        holds(err, f"tundish {command}: `b` is too much: expected tundish {command} ")


def test_no_file_is_a_mistake(_):
    for command in ("run", "up", "head", "validate", "explain"):
        code, _, err = run(command)
        same(code, 2, command)
        holds(err, "no topology file is given")


def test_every_command_has_help_with_its_exit_codes(_):
    for command in COMMANDS:
        code, out, err = run(command, "--help")
        same((code, err), (0, ""), command)
        holds(out, f"tundish {command}", "Exit codes:", "  2 ")
        told = run("help", command)[1]  # `scale` is an operation too, whose help follows
        assert told == out or (command == "scale" and told.startswith(out)), command


def test_help_lists_every_command_and_every_part(_):
    code, out, _ = run("help")
    same(code, 0)
    holds(out, *COMMANDS, "130", "75", "78")
    same(run("--help")[1], out)
    parts = [word for line in out.splitlines() for what in ("kinds", "sources", "operations")
             if line.split()[:1] == [what] for word in line.split()[1:]]
    assert {"reader", "batcher", "idx", "npy", "scale"} <= set(parts), parts
    for part in parts:
        code, text, _ = run("help", part)
        same(code, 0, part)
        holds(text, part)


def test_help_knows_what_there_is_not(_):
    code, _, err = run("help", "filters")
    same(code, 2)
    holds(err, "'filters'", "did you mean 'filter'?")


def test_help_finds_keys_and_options_by_a_word(_):
    for word, places in (("shuffle", ["reader.shuffle"]), ("splits", ["npy.NAME.splits"]),
                         ("checkpoint", ["topology.checkpoint"]),
                         ("every", ["topology.checkpoint.every"]),
                         ("metrics", ["--metrics FILE of tundish run, up"]),
                         ("plugin", ["feeder.step.plugin"]), ("drop", ["batcher.remainder"]),
                         ("host", ["host (part of", "--host HOST of tundish run"])):
        code, out, err = run("help", word)
        same((code, err), (0, ""), word)
        holds(out, *places)
    found = json.loads(run("help", "every", "--json")[1])["mentions"]
    same([one["name"] for one in found], ["feeder.every", "topology.checkpoint.every"])
    same(run("help", "zzz")[0], 2)


def words():
    """Words, answer and names to read on of each line of words.def."""
    text = (ROOT / "tools/reference/words.def").read_text()
    entries = [re.findall(r'"((?:[^"\\]|\\.)*)"', part) for part in text.split("\nWORD(")[1:]]
    return [(parts[0].split(), "".join(parts[1:-1]).replace('\\"', '"'), parts[-1].split()) for parts in entries]


def test_help_answers_words_of_other_systems(_):
    for word, answer in (("gpu", '`devices: ["cuda:0"]` of the feeder'), ("Drop-Last", "`remainder: drop` of the batcher"),
                         ("tokenizer", "Your own, in Python:"), ("validation", "`after: FEEDER`"),
                         ("docker", "runs in a container"), ("pytorch", "torch.from_dlpack"), ("prefetch", "nothing to switch on"),
                         ("deterministic", "`seed:` alone decides"), ("augment", "random_*"), ("jax", "tf.data")):
        code, out, err = run("help", word)
        same((code, err, out.splitlines()[0]), (0, "", f"{word}:"), word)
        holds(" ".join(out.split()), answer)
    same(run("help", "class", "weights")[1].splitlines()[0], "class weights:")
    each = run("help", "data", "augmentation", "on", "gpus")[1]
    holds(each, "augmentation:\n  Operations named random_*", "\n\ngpus:\n")
    same(json.loads(run("help", "my", "gpu", "--json")[1])["name"], "gpu")
    same(run("help", "my", "own")[0], 2)
    told = json.loads(run("help", "gpu", "--json")[1])
    same((told["name"], told["is"], told["see"]), ("gpu", "word", ["feeder.devices", "placement", "doctor"]))


def test_every_word_is_answered_and_leads_to_pages(_):
    entries = words()
    assert len(entries) > 30
    every = [word for names, _, _ in entries for word in names]
    same(sorted(every), sorted(set(every)))
    for names, answer, see in entries:
        told = json.loads(run("help", names[0], "--json")[1])
        same((told["is"], told["help"], told["see"]), ("word", answer, see), names[0])
        holds(run("help", names[-1])[1], f"{names[-1]}:")
    for name in sorted({name for _, _, see in entries for name in see}):
        same(run("help", name)[0], 0, f"a word leads to {name}")


def test_help_offers_no_word_of_another_meaning(_):
    for word in ("gpx", "dockr2", "mox", "qqq"):
        code, _, err = run("help", word)
        same(code, 2, word)
        assert "did you mean" not in err, err


def test_the_version_names_the_libraries(_):
    code, out, _ = run("--version")
    same(code, 0)
    holds(out, "tundish 0.", "ABI", "zeromq 4.")


def test_a_pipe_that_closes_is_not_an_error(_):
    done = subprocess.run(["bash", "-c", '"$0" help | head -n 1; exit ${PIPESTATUS[0]}', TUNDISH],
                          capture_output=True, text=True, timeout=60)
    same((done.returncode, done.stderr), (0, ""))


def test_every_command_ends_quietly_in_a_pipe(folder):
    graph = ROOT / "tests/topology/good/fashion.yaml"
    arrays(folder)
    path = topology(folder, actors=FEED % "", links=FED)
    for words in (["graph", graph], ["explain", path], ["schema"], ["completion", "bash"],
                  ["help", "--man"], ["help", "--json"], ["doctor"], ["validate", path],
                  ["diff", graph, path], ["new", folder / "x.npy"], ["run", path],
                  ["head", path]):
        done = subprocess.run(["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "-", TUNDISH,
                               *map(str, words)], capture_output=True, text=True, timeout=60)
        same((done.returncode in (0, 1 if words[0] in ("diff", "doctor") else 0), done.stderr),
             (True, ""), words)
        assert "\x1b" not in run(*words)[1], words


def on_a_terminal(*words, **env):
    """What a command writes to a terminal."""
    ours, theirs = os.openpty()
    with subprocess.Popen([TUNDISH, *words], stdout=theirs, stderr=theirs, stdin=theirs,
                          env={**os.environ, "TERM": "xterm", **env}) as process:
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # the end of a terminal
            pass
    os.close(ours)
    same(process.returncode in (0, 1), True)
    return text


def test_colours_appear_on_terminals_only(_):
    assert b"\x1b[" in on_a_terminal("doctor", NO_COLOR="")
    assert b"\x1b[" not in on_a_terminal("doctor", NO_COLOR="1")
    assert b"\x1b[" not in on_a_terminal("doctor", TERM="dumb")


def test_a_full_disk_is_an_error(_):
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "w", encoding="utf-8") as full:
        code, _, err = run("help", stdout=full)
    same(code, 1)
    holds(err, "cannot write to stdout")


main(globals())
