#!/usr/bin/env python3
"""`tundish tap`, `follow` and `latency`: what actors recorded is shown without their help."""
import json
import os
import signal

from command import holds, main, run, same
from ps import hanging, in_step, until

#  100 rows in batches of 32: step S has the rows from 32 S on.
BATCH = 32
RUN = "stuck"  # other runs may be on this machine


def shown(*words, environment, said=""):
    code, out, err = run(*words, RUN, "--json", env=environment)
    same(code, 0)
    assert said in err if said else err == "", err
    return [json.loads(line) for line in out.splitlines()]


def test_a_hung_run_shows_its_last_events(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        events = shown("tap", "batch", "--last", environment=environment,
                       said=f"batch.0 records nothing now: its process {process.pid} is stopped")
        os.kill(process.pid, signal.SIGCONT)
        os.waitid(os.P_PID, process.pid, os.WCONTINUED | os.WNOWAIT)
        times = [event["monotonic_seconds"] for event in events]
        same(times, sorted(times))
        same({event["actor"] for event in events}, {"batch.0"})
        cuts = [event for event in events if event["event"] == "batch_cut"]
        same([(cut["step"], cut["position"]) for cut in cuts],
             [(0, 32), (1, 64), (2, 96), (3, 0)])
        same([cut["epoch"] for cut in cuts], [0, 0, 0, 1], "the next row to use")
        slices = [event for event in events if event["event"] == "slice_sent"]
        same([(part["step"], part["peer"]) for part in slices],
             [(step, "feed") for step in range(len(slices))])
        received = [event for event in events if event["event"] == "block_received"]
        same(sum(event["positions"] for event in received), 100)

        steps = [event for event in shown("tap", "feed", "--last", environment=environment)
                 if event["event"] == "step_committed"]
        same([(event["step"], event["rows"]) for event in steps], [(0, BATCH), (1, BATCH)])

        both = shown("tap", "read..batch", "--last", environment=environment)
        same({event["actor"] for event in both}, {"read.0", "batch.0"})
        same({event["peer"] for event in both}, {"read.0", "batch.0"})
        same(shown("tap", "read->batch", "--last", "-n", "3", environment=environment), both[-3:])


def test_a_position_is_followed_to_the_commit_of_its_step(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        events = shown("follow", "--sample", "40", environment=environment)
        way = [(event["actor"], event["event"]) for event in events]
        same(way[0], ("batch.0", "ticket_sent"))
        order = [("read.0", "ticket_received"), ("read.0", "block_made"),
                 ("read.0", "block_sent"), ("batch.0", "block_received"),
                 ("batch.0", "batch_cut"), ("feed", "slice_received"), ("feed", "step_ready"),
                 ("feed", "step_run"), ("feed", "step_committed")]
        same([hop for hop in way if hop in order], order)
        same({event["step"] for event in events if "step" in event}, {40 // BATCH})
        for event in events:
            if "positions" in event:
                assert event["position"] <= 40 < event["position"] + event["positions"], event

        code, _, err = run("follow", RUN, "--sample", "100", "--last", env=environment)
        same(code, 1)
        holds(err, "position 100 did not pass")


def test_latency_is_measured_between_two_actors(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        for pair in "read..batch", "batch..feed", "read..feed":
            code, out, err = run("latency", pair, RUN, "--last", "--json", env=environment)
            same((code, err), (0, ""))
            made = json.loads(out)
            assert made["samples"] > 0, made
            marks = [made[f"{mark}_seconds"] for mark in ("min", "p50", "p90", "p99", "max")]
            same(marks, sorted(marks))
            assert 0 <= marks[0] and marks[-1] < 60, made


def test_it_ends_in_time_and_refuses_what_it_cannot_show(folder):
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        same(run("tap", "read", RUN, "-d", "50ms", env=environment),
             (0, "", "tundish tap: nothing passed\n"))
        same(run("tap", "read..feed", RUN, "--last", env=environment),
             (0, "", "tundish tap: nothing passed: no edge links read and feed\n"))
        for words, code, text in [
                (("tap", "absent", RUN), 1, "no actor `absent`"),
                (("tap", "read..absent", RUN), 1, "no actor `absent`"),
                (("tap", "read", "elsewhere"), 1, "no run `elsewhere`"),
                (("tap", "read", "-d", "5"), 2, "--duration takes a time"),
                (("tap",), 2, "name an edge"),
                (("tap", "read..", RUN), 2, "`read..` is neither an edge such as"),
                (("tap", "..read", RUN), 2, "neither an edge"),
                (("latency", "read..", RUN), 2, "is not a pair"),
                (("follow",), 2, "--sample POSITION or --row F:N is missing"),
                (("follow", "--sample", "x"), 2, "takes a number"),
                (("latency", "read"), 2, "is not a pair"),
                (("latency", "feed..read", RUN, "-d", "50ms"), 1, "nothing passed")]:
            got, out, err = run(*words, env=environment)
            same((got, out), (code, ""), words)
            holds(err, text)
        process.kill()
        process.wait()
        steps = [event["step"] for event in shown("tap", "feed", "--last", environment=environment)
                 if event["event"] == "step_committed"]
        same(steps, [0, 1], "the events of a killed process are kept")
        for words in ("tap", "feed"), ("tap", "feed", "--rows", "1"), ("latency", "read..feed"):
            same(run(*words, RUN, env=environment),
                 (1, "", f"tundish {words[0]}: the run `{RUN}` was killed, so nothing passes; "
                         "--last shows what passed before\n"))
    with hanging(folder) as (environment, process):
        until(environment, in_step)
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        shown("tap", "feed", "--last", environment=environment)  # the one that lives


def test_what_is_not_recorded_any_more_may_have_passed(folder):
    with hanging(folder, at=2000, read=", epochs: 1000") as (environment, _):
        until(environment, lambda actors: "feed" in actors and
              [d["step"] for d in actors["feed"]["devices"]] == [2000])
        code, _, err = run("follow", RUN, "--sample", "100", "--last", env=environment)
        same(code, 1)
        holds(err, "position 100 is not in the recorded events; ", "it may have passed")


if __name__ == "__main__":
    main(globals())
