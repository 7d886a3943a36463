"""What the tests of launchers share: a graph of three hosts, and an environment without a launcher."""
import os
import re
import socket

from command import BUILD, FEED, ROOT, arrays, free_port, run, same, topology

PREP = "  prep: {kind: preprocessor, ops: []}\n"
OTHERS = re.compile("^(TF_CONFIG|RANK|WORLD_SIZE|OMPI_|PMI|SLURM_|JOB_COMPLETION|TUNDISH_(RANK|HOSTS|LAUNCH|LEADER|MEET|JOB))")
PROGRAM = """
import tundish
with tundish.feed(*FILES) as feed:
    rows = sum(batch.rows for batch in feed)
    print(rows, feed.session.digest())
"""


def clean(**more):
    """The environment without the variables of a launcher that may have started this test."""
    kept = {name: value for name, value in os.environ.items() if not OTHERS.match(name)}
    return {**kept, "PYTHONPATH": str(ROOT / "tools/python"), "TUNDISH_LIBRARY": str(BUILD / "libtundish.so"), **more}


def graph(folder):
    arrays(folder)
    return topology(folder, actors=PREP + FEED % "", links=["read -> prep -> batch -> feed"])


def hosts(folder, names=("a", "b", "c")):
    path = folder / "hosts.yaml"
    actors = ["read, batch", "prep", "feed"]
    path.write_text(f"port: {free_port()}\nhosts:\n" + "".join(
        f"  {name}: {{actors: [{actors[i]}]}}\n" for i, name in enumerate(names)))
    return path


def leads(host, machine=None):
    """As processes that have met say it."""
    return f"{host} on {machine or socket.gethostname()} leads at"


def stream(out):
    return re.search("stream ([0-9a-f]{32})", out).group(1)


def alone(*files):
    code, out, err = run("run", *files, env={"TUNDISH_LAUNCH": "none"})
    same(code, 0, err)
    return stream(out)
