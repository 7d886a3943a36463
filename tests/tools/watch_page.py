#!/usr/bin/env python3
"""The page of `tundish watch` in a browser: its figures, its pictures, and texts that are hostile."""
import json
import os
import pathlib
import sys

from command import holds, main, run, same
from runs import PLUGINS, graph
from watch import watched

from browser import CHROMIUM, browser


def picture(page, name, folder, width=1320):
    """A PNG of the page; kept in $TUNDISH_PICTURES for people."""
    height = page.value("document.documentElement.scrollHeight")
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
              mobile=False)
    path = pathlib.Path(os.environ.get("TUNDISH_PICTURES", folder)) / f"{name}.png"
    made = page.picture(path)
    same(made[:8], b"\x89PNG\r\n\x1a\n")
    assert len(made) > 20_000, len(made)


def figure(page, name):
    """What the page shows, without the marks of thousands."""
    text = page.value(f"document.querySelector('[data-figure=\"{name}\"]').textContent")
    return text.replace(",", "")


def test_the_page_has_the_figures_of_ps(folder):
    with watched(folder) as (watch, environment, _), browser() as page:
        seen = json.loads(run("ps", "stuck", "--json", env=environment)[1])
        for dark in (False, True):
            page.open(f"http://localhost:{watch.port}/", dark=dark)
            page.until("document.querySelectorAll('#actors tbody tr').length >= 4 && "
                       "document.getElementById('sentence').textContent.includes('feed waits')")
            page.until("document.querySelector('#actors canvas') !== null")
            picture(page, f"watch-{'dark' if dark else 'light'}", folder)
            for actor in seen["processes"][0]["actors"]:
                for key in ("rows_out", "queue", "credit"):
                    shown = "–" if actor[key] is None else str(actor[key])
                    same(figure(page, f"{actor['name']}/{key}"), shown, (actor["name"], key))
                same(figure(page, f"{actor['name']}/host"), "local")
            same((figure(page, "run/steps"), figure(page, "run/rows")),
                 (str(seen["runs"][0]["steps"]), str(seen["runs"][0]["rows"])))
            same(page.value("document.getElementById('state').textContent"), "running")
            same(page.value("document.querySelectorAll('svg.graph .box').length"), 3)
            assert page.value("document.querySelectorAll('svg.histogram').length") >= 3
        # A click opens the actor.
        page.value("document.querySelector('#actors tr.actor').click()")
        holds(page.until("document.querySelector('tr.detail').innerText"), "read.0", "shuffle", ".npy",
              "where its threads are now", f"thread {seen['processes'][0]['actors'][0]['thread']} (")
        # The machine is shown, and the log can be searched.
        holds(page.until("document.querySelector('[data-figure=\"run/machine\"]') && "
                         "document.querySelector('[data-figure=\"run/machine\"]').parentNode.innerText"), "machine's cpu", " %", "memory ")
        holds(page.value("document.getElementById('hosts').innerText"), "this machine: ", " used")
        holds(page.value("document.getElementById('faults').innerText"), "hangs", "thread ", "wait channel")
        lines = page.value("document.querySelectorAll('#log li').length")
        same(lines, len(seen["runs"][0]["log"]))
        search = "document.getElementById('log-search')"
        page.value(f"{search}.value = 'IS RUNNING', {search}.oninput()")
        same(page.value("document.querySelectorAll('#log li').length"), 1)
        holds(page.value("document.getElementById('log').innerText"), "feed is running")
        same(page.value("document.getElementById('log-found').textContent"), f"1 of {lines} lines")
        page.value(f"{search}.value = 'no such line', {search}.oninput()")
        same(page.value("document.querySelectorAll('#log li').length"), 0)
        assert not page.value("document.getElementById('log-card').hidden"), "its field is still there"
        # It asks its own server, for nothing but these, and its scripts do not complain.
        same({url.split("/", 3)[3] for url in page.asked}, {"", "live", "history"})
        same({url.split("/")[2] for url in page.asked}, {f"localhost:{watch.port}"})
        same(page.complaints, [])


