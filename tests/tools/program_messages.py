#!/usr/bin/env python3
"""What a program is told: warnings, the account of rows, and errors of its own use of a session.

Python programs use the module; those of C call the same functions of the library, here by ctypes."""
import ctypes
import logging
import os
import re
import subprocess
import sys
import threading
import warnings

import numpy

from command import BUILD, FED, FEED, ROOT, arrays, free_port, holds, main, run, same, topology
from manifests import remove_metrics

os.environ["TUNDISH_LIBRARY"] = str(BUILD / "libtundish.so")
MODULE = ROOT / "tools/python"
sys.path.insert(0, str(MODULE))
import tundish  # noqa: E402
from tundish import _library  # noqa: E402

OK, END, STOPPED, FAILED = range(4)


def records():
    """A list that receives what is logged from now on."""
    class Keep(logging.Handler):
        def emit(self, record):
            seen.append((record.levelname, record.getMessage()))
    seen, logger = [], logging.getLogger("tundish")
    logger.handlers, logger.propagate = [Keep()], False
    return seen


def fails(kind, call, *words):
    try:
        call()
    except kind as error:
        holds(str(error), *words)
        return error
    raise AssertionError(f"no {kind.__name__}")


def csv(folder, text):
    """A graph whose reader gives the lines of a file; those that are no pair of numbers are bad."""
    (folder / "rows.csv").write_text(text)
    path = folder / "csv.yaml"
    path.write_text(f"""tundish: 1
actors:
  read: {{kind: reader, source: {{csv: {{files: {folder}/rows.csv}}}}}}
  prep: {{kind: preprocessor, on_error: skip, ops: [{{decode_csv: {{fields: {{id: i32, x: f32}}}}}}]}}
  batch: {{kind: batcher, size: 2}}
  feed: {{kind: feeder}}
links: [read -> prep -> batch -> feed]
""")
    return path


HALF_BAD, ALL_BAD = "1,0.5\n2,oops\n3,1.5\nfour,2.5\n", "id,x\nid,x\n"


def test_bad_rows_are_logged_counted_and_warned_about(folder):
    path, seen = csv(folder, HALF_BAD), records()
    with warnings.catch_warnings(record=True) as warned, tundish.feed(path) as feed:
        warnings.simplefilter("always")
        same([batch.rows for batch in feed], [2])
        report = feed.report
    same(report[:9], (1, 1, 4, 0, 2, 0, 2, 0, 0))
    same(feed.report, report, "after the session")
    same([(bad.count, bad.where) for bad in report.reasons], [(2, "prep, operation 1, `decode_csv`")])
    holds(report.reasons[0].first, "`oops`", "not a number of type f32")
    same([level for level, _ in seen], ["WARNING", "WARNING"])
    holds(seen[0][1], "local read.0: record 1 of ", "rows.csv, at byte 6 is bad")
    same([one.category for one in warned], [tundish.DataWarning])
    holds(str(warned[0].message), "2 of 4 rows read were bad", "rows: 4 read, 0 filtered, 2 bad, 0 dropped")
    same(warned[0].filename, __file__)


def test_a_run_without_bad_rows_is_silent(folder):
    path, seen = csv(folder, "1,0.5\n2,1.5\n3,2.5\n"), records()
    with warnings.catch_warnings(), tundish.feed(path) as feed:
        warnings.simplefilter("error")
        same([batch.rows for batch in feed], [2, 1])
    same((feed.report.read, feed.report.fed, feed.report.bad, feed.report.reasons), (3, 3, 0, ()))
    same(seen, [])


