#!/usr/bin/env python3
"""Files of folders as rows: their bytes and labels, what a checkpoint knows of them, and errors.

Usage: folder.py NAME...; without a name it lists them.
"""
import json
import os
import shutil
import subprocess
import sys

from named import in_folder, run_named
from run import ROOT, TUNDISH, free_port, tundish

GRAPH = """tundish: 1
seed: 7
actors:
  read:  {{kind: reader, {options}, source: {{folder: {{files: {files}, column: image, label: label{more}}}}}}}
  batch: {{kind: batcher, size: 16}}
{feed}links:
  - read -> batch{link}
"""
CLASSES = ("dog", "cat", "ape")


def write(folder, options="epochs: 1", files=None, feed=False, more=""):
    for number, name in enumerate(CLASSES):
        for i in range(7):
            path = folder / "train" / name / f"{i}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes([number * 10 + i]) * (number * i))
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(files=files or f'"{folder}/train/*/*.jpg"', options=options, more=more,
                                  feed="  feed:  {kind: feeder}\n" if feed else "",
                                  link=" -> feed" if feed else ""))
    return graph


def test_rows_are_files_and_labels_their_folders(folder):
    graph = write(folder)
    done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--steps", "9"],
                          capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows, labels = [], []
    for step in map(json.loads, done.stdout.splitlines()):
        column = step["columns"]["image"]
        rows += [bytes(column["data"][a:b]) for a, b in zip(column["splits"], column["splits"][1:])]
        labels += map(int, step["columns"]["label"]["data"])
    wanted = [(path.read_bytes(), sorted(CLASSES).index(path.parent.name))
              for path in sorted((folder / "train").glob("*/*.jpg"))]
    assert list(zip(rows, labels)) == wanted


