#!/usr/bin/env python3
"""`tundish report`: a page of a finished run, and files that are not reports."""
import json
import re

from command import holds, main, run, same
from runs import PLUGINS, graph, hosts


def test_the_page_contains_the_report(folder):
    code, _, err = run("run", "--quiet", graph(folder), "--report", folder / "r.json", env=PLUGINS)
    same((code, err), (0, ""))
    code, page, err = run("report", folder / "r.json", "--html")
    same((code, err), (0, ""))
    part, = re.findall(r'<script type="application/json" id="report">(.*?)</script>', page, re.S)
    same(json.loads(part), json.loads((folder / "r.json").read_text()))
    assert not re.search(r"""(src|href)=(?!["']?data:)|url\(|@import""", page), "an outside request"
    same(run("report", folder / "r.json", "--html", "-o", folder / "r.html"), (0, "", ""))
    same((folder / "r.html").read_text(), page)
    code, _, err = run("report", folder / "r.json", "--html", "-o", folder / "r.html")
    same(code, 1)
    holds(err, "exists already")


def test_a_report_of_several_hosts_has_all_actors(folder):
    path, places = graph(folder), hosts(folder)
    same(run("up", path, places, "--quiet", "--report", folder / "r.json", env=PLUGINS)[0], 0)
    told = json.loads((folder / "r.json").read_text())
    same(sorted(actor["name"] for actor in told["actors"]), ["batch.0", "feed", "read.0"])
    same([(edge["from"], edge["to"], edge["transport"]) for edge in told["look"]["runs"][0]["edges"]],
         [("read.0", "batch.0", "inproc"), ("batch.0", "feed", "ipc")])
    same(run("report", folder / "r.json", "--html", "-o", folder / "r.html"), (0, "", ""))


def test_files_that_are_not_reports_are_named(folder):
    for text, said in (("", "not JSON"), ("{", "not JSON"), ("[]", "not a report"), ("{}", "not a report"),
                       ('{"rows":{},"rows":{}}', "not JSON"), ('"\xff"', "not JSON")):
        (folder / "bad.json").write_text(text, encoding="latin-1")
        code, out, err = run("report", folder / "bad.json", "--html")
        same((code, out), (1, ""))
        holds(err, "bad.json", said)
    code, _, err = run("report", folder / "none.json", "--html")
    same(code, 1)
    holds(err, "No such file")
    same(run("report", folder, "--html")[0], 1)
    for words in ((), ("a", "b", "--html"), ("bad.json",)):
        same(run("report", *words)[0], 2)


main(globals())