def test_a_feed_without_a_step_although_rows_were_read_fails(folder):
    records()
    with tundish.feed(csv(folder, ALL_BAD)) as feed:
        fails(tundish.Error, lambda: next(feed), "feed: no step was fed: of 2 rows read 0 were filtered out, 2 bad and 0 dropped",
              "2 by prep", "`id` is `id`")
    same((feed.report.read, feed.report.bad), (2, 2))
    arrays(folder, rows=3)
    short = topology(folder, batch="size: 4, remainder: drop", links=FED, actors=FEED % "")
    with tundish.feed(short) as feed:
        fails(tundish.Error, lambda: list(feed), "of 3 rows read 0 were filtered out, 0 bad and 3 dropped")
    status, out, err = run("run", short)
    same(status, 0, err)  # the command warns
    holds(out, "warning: no step was fed")


def loaded(path):
    """A graph and an open session, as a C program has them."""
    graph = ctypes.c_void_p(_library.graph_load((ctypes.c_char_p * 1)(os.fsencode(path)), 1))
    session = ctypes.c_void_p()
    same(_library.session_open(ctypes.byref(session), graph, None), OK)
    return graph, session


def destroyed(graph, session):
    status = _library.session_destroy(ctypes.byref(session))
    errors = _library.graph_errors(graph).decode()
    _library.graph_destroy(ctypes.byref(graph))
    return status, errors


STEP = _library.StepFunction(lambda replica, user: OK)


def pulled(feed, most=1000):
    """The status after the last step, and the steps that were run."""
    for count in range(most):
        status = _library.feed_next(feed)
        if status != OK:
            return status, count
        same(_library.feed_run(feed, STEP, None, None), OK)
    return OK, most


def test_c_a_function_for_the_log_gets_all_records(folder):
    graph, session = loaded(csv(folder, HALF_BAD))
    lines = []
    take = _library.LogFunction(lambda line, _: lines.append((line.contents.level, line.contents.text.decode())))
    _library.session_log(session, 2, take, None)
    feed = _library.session_feed(session, None)
    same(pulled(feed), (END, 1))
    found, bad = _library.Summary(), _library.Bad()
    same(_library.session_summary(session, b"feed", ctypes.byref(found)), True)
    same((found.steps, found.read, found.fed, found.bad, found.reasons), (1, 4, 2, 2, 1))
    same((_library.session_bad(session, b"feed", 0, ctypes.byref(bad)), bad.count), (True, 2))
    same(_library.session_bad(session, b"feed", 1, ctypes.byref(bad)), False)
    same(_library.session_summary(session, b"none", ctypes.byref(found)), False)
    same(_library.session_wait(session), OK)
    same(destroyed(graph, session), (OK, ""))
    same([level for level, _ in lines], [2, 2])


