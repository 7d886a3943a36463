#!/usr/bin/env python3
"""Records of `tundish run`, `up` and `head`: levels, JSON, one a line, of which host."""
import json

from command import BUILD, FED, FEED, arrays, free_port, holds, main, run, same, topology


def graph(folder, **more):
    arrays(folder)
    return topology(folder, actors=FEED % "", links=FED, **more)


def levels(err):
    return {line.split()[2] for line in err.splitlines()}


def test_a_level_shows_itself_and_what_is_worse(folder):
    path = graph(folder)
    same(run("run", path, "--quiet"), (0, "", ""))
    same(run("run", path, "--quiet", "--log-level", "warn"), (0, "", ""))
    code, out, err = run("run", path, "--log-level", "info")
    same((code, levels(err)), (0, {"info"}))
    holds(err, "local leader info host local is connected\n", "local leader info feed is running\n",
          "feed: 1 epoch has ended, the last with step 3", "local leader info the run has ended\n")
    code, out, err = run("run", path, "--log-level=debug", "--quiet")
    same((code, out, levels(err)), (0, "", {"info", "debug"}))
    holds(err, "local batch.0 debug is connected to feed\n")


def test_json_has_one_object_a_line(folder):
    code, out, err = run("run", graph(folder), "--log-level", "debug", "--log-json", "--json")
    same(code, 0)
    json.loads(out)
    records = [json.loads(line) for line in err.splitlines()]
    same({tuple(record) for record in records},
         {("time", "host", "actor", "level", "text", "count")})
    assert {"level": "info", "text": "feed is running"}.items() <= \
        {k: v for r in records if r["text"] == "feed is running" for k, v in r.items()}.items()


def test_why_it_failed_is_a_record_too(folder):
    path = graph(folder)
    (folder / "x.npy").write_bytes(b"no array")
    code, out, err = run("run", path, "--log-json", "--quiet")
    assert code in (1, 78), code
    arrays(folder)
    path = topology(folder, actors=FEED % ", step: {plugin: probe, fail_at: 1}", links=FED)
    code, out, err = run("run", path, "--log-json", "--quiet",
                         env={"TUNDISH_PLUGIN_PATH": str(BUILD / "tests")})
    same((code, out), (1, ""))
    record, = [json.loads(line) for line in err.splitlines()]
    same((record["level"], record["host"], record["actor"]), ("error", "local", "run"))
    holds(record["text"], "the probe fails as it was told")


def test_up_hands_the_records_of_all_hosts_through(folder):
    path, over = graph(folder), folder / "two.yaml"
    over.write_text(f"port: {free_port()}\nhosts:\n  a: {{actors: [read, batch]}}\n"
                    "  b: {actors: [feed]}\n")
    code, out, err = run("up", path, over, "--log-level", "debug", "--log-json", "--quiet")
    same(code, 0)
    records = [json.loads(line) for line in err.splitlines()]
    same({record["host"] for record in records}, {"a", "b"})
    code, out, err = run("up", path, over, "--log-level", "info", "--quiet")
    holds(err, "a | a leader info host b is connected\n")


def test_head_takes_them(folder):
    code, out, err = run("head", graph(folder), "--log-level", "info")
    same(code, 0)
    holds(err, " leader info ")
    same(run("head", graph(folder))[2], "")


def test_a_level_that_is_none_is_refused(folder):
    for command in ("run", "up", "head"):
        code, out, err = run(command, graph(folder), "--log-level", "inf")
        same((code, out), (2, ""))
        holds(err, "--log-level takes error, warn, info or debug, not 'inf'; did you mean info?")


if __name__ == "__main__":
    main(globals())