def test_the_report_names_the_labels(folder):
    """Of one process, and of a reader on another host."""
    graph = write(folder, feed=True)
    assert tundish("run", graph).report["labels"] == {"read": sorted(CLASSES)}
    fixed = ["ant", *reversed(sorted(CLASSES))]
    graph = write(folder, feed=True, more=f", classes: [{', '.join(fixed)}]")
    assert tundish("run", graph).report["labels"] == {"read": fixed}
    (folder / "hosts.yaml").write_text(f"port: {free_port()}\nhosts: {{a: {{actors: [batch, feed]}}, b: {{actors: [read]}}}}\n")
    shown = folder / "r.json"
    done = subprocess.run([str(TUNDISH), "up", str(graph), str(folder / "hosts.yaml"), "--report", str(shown)],
                          capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(shown.read_text())["labels"] == {"read": fixed}


def test_folders_of_one_name_have_one_label(folder):
    for place in ("a/cat", "a/dog", "b/cat", "b/emu"):
        (folder / place).mkdir(parents=True)
        (folder / place / "1.jpg").write_bytes(b"x")
    done = subprocess.run([str(TUNDISH), "head", str(write(folder, files=f'"{folder}/[ab]/*/*.jpg"')), "--json"],
                          capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["columns"]["label"]["data"] == [0, 1, 0, 2], done.stdout


def test_a_file_that_gets_another_name_is_other_data(folder):
    graph = write(folder, "epochs: 1", feed=True)
    kept = ["--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=1 steps"]
    tundish("run", graph, *kept, "--steps", 1)
    path = folder / "train" / "dog" / "3.jpg"
    before = path.stat()
    path.rename(path.with_name("3a.jpg"))
    os.utime(path.with_name("3a.jpg"), ns=(before.st_atime_ns, before.st_mtime_ns))
    done = tundish("run", graph, *kept, "--resume", report=False, expect=78)
    assert f"{folder}/train/dog" in done.output, done.output


def test_hashes_of_all_files_decide(folder):
    """Of the folders that a source lists, also where it is one of several."""
    path = folder / "train" / "dog" / "3.jpg"
    write(folder)
    path.write_bytes(b"a" * 200000)
    alone = f'folder: {{files: "{folder}/train/*/*.jpg", max: 200000}}'
    text = path.parent.parent.parent / "lines.txt"
    text.write_text("one\ntwo\n")
    for number, source in enumerate((alone, f"concatenate: {{sources: [text: {{files: {text}, column: file, "
                                     f"max: 200000}}, {alone}]}}")):
        graph = folder / "verified.yaml"
        graph.write_text("tundish: 1\nactors:\n  read:  {kind: reader, verify: full, source: {" + source + "}}\n"
                         "  batch: {kind: batcher, size: 4}\n  feed:  {kind: feeder}\n"
                         "links:\n  - read -> batch -> feed\n")
        kept = ["--set", f"checkpoint.dir={folder}/kept{number}", "--set", "checkpoint.every=1 steps"]
        whole = tundish("run", graph, "--set", f"checkpoint.dir={folder}/other{number}").report["stream_digest"]
        tundish("run", graph, *kept, "--steps", 2)
        was = path.stat().st_mtime_ns
        os.utime(path, ns=(was + 10**10, was + 10**10))
        tundish("run", graph, *kept, "--resume", "--steps", 3)
        for data, time in ((b"a" * 100000 + b"b" + b"a" * 99999, was), (b"a" * 200000, was + 10**10)):
            path.write_bytes(data)
            os.utime(path, ns=(time, time))
            if b"b" in data:
                done = tundish("run", graph, *kept, "--resume", "--trust-data", report=False, expect=78)
                assert f"{folder}/train/dog" in done.output and "hash of its bytes" in done.output, done.output
        assert tundish("run", graph, *kept, "--resume").report["stream_digest"] == whole


def test_a_file_that_grows_during_a_run_is_refused(folder):
    graph = write(folder, "epochs: forever", feed=True)
    process = subprocess.Popen([str(TUNDISH), "run", str(graph)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    try:
        while "epoch " not in process.stdout.readline():
            assert process.poll() is None
        with open(folder / "train" / "cat" / "3.jpg", "ab") as file:
            file.write(b"more")
        text = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert process.returncode == 1 and "cat/3.jpg: had 3 bytes when" in text and "has 7" in text, text


def test_readers_lanes_and_a_resume_give_the_same_rows(folder):
    graph = write(folder, "shuffle: global, epochs: 3", feed=True)
    whole = tundish("run", graph).report["stream_digest"]
    assert tundish("run", graph, "--set", "read.workers=3").report["stream_digest"] == whole
    kept = ["--set", f"checkpoint.dir={folder / 'kept'}", "--set", "checkpoint.every=1 steps"]
    tundish("run", graph, *kept, "--steps", 2)
    assert tundish("run", graph, *kept, "--resume").report["stream_digest"] == whole
    shutil.rmtree(folder / "kept")
    tundish("run", graph, *kept, "--steps", 2)
    (folder / "train" / "dog" / "3.jpg").unlink()
    done = tundish("run", graph, *kept, "--resume", report=False, expect=78)
    assert f"{folder}/train/dog" in done.output, done.output
    by_file = tundish("run", write(folder, "shard: file, epochs: 2", None, True, ", max: 12"), "--set", "lanes=2",
                      "--set", "batch.replicas=2")
    assert by_file.report["rows"]["fed"] == 2 * 21, by_file.report["rows"]


def test_links_to_nothing_are_an_error_or_counted(folder):
    graph = write(folder, feed=True)
    for name in ("cat/1", "dog/2"):
        path = folder / "train" / f"{name}.jpg"
        path.unlink()
        path.symlink_to("../../objects/not-fetched")
    done = tundish("run", graph, report=False, expect=78)
    assert f"{folder}/train/cat/1.jpg: cannot be read: No such file or directory (it is a link to " in done.output
    assert "objects/not-fetched), and so is 1 other" in done.output, done.output
    rows = tundish("run", graph, "--set", "read.on_error=skip").report["rows"]
    assert (rows["read"], rows["fed"]) == (21, 19), rows


def test_classes_fix_the_numbers_and_a_folder_without_files_counts(folder):
    graph = write(folder)
    shutil.rmtree(folder / "train" / "cat")
    (folder / "train" / "cat").mkdir()
    (folder / "names.txt").write_text("dog\r\nemu\nape\n\ncat\n")

    def labels(*more):
        done = subprocess.run([str(TUNDISH), "head", str(graph), "--json", "--steps", "9", *more],
                              capture_output=True, text=True, timeout=60, cwd=ROOT)
        rows = [int(label) for step in map(json.loads, done.stdout.splitlines())
                for label in step["columns"]["label"]["data"]]
        return done.returncode, sorted(set(rows)), done.stderr

    classes = "read.source.folder.classes="
    code, found, text = labels()
    assert (code, found) == (0, [0, 2]) and "1 of 3 classes has no file: `cat`" in text, text
    assert "labels: 0 ape, 1 cat, 2 dog" in text, text
    assert labels("--set", f"{classes}[dog, cat, ape]")[:2] == (0, [0, 2])
    assert labels("--set", f"{classes}[emu, cat, ape, owl, dog]")[:2] == (0, [2, 4])
    assert labels("--set", f"{classes}{{file: {folder}/names.txt}}")[:2] == (0, [0, 2])
    code, _, text = labels("--set", f"{classes}[cat, ape]")
    assert code == 78 and "`dog` of " in text and "is not one of the 2 `classes`" in text, text
    code, _, text = labels("--set", f"{classes}[cat, ape, dog, ape]")
    assert code == 78 and "`classes` has `ape` twice" in text, text


def test_what_cannot_be_read_is_named(folder):
    graph = write(folder, files=f'"{folder}/train/*/*.png"', feed=True)
    done = tundish("run", graph, report=False, expect=78)
    assert "no file matches" in done.output and "*.png" in done.output, done.output
    done = tundish("run", write(folder, files=f'"{folder}/train"', feed=True), report=False, expect=78)
    assert f"{folder}/train is a directory; write a pattern" in done.output, done.output
    graph = write(folder, "on_error: skip", None, True, ", max: 7")
    done = tundish("run", graph)
    assert done.report["rows"]["fed"] == 18, done.report["rows"]
    graph.write_text(graph.read_text().replace("on_error: skip", "on_error: stop"))
    done = tundish("run", graph, report=False, expect=1)
    assert f"{folder}/train/ape/4.jpg" in done.output and "above `max: 7`" in done.output, done.output


if __name__ == "__main__":
    sys.exit(run_named(globals(), sys.argv[1:], in_folder))