C_PROGRAM = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import program_messages as program
graph, session = program.loaded(sys.argv[3])
status, steps = program.pulled(program._library.session_feed(session, None))
print(status, steps, program._library.session_error(session).decode())
print(program.destroyed(graph, session)[0])
"""


def test_c_warnings_go_to_stderr_and_an_empty_feed_is_a_failure(folder):
    done = subprocess.run([sys.executable, "-c", C_PROGRAM.replace("import program_messages as program", IMPORT),
                           ROOT / "tests/tools", MODULE, csv(folder, ALL_BAD)], text=True, capture_output=True, timeout=60)
    same(done.returncode, 0, done.stderr)
    lines = done.stdout.splitlines()
    holds(lines[0], f"{FAILED} 0 feed: no step was fed: of 2 rows read")
    same(lines[1], str(FAILED))
    warned = done.stderr.splitlines()
    same(len(warned), 2, done.stderr)
    holds(warned[0], "tundish: warning: local read.0: record 0 of ", "is bad")


# The tests of this file do not run in the program.
IMPORT = """import command
command.main = lambda scope: None
import program_messages as program"""


def test_c_a_wait_for_steps_that_only_the_caller_can_pull_is_an_error(folder):
    arrays(folder)  # 4 steps per epoch
    for steps, drains in ((1, False), (4, False), (2, True)):
        graph, session = loaded(topology(folder, links=FED, actors=FEED % "", read=", epochs: 1000000" if drains else ""))
        feed = _library.session_feed(session, None)
        same(pulled(feed, steps), (OK, steps))
        if drains:
            _library.session_drain(session)
        same(_library.session_wait(session), FAILED)
        holds(_library.session_error(session).decode(), "feed: tnd_session_wait was called on the thread that pulls this feed",
              "call tnd_session_finish to end the run after the last step")
        same(pulled(feed, 10**8)[0], STOPPED if drains else END)
        same(_library.session_wait(session), STOPPED if drains else OK)
        same(destroyed(graph, session), (STOPPED if drains else OK, ""))


def test_a_program_ends_its_run_after_the_last_batch(folder):
    arrays(folder)  # 4 batches of 32 per epoch
    endless = topology(folder, links=FED, actors=FEED % "", read=", epochs: 1000000")
    for epochs, steps, rows in ((1000000, 1, 32), (1000000, 6, 164), (1, 4, 100)):
        path = topology(folder, links=FED, actors=FEED % "", read=f", epochs: {epochs}")
        with tundish.feed(path) as feed:
            same([next(feed).step for _ in range(steps)], list(range(steps)))
            feed.finish()
            same(feed.report[:5], (steps, steps // 4, rows, 0, rows))
            digest = feed.session.digest()
            fails(tundish.Error, lambda: list(feed), "a feed is read once")
            same(next(feed, None), None)
        status, out, err = run("run", endless, "--steps", steps)
        same(status, 0, err)
        holds(out, f"stream {digest}")


def test_a_finish_completes_the_checkpoint_and_warns_of_bad_rows(folder):
    arrays(folder, rows=1000)
    records()
    path = topology(folder, batch="size: 8", links=FED, actors=FEED % "", top=f"checkpoint: {{dir: {folder}/kept}}\n")
    with tundish.feed(path) as feed:
        for batch in feed:
            if batch.step == 10:
                feed.save(lambda file, replica: open(file, "wb").close())
                break
        feed.finish()
        same((folder / "kept/step-00000011/manifest").exists(), True)
    with warnings.catch_warnings(record=True) as warned, tundish.feed(csv(folder, HALF_BAD)) as feed:
        warnings.simplefilter("always")
        next(feed)
        feed.finish()
        same([(one.category, one.filename) for one in warned], [(tundish.DataWarning, __file__)])


HOSTS = """port: {port}
hosts:
  a: {{address: 127.0.0.1, actors: [read, batch, feed], devices: {{feed: ["cpu:0"]}}}}
  b: {{address: 127.0.0.1, actors: [feed], devices: {{feed: ["cpu:0"]}}}}
"""
ONE_HOST = """
import sys, tundish
with tundish.feed(*sys.argv[1:3], host=sys.argv[3]) as feed:
    for _ in range(int(sys.argv[4])):
        next(feed)
    feed.finish()
    print(feed.session.digest())
"""


def test_programs_on_two_hosts_end_their_run_after_the_same_batch(folder):
    arrays(folder)
    path = topology(folder, batch="size: 32, replicas: 2", links=FED, actors=FEED % "", read=", epochs: 1000000")
    (folder / "hosts.yaml").write_text(HOSTS.format(port=free_port()))
    hosts = [subprocess.Popen([sys.executable, "-c", ONE_HOST, path, folder / "hosts.yaml", host, "6"],
                              env={**os.environ, "PYTHONPATH": str(MODULE)}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) for host in "ab"]
    said = [host.communicate(timeout=60) for host in hosts]
    same([host.returncode for host in hosts], [0, 0], said)
    holds(run("run", path, "--steps", "6")[1], f"stream {said[0][0].strip()}")
    same(said[1][0], "None\n")


LOST = """
import sys
import tundish
try:
    with tundish.feed(*sys.argv[1:3], host=sys.argv[3]) as feed:
        for batch in feed:
            if batch.step == 3:
                print("step 3", flush=True)
except tundish.Error as error:
    print(error)