def test_the_page_of_a_report_has_its_figures(folder):
    code, _, err = run("run", "--quiet", graph(folder, read=", epochs: 2", top="name: told\n"), "--report",
                       folder / "r.json", env=PLUGINS)
    same((code, err), (0, ""))
    same(run("report", folder / "r.json", "--html", "-o", folder / "r.html"), (0, "", ""))
    told = json.loads((folder / "r.json").read_text())
    with browser() as page:
        page.open(f"file://{folder}/r.html")
        page.until("document.querySelectorAll('#actors tbody tr').length >= 4")
        picture(page, "report", folder)
        same((figure(page, "run/steps"), figure(page, "run/rows")), ("8", "200"))
        for actor in told["actors"]:
            same(figure(page, f"{actor['name']}/rows_out"), str(actor["rows_out"]))
        holds(page.value("document.body.innerText"), "told", told["stream_digest"], "done")
        same(page.value("document.querySelectorAll('svg.graph .box').length"), 3)
        same((page.asked, page.complaints), ([f"file://{folder}/r.html"], []))


# Where each box of the graph is, and the least size of its letters as they are seen.
GRAPH = """(() => {
    const svg = document.querySelector("svg.graph"), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const boxes = [...svg.querySelectorAll(".box-face")].map(one => one.getBoundingClientRect());
    const letters = [...svg.querySelectorAll("text")].map(one => parseFloat(getComputedStyle(one).fontSize) * scale);
    return {lefts: boxes.map(one => one.left), tops: boxes.map(one => one.top), least: Math.min(...letters),
            wide: document.documentElement.scrollWidth};
})()"""


def test_a_narrow_page_has_an_upright_graph_that_can_be_read(folder):
    with watched(folder) as (watch, *_), browser() as page:
        for width in (1280, 600, 400):
            page.open(f"http://localhost:{watch.port}/", width=width)
            page.until("document.querySelectorAll('svg.graph .box').length === 3")
            seen = page.value(GRAPH)
            picture(page, f"watch-{width}", folder, width)
            assert seen["least"] >= 11, (width, seen)
            same(seen["wide"], width, "the page is not wider than its window")
            along, across = ("lefts", "tops") if width == 1280 else ("tops", "lefts")
            same((seen[along], len({round(one) for one in seen[across]})), (sorted(seen[along]), 1), width)
            assert seen[along][2] > seen[along][0] + 70, seen
            cut = page.value("""[...document.querySelectorAll(".scroll")].map(one => one.scrollWidth - one.clientWidth)""")
            assert width == 400 or max(cut) == 0, ("tables are cut", width, cut)
            long = page.value("""(() => {
                for (const name of document.querySelectorAll("#actors td.name"))
                    name.textContent = "preprocess_the_pictures.12";
                const table = document.querySelector("#actors").closest(".scroll");
                return table.scrollWidth - table.clientWidth; })()""")
            assert width == 400 or long == 0, ("a long name cuts the table", width, long)
        same(page.complaints, [])


def test_five_stages_fit_beside_each_other(folder):
    with watched(folder) as (watch, *_), browser() as page:
        for width, upright in ((1280, False), (1000, True)):
            page.open(f"http://localhost:{watch.port}/", width=width)
            page.until("document.querySelectorAll('svg.graph .box').length === 3")
            seen = page.value("""(() => {
                const groups = [0, 1, 2, 3, 4].map(rank => ({rank, name: `stage${rank}`})), room = $("graph").clientWidth / SMALLEST;
                const {places, width} = place(groups, false, room), xs = [...places.values()].map(one => one.x);
                return {upright: width > room, gaps: xs.slice(1).map((x, i) => x - xs[i] - BOX.width)}; })()""")
            same(seen["upright"], upright, (width, seen))
            assert min(seen["gaps"]) >= 76, seen


def test_looks_that_arrive_late_leave_no_gap(folder):
    with watched(folder) as (watch, *_), browser() as page:
        page.open(f"http://localhost:{watch.port}/")
        page.until("document.querySelectorAll('svg.graph .box').length === 3")
        seconds = page.value("""(() => {
            const made = new History();
            for (const [at, span] of [[10.9, 1], [12.05, 1], [13.99, 1], [14.1, 0.9], [40, 1]])
                made.cover(at, span, 5, [1]);
            return [...made.seconds.keys()].sort((a, b) => a - b); })()""")
        same(seconds, [10, 11, 12, 13, 14, 40])
        seconds = page.value("""(() => {
            const all = new Map();
            addHistories(all, [{name: "read.0", ages_seconds: [2.2, 3.2], rows_per_second: [5, 5], shares: "00".repeat(18)}], 20);
            all.get("read.0").cover(21, 1, 5, [1]);
            return [...all.get("read.0").seconds.keys()].sort((a, b) => a - b); })()""")
        same(seconds, [16, 17, 18, 19, 20, 21], "the look that follows the history")


