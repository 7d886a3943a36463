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


def picture(page, name, folder):
    """A PNG of the page; kept in $TUNDISH_PICTURES for people."""
    height = page.value("document.documentElement.scrollHeight")
    page.call("Emulation.setDeviceMetricsOverride", width=1320, height=height, deviceScaleFactor=1,
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
        holds(page.until("document.querySelector('tr.detail').innerText"), "read.0", "shuffle", ".npy")
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