"""


def test_a_program_is_told_of_a_host_that_was_lost(folder):
    arrays(folder)
    path = topology(folder, batch="size: 32, replicas: 2", links=FED, actors=FEED % "", read=", epochs: 1000000")
    (folder / "hosts.yaml").write_text(HOSTS.format(port=free_port()))
    one, other = (subprocess.Popen([sys.executable, "-c", LOST, path, folder / "hosts.yaml", host], text=True,
                                   env={**os.environ, "PYTHONPATH": str(MODULE)}, stdout=subprocess.PIPE)
                  for host in "ab")
    same(one.stdout.readline(), "step 3\n")
    same(other.stdout.readline(), "step 3\n")
    other.kill()
    other.communicate(timeout=60)
    said = one.communicate(timeout=60)[0]
    holds(said, "host b")


def test_info_records_come_at_the_level_of_the_logger(folder):
    arrays(folder)
    path, seen = topology(folder, links=FED, actors=FEED % "", top=f"checkpoint: {{dir: {folder}/kept}}\n"), records()
    logger = logging.getLogger("tundish")
    logger.setLevel(logging.INFO)
    try:
        with tundish.feed(path) as feed:
            next(feed)
            feed.save(lambda file, replica: open(file, "wb").close())
            next(feed)
    finally:
        logger.setLevel(logging.NOTSET)
    holds("\n".join(text for level, text in seen if level == "INFO"), "checkpoint after step 0 in ")


def test_the_account_in_a_loop_is_that_of_the_steps_before_the_batch(folder):
    """Rows 0, 1, bad, 3, 4, bad ...: a step takes two good rows, and the bad one before them."""
    path = csv(folder, "".join("?\n" if n % 3 == 2 else f"{n},{n}\n" for n in range(300)))
    with tundish.feed(path) as feed:
        for n, batch in enumerate(feed):
            report = feed.report
            same((report.steps, report.fed, report.read, report.bad), (n, 2 * n, max(3 * n - 1, 0), max(n - 1, 0)), n)
        same(n, 99)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(feed.report[:5], (100, 1, 300, 0, 200))
        fails(tundish.Error, lambda: feed.report("loss", 1.0, 2), "is the account of the rows, not a function",
              "`replica.report(metric, sum, weight)`")


def test_a_shuffle_that_each_new_feed_repeats_is_noted_once(folder):
    arrays(folder)
    seen, told = records(), "the same rows in the same order as one before it"
    for read, noted, settings in ((", shuffle: global", 1, ({}, {}, {})), ("", 0, ({}, {})), (", shuffle: none", 0, ({}, {})),
                                  (", order: [{shuffle: {buffer: 20}}]", 0, ({"seed": 1}, {"seed": 2})),
                                  (", order: [{shuffle: {buffer: 30}}, {repeat: 2}]", 1, ({}, {})), (", order: [{global: {}}, {take: 20}]", 1, ({}, {}))):
        seen.clear()
        path = topology(folder, read=read, links=["read -> batch -> rows"], actors="  rows: {kind: feeder}\n")
        for chosen in settings:
            with tundish.feed(path, settings=chosen) as feed:
                for _ in feed:
                    pass
        same([level for level, text in seen if told in text], ["WARNING"] * noted, (read, seen))
    same([text.count(words) for words in ("`epochs: 3`", "feed.epochs()", "`seed:`") for _, text in seen], [1, 1, 1])
    with tundish.feed(path) as feed:  # left in the middle
        next(feed)


def test_c_a_shuffle_that_each_new_session_repeats_is_noted_once(folder):
    arrays(folder)
    path, lines = topology(folder, read=", order: [{shuffle: {buffer: 7}}]", links=["read -> batch -> rows"], actors="  rows: {kind: feeder}\n"), []
    take = _library.LogFunction(lambda line, _: lines.append((line.contents.level, line.contents.text.decode())))
    for _ in range(3):
        graph, session = loaded(path)
        _library.session_log(session, 2, take, None)
        same(pulled(_library.session_feed(session, None))[0], END)
        same(destroyed(graph, session), (OK, ""))
    same([level for level, text in lines if "the same rows in the same order as one before it" in text], [2], lines)


def test_memory_is_checked_as_by_commands(folder):
    """The same text and advice, up to a budget that fits."""
    arrays(folder)
    budget = 1
    while True:
        path = topology(folder, links=FED, actors=FEED % "", top=f"memory: {budget}MiB\n")
        code, _, err = run("run", path)
        if code == 0:
            break
        same(code, 78)
        said, advice = re.search(r"\S+: error\[T065\]: host local may need .*", err)[0], re.search(r"= help: (.*)", err)[1]
        holds(said, str(path), f"`memory:` allows {budget} MiB")
        fails(tundish.Error, lambda: tundish.feed(path), said, advice)
        graph, session = loaded(path)
        same(_library.session_feed(session, None), None)
        same(_library.session_wait(session), FAILED)
        holds(_library.session_error(session).decode(), said, advice)
        same(destroyed(graph, session)[0], FAILED)
        budget = int(re.search(r"`memory: (\d+)MiB`", advice)[1])
    assert budget > 1
    with tundish.feed(path) as feed:
        same(sum(batch.rows for batch in feed), 100)


def test_c_a_feed_name_that_no_feeder_has_fails_the_session(folder):
    arrays(folder)
    graph, session = loaded(topology(folder, links=FED, actors=FEED % ""))
    same(_library.session_feed(session, b"fed"), None)
    same(_library.session_wait(session), FAILED)
    same(_library.session_error(session).decode(), "no feeder of this graph is named `fed`; there is `feed`")
    same(destroyed(graph, session)[0], FAILED)


def test_c_a_second_thread_that_pulls_is_refused(folder):
    arrays(folder)
    graph, session = loaded(topology(folder, links=FED, actors=FEED % ""))
    feed, got = _library.session_feed(session, None), []
    same(_library.feed_next(feed), OK)
    thread = threading.Thread(target=lambda: got.append(_library.feed_next(feed)))
    thread.start()
    thread.join()
    same(got, [FAILED])
    holds(_library.session_error(session).decode(), "feed: another thread has pulled a step and not run it")
    same(_library.feed_run(feed, STEP, None, None), OK)
    same(pulled(feed), (END, 3))
    same(destroyed(graph, session), (OK, ""))


def test_threads_share_a_feed_and_get_every_row_once(folder):
    numpy.save(folder / "x.npy", numpy.arange(3000, dtype="i8"))
    path, seen = topology(folder, columns="x", batch="size: 3", links=FED, actors=FEED % ""), []
    with tundish.feed(path) as feed:
        threads = [threading.Thread(target=lambda: seen.extend(batch["x"].numpy(copy=True) for batch in feed)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    same(sorted(numpy.concatenate(seen)), list(range(3000)))


def test_a_forked_child_gets_an_error(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    with tundish.feed(path) as feed:
        next(feed)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                next(feed)
            except tundish.Error as error:
                os.write(write, str(error).encode())
            status = _library.feed_next(feed._handle)
            feed.close()
            os._exit(status)
        same(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), FAILED)
        holds(os.read(read, 1000).decode(), "belongs to the process that opened it")
        same(sum(1 for _ in feed), 3)
    os.close(read)
    os.close(write)


def test_a_second_pass_over_a_feed_names_epochs(folder):
    arrays(folder)
    with tundish.feed(topology(folder, links=FED, actors=FEED % "")) as feed:
        for batch in feed:
            if batch.step == 1:
                break
        same([batch.step for batch in feed], [2, 3])  # a loop that was left continues
        fails(tundish.Error, lambda: list(feed), "a feed is read once", "`epochs: 3` of the reader")
        same(next(feed, None), None)


def test_a_copy_of_rows_may_be_changed(folder):
    made = arrays(folder)
    with tundish.feed(topology(folder, links=FED, actors=FEED % "")) as feed:
        x = next(feed)["x"]
        view, copy = x.numpy(), x.numpy(copy=True)
        copy += 1
        same((view.flags.writeable, copy.flags.writeable), (False, True))
        assert numpy.array_equal(view, made["x"][:32])


def saved(folder, path, more, leave):
    """Whether a checkpoint is complete after a program that saved after step 10 and left."""
    def save(file, replica):
        with open(file, "wb") as out:
            out.write(b"model")
    try:
        with tundish.feed(path) as feed:
            for batch in feed:
                if batch.step == 10:
                    feed.save(save)
                if batch.step == 10 + more:
                    leave()
                    break
    except ZeroDivisionError:
        pass
    return (folder / "kept/step-00000011/manifest").exists()


def test_a_saved_checkpoint_is_complete_when_the_program_has_left(folder):
    arrays(folder, rows=1000)
    records()
    for more, leave in ((0, bool), (1, bool), (2, bool), (5, lambda: 1 / 0)):
        path = topology(folder, batch="size: 8", links=FED, actors=FEED % "", top=f"checkpoint: {{dir: {folder}/kept}}\n")
        same(saved(folder, path, more, leave), True, f"{more} more steps")
        subprocess.run(["rm", "-r", folder / "kept"], check=True)


def leaves_after(path, save, steps=3):
    """What a program with a checkpoint after its last step has seen."""
    with tundish.feed(path) as feed:
        resumed, seen = feed.restore(), []
        for batch in feed:
            for replica in batch.replicas:
                seen += replica["x"].numpy().tolist()
            if batch.step % steps == steps - 1:
                save(feed)
                break
    return resumed, seen


def test_a_program_without_a_model_saves_its_place(folder):
    numpy.save(folder / "x.npy", numpy.arange(100, dtype="f4"))
    path = folder / "graph.yaml"
    path.write_text(f"tundish: 1\nactors:\n  read: {{kind: reader, source: {{npy: {{x: {folder}/x.npy}}}}}}\n"
                    "  batch: {kind: batcher, size: 8, replicas: 2}\n  feed: {kind: feeder, accumulate: 2}\n"
                    "links: [read -> batch -> feed]\n"
                    f"checkpoint: {{dir: {folder}/kept, resume: latest}}\n")
    seen, rows = records(), list(range(100))
    same(leaves_after(path, lambda feed: feed.save()), (False, rows[:24]))
    same(sorted(os.listdir(folder / "kept/step-00000003")), ["manifest"])
    holds(str(seen), "no checkpoint in")
    seen.clear()
    same(leaves_after(path, lambda feed: feed.save()), (True, rows[24:48]))
    same(seen, [])
    # A function that writes nothing leaves an empty file for each model, and a warning.
    path.write_text(path.read_text().replace(", accumulate: 2", ""))
    same(leaves_after(path, lambda feed: feed.save(lambda file, replica: None)), (True, rows[48:72]))
    same(sorted(os.listdir(folder / "kept/step-00000009")), ["manifest", "model-0", "model-1"])
    for i in range(2):
        same(seen[i], ("WARNING", f"the function of feed.save wrote no file {folder}/kept/step-00000009/model-{i}.draft: "
                                  "without a model, call feed.save()"))
    same(len(seen), 2)


def test_c_a_save_that_writes_nothing_is_an_error(folder):
    arrays(folder, rows=1000)
    graph, session = loaded(topology(folder, batch="size: 8", links=FED, actors=FEED % "",
                                     top=f"checkpoint: {{dir: {folder}/kept}}\n"))
    feed, why = _library.session_feed(session, None), tundish.Why()
    same(pulled(feed, 4), (OK, 4))
    nothing = _library.FileFunction(lambda file, replica, user: OK)
    same(_library.feed_save(feed, nothing, None, ctypes.byref(why)), FAILED)
    same(why.text.decode(), f"the function of tnd_feed_save wrote no file {folder}/kept/step-00000004/model-0.draft: "
                            "without a model, call tnd_feed_save without a function")
    same(_library.feed_save(feed, _library.FileFunction(), None, ctypes.byref(why)), OK)
    same(destroyed(graph, session), (2, ""))  # it was stopped
    same(os.listdir(folder / "kept/step-00000004"), ["manifest"])


def test_a_checkpoint_that_cannot_be_complete_is_an_error(folder):
    arrays(folder, rows=1000)
    seen = records()
    path = topology(folder, batch="size: 8", links=FED, actors=FEED % "", top=f"checkpoint: {{dir: {folder}/kept}}\n")

    def block():
        """The manifest cannot be written where a folder has its name."""
        (folder / "kept/step-00000011/manifest").mkdir()

    def one():
        with tundish.feed(path) as feed:
            for batch in feed:
                if batch.step == 10:
                    feed.save(lambda file, replica: open(file, "wb").close())
                    block()
                    break
    fails(tundish.Error, one, "the checkpoint after step 10 is not complete, although this program saved its models")
    holds(str(seen), "no checkpoint after step 10")


def metric_after(path, steps):
    """The mean of x over the last epoch, and the report, of a program that leaves after so many steps."""
    def step(replica):
        x = numpy.asarray(replica["x"], dtype="f8")
        replica.report("mean", float(x.sum()), x.shape[0])
    with tundish.feed(path) as feed:
        while feed.run(step):
            steps -= 1
            if steps == 0:
                feed.save(lambda file, replica: open(file, "wb").close())
                feed.finish()
                break
        return feed.session.metric("mean"), feed.report


def test_metrics_of_a_resumed_program_are_those_of_all_rows(folder):
    numpy.save(folder / "x.npy", numpy.arange(100, dtype="f4"))
    path = folder / "graph.yaml"
    path.write_text(f"tundish: 1\nactors:\n  read: {{kind: reader, source: {{npy: {{x: {folder}/x.npy}}}}, epochs: 2}}\n"
                    "  batch: {kind: batcher, size: 8}\n  feed: {kind: feeder}\nlinks: [read -> batch -> feed]\n"
                    f"checkpoint: {{dir: {folder}/kept, resume: latest}}\n")
    seen = records()
    same(metric_after(path, 5)[0], None)
    mean, report = metric_after(path, 10)  # to step 14, the second of an epoch of 13
    same((mean, report.partial), (49.5, False))
    same(metric_after(path, 3)[0], 49.5)  # that of the epoch before
    remove_metrics(folder / "kept/step-00000018/manifest")
    before = len(seen)
    mean, report = metric_after(path, 0)
    same((mean, report.partial, report.epochs), ((40 + 99) / 2, True, 2))
    holds(seen[before][1], "the checkpoint after step 17 has no metrics")


def test_every_without_a_save_is_warned_about_once(folder):
    arrays(folder, rows=1000)
    path = topology(folder, batch="size: 8", links=FED, actors=FEED % "",
                    top=f"checkpoint: {{dir: {folder}/kept, every: 7 steps, resume: latest}}\n")
    seen = records()
    with tundish.feed(path) as feed:
        same(sum(1 for _ in feed), 125)
    holds(seen[0][1], "no checkpoint in", "the run begins at the start")
    due = [text for _, text in seen[1:]]
    same(len(due), 1, seen)
    holds(due[0], "local feed: no checkpoint is made after step 6", "calls tnd_feed_save (in Python feed.save)")


INTERRUPTED = """
import os, signal, sys, tundish
with tundish.feed(sys.argv[1]) as feed:
    next(feed)
    os.kill(os.getpid(), signal.SIGINT)
    print("swallowed", flush=True)
"""


def test_ctrl_c_outside_of_a_loop_is_not_swallowed(folder):
    arrays(folder)
    path = topology(folder, links=FED, actors=FEED % "")
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, path], env={**os.environ, "PYTHONPATH": str(MODULE)},
                          text=True, capture_output=True, timeout=60)
    same(done.stdout, "")
    holds(done.stderr, "KeyboardInterrupt")


main(globals())