def test_a_victim_has_another_colour_than_the_culprit(folder):
    with watched(folder) as (watch, *_), browser() as page:
        page.open(f"http://localhost:{watch.port}/")
        page.until("document.querySelector('svg.graph .box.is-fault') !== null")
        # A reader hangs: the feeder is slower, and the batcher waits.
        page.value("""window.told = {verdict: {flows: false, actor: "read.0",
            faults: [{actor: "read.0", reason: "hangs", suffered: false}, {actor: "feed", reason: "slower", suffered: true}],
            chain: [{actor: "feed"}, {actor: "batch.0"}, {actor: "read.0"}]}}""")
        same([page.value(f"partOf(told, '{name}')") for name in ("read.0", "feed", "batch.0", "prep.0")],
             ["fault", "victim", "victim", ""])
        colours = page.value("""["fault", "victim"].map(name => {
            const made = element("span", `tag is-${name}`);
            document.body.append(made);
            return getComputedStyle(made).backgroundColor;
        })""")
        same(len(set(colours)), 2)


def test_histograms_of_one_name_are_one_figure(folder):
    with watched(folder) as (watch, *_), browser() as page:
        page.open(f"http://localhost:{watch.port}/")
        page.until("document.querySelectorAll('#times figure').length >= 3")
        shown = page.value("""(() => {
            const one = (end, p50) => ({count: 10, sum_seconds: 10 * p50, max_seconds: end, p50_seconds: p50,
                                        classes: [{below_seconds: end, count: 10}]});
            return drawHistogram(merge([one(0.004, 0.003), one(0.001, 0.001), one(0.009, 0.008)]), "step").innerText;
        })()""")
        holds(shown, "30 times", "p50 of 3: min 1.00 ms · median 3.00 ms · max 8.00 ms")


def test_the_labels_of_an_axis_of_many_decades_do_not_collide(folder):
    with watched(folder) as (watch, *_), browser() as page:
        page.open(f"http://localhost:{watch.port}/", width=600)
        page.until("document.querySelectorAll('#times figure').length >= 3")
        for longest in (1e-4, 0.02, 0.3, 2, 60):
            seen = page.value("""(longest => {
                const classes = [{below_seconds: 2e-6, count: 3}, {below_seconds: longest, count: 10}];
                const made = drawHistogram(merge([{count: 13, sum_seconds: 1, max_seconds: longest, p50_seconds: longest,
                                                   classes}]), "step");
                document.querySelector("#times figure").replaceWith(made);
                const box = made.querySelector("svg").getBoundingClientRect();
                return {left: box.left, right: box.right, labels: [...made.querySelectorAll(".tick")].map(one => {
                    const at = one.getBoundingClientRect();
                    return [at.left, at.right];
                })};
            })(%s)""" % longest)
            edges = [seen["left"], *[edge for label in seen["labels"] for edge in label], seen["right"]]
            assert edges == sorted(edges) and len(seen["labels"]) >= 2, (longest, seen)


def test_texts_of_a_report_are_not_run(folder):
    """A report of another user may contain HTML in every text."""
    evil = "</script><script>window.ran=1</script><img src=x onerror=window.ran=1>"

    def spoil(value):
        if isinstance(value, dict):
            return {key: spoil(part) for key, part in value.items()}
        if isinstance(value, list):
            return [spoil(part) for part in value]
        return evil + value if isinstance(value, str) else value

    code, _, err = run("run", "--quiet", graph(folder), "--report", folder / "r.json", env=PLUGINS)
    same((code, err), (0, ""))
    (folder / "r.json").write_text(json.dumps(spoil(json.loads((folder / "r.json").read_text()))))
    same(run("report", folder / "r.json", "--html", "-o", folder / "r.html"), (0, "", ""))
    with browser() as page:
        page.open(f"file://{folder}/r.html")
        page.until("document.querySelectorAll('#actors tbody tr').length >= 3")
        page.value("document.querySelector('#actors tr.actor').click()")
        holds(page.until("document.querySelector('tr.detail').innerText"), "<script>window.ran=1")
        same((page.value("window.ran === undefined"), page.value("document.images.length")), (True, 0))
        same((page.asked, page.complaints), ([f"file://{folder}/r.html"], []))


if __name__ == "__main__":
    if CHROMIUM is None:
        print("chromium-headless-shell is not installed")
        sys.exit(77)
    main(globals())
