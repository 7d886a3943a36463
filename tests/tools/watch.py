#!/usr/bin/env python3
"""`tundish watch`: what it serves, who may read it, and what slow clients cost."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time

from command import ROOT, TUNDISH, holds, is_sanitized, main, run, same
import json_schema
from contrast import contrast
from ps import SCHEMA, hanging, in_step, until
from runs import PLUGINS, graph

LIVE = {**SCHEMA, "title": "a look of /live",
        "required": [*SCHEMA["required"], "absent", "ended", "verdict", "window"],
        "properties": {**SCHEMA["properties"], "absent": {"type": ["string", "null"]},
                       "ended": {"type": ["string", "null"]}, "verdict": {"type": ["object", "null"]},
                       "window": {"type": ["object", "null"]}}}


class Watch:
    """A server on a free port; its address is what it says."""

    def __init__(self, environment, *words, http=("--http", "127.0.0.1:0")):
        self.process = subprocess.Popen([TUNDISH, "watch", *http, *words], text=True,
                                        stderr=subprocess.PIPE, env={**os.environ, **environment})
        self.told = self.process.stderr.readline()
        found = re.search(r"http://(.*):(\d+)/; .* need the token in (.*)$", self.told)
        assert found, self.told
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def get(self, path, host=None, headers={}, method="GET"):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        link.putrequest(method, path, skip_host=True)
        for name, value in {"Host": host or f"127.0.0.1:{self.port}", **headers}.items():
            if value is not None and value != "":
                link.putheader(name, value)
        link.endheaders()
        answer = link.getresponse()
        body = answer.read().decode()
        link.close()
        return answer.status, body, answer.headers

    def looks(self, count):
        """The next looks of /live."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        link.request("GET", "/live")
        answer = link.getresponse()
        same((answer.status, answer.headers["Content-Type"]), (200, "text/event-stream"))
        told = []
        while len(told) < count:
            line = answer.readline().decode()
            if line.startswith("data: "):
                told.append(json.loads(line[6:]))
        link.close()
        return told

    def until(self, true):
        """Reads looks until `true` says so of one."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            look, = self.looks(1)
            if true(look):
                return look
        raise AssertionError(look)

    def memory(self):
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) << 10

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        same(self.process.wait(timeout=60), 0, "it ends when it is asked to")
        self.process.stderr.close()


@contextlib.contextmanager
def watched(folder):
    """A run that hangs in its third step, and a server that looks at it."""
    with hanging(folder) as (environment, process):
        until(environment, in_step)
        with Watch(environment, "-i", "100ms", "stuck") as watch:
            yield watch, environment, process


def samples(text):
    """The samples of a page for Prometheus by their whole name."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in found, f"{name} occurs twice"
            found[name] = float(value)
    return found


def test_it_serves_looks_metrics_and_the_verdict(folder):
    with watched(folder) as (watch, environment, process):
        watch.until(lambda look: look["verdict"] is not None)
        look, next_ = watch.looks(2)
        for one in (look, next_):
            json_schema.check(one, LIVE)
        same((look["runs"][0]["run"], look["processes"][0]["pid"], look["ended"]),
             ("stuck", process.pid, None))
        assert look["runs"][0]["age_seconds"] < next_["runs"][0]["age_seconds"]
        same(look["verdict"]["code"], 11)
        holds(look["verdict"]["sentence"], "feed waits for replica 0")
        for actor in look["window"]["actors"]:
            assert abs(sum(actor["shares"]) - 1) < 0.001, actor
        status, why, headers = watch.get("/why")
        same((status, headers["Cache-Control"]), (200, "no-store"))
        holds(why, "feed waits for replica 0", "step 2")
        status, text, headers = watch.get("/metrics")
        same((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        found, labels = samples(text), '{run="stuck",host="local",actor="%s",kind="%s",lane="0"'
        feed, read = labels % ("feed", "feeder"), labels % ("read.0", "reader")
        # Two steps of 32 rows are done; the reader has read its 100 rows of 20 bytes.
        same((found[f"tundish_actor_rows_out_total{feed}}}"], found[f"tundish_actor_rows_out_total{read}}}"],
              found[f"tundish_actor_bytes_out_total{read}}}"], found[f"tundish_actor_queue_blocks{feed}}}"]),
             (64, 100, 2000, 2))
        same((found['tundish_run_why{run="stuck"}'], found['tundish_host_up{run="stuck",host="local"}']),
             (11, 1))
        step = f'tundish_device_duration_seconds_%s{feed},device="cpu:0",part="step"%s}}'
        same((found[step % ("count", "")], found[step % ("bucket", ',le="+Inf"')]), (2, 2))
        bounds = [value for name, value in found.items()
                  if name.startswith("tundish_device_duration_seconds_bucket") and 'part="step"' in name]
        same(bounds, sorted(bounds), "buckets are cumulative")
        assert found[f'tundish_actor_time_seconds_total{feed},activity="wait_step"}}'] > 0


def test_two_runs_of_one_name_are_two_series(folder):
    with watched(folder) as (watch, environment, first):
        second = subprocess.Popen([TUNDISH, "run", "--quiet", str(folder / "graph.yaml")], env={**os.environ, **environment})
        try:
            runs = []
            while len(runs) < 2:  # a test takes two minutes at most
                watch.looks(1)
                runs = [name for name in samples(watch.get("/metrics")[1]) if name.startswith("tundish_run_steps_total")]
            same(sorted(runs), ['tundish_run_steps_total{run="stuck",chain="feed"}',
                                f'tundish_run_steps_total{{run="stuck",process="{first.pid}",chain="feed"}}'])
        finally:
            second.kill()
            second.wait()


def test_times_never_decrease(folder):
    with watched(folder) as (watch, *_):
        before = {}
        for _ in range(5):
            watch.looks(2)
            for name, value in samples(watch.get("/metrics")[1]).items():
                if name.split("{")[0].endswith("_total"):
                    assert value >= before.get(name, 0), (name, before[name], value)
                    before[name] = value


def test_the_last_minutes_are_there_when_a_client_comes(folder):
    with watched(folder) as (watch, *_):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            status, text, _ = watch.get("/history")
            actors = {one["name"]: one for one in json.loads(text)["actors"]}
            if actors and len(actors["feed"]["ages_seconds"]) >= 2:
                break
            watch.looks(1)
        feed = actors["feed"]
        same(sorted(actors), ["batch.0", "feed", "read.0"])
        same(len(feed["shares"]), 18 * len(feed["ages_seconds"]))
        same(feed["ages_seconds"], sorted(feed["ages_seconds"], reverse=True))
        for at in range(len(feed["ages_seconds"])):
            parts = [int(feed["shares"][18 * at + 2 * n:18 * at + 2 * n + 2], 16) for n in range(9)]
            assert 246 <= sum(parts) <= 264, parts


def test_how_a_run_ended_is_shown_until_another_begins(folder):
    environment = {"XDG_RUNTIME_DIR": str(folder / "pages")}
    (folder / "pages").mkdir()
    with Watch(environment, "-i", "50ms", "stuck") as watch:
        look, = watch.looks(1)
        json_schema.check(look, LIVE)
        same(look["runs"], [])
        holds(look["absent"], "no run")
        holds(watch.get("/why")[1], "no run")
        with hanging(folder) as (environment, process):
            first = watch.until(lambda look: look["runs"])
            process.kill()
            process.wait()
            watch.until(lambda look: look["ended"] == "killed")
        with hanging(folder) as (environment, process):
            second = watch.until(lambda look: look["ended"] is None)
            assert second["runs"][0]["session"] != first["runs"][0]["session"]


def test_a_run_that_has_gone_stays_with_its_outcome(folder):
    (folder / "pages").mkdir()
    environment = {**PLUGINS, "XDG_RUNTIME_DIR": str(folder / "pages")}
    path = graph(folder, read=", epochs: 100000000", top="name: stuck\n")
    process = subprocess.Popen([TUNDISH, "run", "--quiet", str(path)], env={**os.environ, **environment})
    try:
        with Watch(environment, "-i", "50ms", "stuck") as watch:
            watch.until(lambda look: look["verdict"] is not None and look["verdict"]["flows"])
            process.send_signal(signal.SIGINT)
            same(process.wait(timeout=60), 130)
            look = watch.until(lambda look: look["ended"] is not None)
            json_schema.check(look, LIVE)
            same((look["ended"], look["runs"][0]["run"], look["processes"][0]["pid"]),
                 ("drained", "stuck", process.pid))
            same(watch.get("/why")[1], "stuck has ended: drained\n")
            assert 'run="stuck"' not in watch.get("/metrics")[1]
    finally:
        process.kill()
        process.wait()


def test_requests_that_it_refuses(folder):
    with watched(folder) as (watch, *_):
        for path in ("/", "/live", "/metrics", "/why", "/history"):
            for host in ("evil.example", f"evil.example:{watch.port}", "127.0.0.1.evil.example",
                         "127.0.0.2", "localhost:x", "[localhost", "[::1]"):
                code, body, _ = watch.get(path, host=host)
                same((code, "stuck" in body), (421, False), host)
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1", f"127.0.0.1:{watch.port}"):
            same(watch.get("/why", host=host)[0], 200, host)
        same(watch.get("/nothing")[0], 404)
        same(watch.get("/..%2f..%2fetc/passwd")[0], 404)
        code, _, headers = watch.get("/", method="POST")
        same((code, headers["Allow"]), (405, "GET, HEAD"))
        code, body, headers = watch.get("/", method="HEAD")
        same((code, body), (200, ""))
        holds(headers["Content-Security-Policy"], "default-src 'none'", "connect-src 'self'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        code, page, _ = watch.get("/")
        assert len(page.encode()) < 200_000, len(page)
        # Requests without a Host header are answered with an error; other bytes may not be answered.
        for bad, answered in ((b"GET / HTTP/1.0\r\n\r\n", True), (b"GET / HTTP/1.1\r\n\r\n", True),
                              (b"GET http://evil.example/ HTTP/1.1\r\n\r\n", True),
                              (b"\0" * 100, False), (b"A" * 100_000, False)):
            with socket.create_connection(("127.0.0.1", watch.port), timeout=60) as link:
                with contextlib.suppress(ConnectionError):
                    link.sendall(bad)
                    assert not answered or link.recv(1 << 16).startswith(b"HTTP/1.1 4")
        same(watch.get("/why")[0], 200)


def test_another_user_needs_the_token(folder):
    with watched(folder) as (watch, environment, _):
        facts = os.stat(watch.token)
        same((stat.S_IMODE(facts.st_mode), facts.st_uid), (0o600, os.geteuid()))
        token = open(watch.token).read().strip()
        assert len(token) >= 32, token
        with Watch(environment) as other:
            same(open(other.token).read().strip(), token, "it stays the same")
        if os.geteuid() != 0:
            return
        ask = ("import sys, urllib.request, urllib.error\n"
               "request = urllib.request.Request(sys.argv[1], headers=dict([sys.argv[2].split(': ')])"
               " if sys.argv[2] else {})\n"
               "try: print(urllib.request.urlopen(request).read().decode())\n"
               "except urllib.error.HTTPError as error: print(error.code, error.read().decode())\n")

        def other_user(path, header=""):
            return subprocess.run([sys.executable, "-c", ask, f"http://127.0.0.1:{watch.port}{path}",
                                   header], capture_output=True, text=True, timeout=60, user=65534,
                                  group=65534, extra_groups=[], cwd="/").stdout

        for path in ("/", "/live", "/metrics", "/why", "/history", "/nothing"):
            for given in (path, f"{path}?token={token[:-1]}x", f"{path}?token="):
                answer = other_user(given)
                same((answer[:3], "stuck" in answer), ("401", False), given)
            same(other_user(path, "Authorization: Bearer x")[:3], "401")
        holds(other_user(f"/why?token={token}"), "feed waits for replica 0")
        holds(other_user("/metrics", f"Authorization: Bearer {token}"), 'run="stuck"')


def test_other_addresses_need_listen_and_a_token(folder):
    environment = {"XDG_RUNTIME_DIR": str(folder)}
    for words, said in ((("--http", "0.0.0.0:0"), "use --listen"), (("--http", "9464"), "ADDRESS:PORT"),
                        (("--http", "127.0.0.1:70000"), "ADDRESS:PORT")):
        code, _, err = run("watch", *words, env=environment)
        same(code, 1)
        holds(err, said)
    for words, said in ((("--listen", "0.0.0.0:0"), "--listen needs --token"), (("-i", "1ms"), "50ms"),
                        (("a", "b"), "is too much"), (("--via", "ssh"), "{address}"),
                        (("--http", "127.0.0.1:0", "--listen", "0.0.0.0:0"), "either")):
        code, _, err = run("watch", *words, env=environment)
        same(code, 2, err)
        holds(err, said)
    secret = folder / "secret"
    for text, mode, said in ((b"0123456789abcdef\n", 0o644, "chmod 600"), (b"short\n", 0o600, "16 to 256"),
                             (b"a" * 300, 0o600, "at most 256"), (b"0123456789 bcdef\n", 0o600, "letters")):
        secret.write_bytes(text)
        secret.chmod(mode)
        code, _, err = run("watch", "--listen", "0.0.0.0:0", "--token", secret, env=environment)
        same(code, 1)
        holds(err, said)
    secret.write_text("0123456789abcdef\n")
    secret.chmod(0o600)
    with Watch(environment, "--token", str(secret), http=("--listen", "0.0.0.0:0")) as watch:
        same((watch.get("/why")[0], watch.token), (200, str(secret)))
        same(watch.get("/why", host=socket.gethostname())[0], 200)
        same(watch.get("/why", host="evil.example")[0], 421)
    taken = socket.create_server(("127.0.0.1", 0))
    code, _, err = run("watch", "--http", f"127.0.0.1:{taken.getsockname()[1]}", env=environment)
    same(code, 1)
    holds(err, "Address already in use", "another port")
    taken.close()


def mixed(colour, ground, share):
    return tuple(share * a + (1 - share) * b for a, b in zip(colour, ground))


def painted(text, names, ground):
    """The colour that CSS describes, on a ground, of the names of a theme."""
    if (share := re.fullmatch(r"color-mix\(in srgb, (.+?) (\d+)%, (.+)\)", text)) is not None:
        below = ground if share[3] == "transparent" else painted(share[3], names, ground)
        return mixed(painted(share[1], names, ground), below, int(share[2]) / 100)
    if (name := re.fullmatch(r"var\(--([\w-]+)\)", text)) is not None:
        return names[name[1]]
    return tuple(int(text[at:at + 2], 16) for at in (1, 3, 5))


def test_text_on_colour_has_enough_contrast(_):
    style = (ROOT / "tools" / "watch" / "page.css").read_text()
    themes = [{name: painted(value, {}, None) for name, value in re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)}
              for block in re.findall(r":root[^{]*\{(.*?)\}", style, re.S)]
    same(len(themes), 3, "light, dark by the system, dark by choice")
    same(themes[1], themes[2])
    same(set(themes[0]), set(themes[1]))
    rules = [(selector.strip(), dict(re.findall(r"(?:^|; )(color|background): ([^;]+)(?=;)", body.strip())))
             for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style)]
    judged = 0
    for names in themes:
        # Texts are on cards, in the header and in rows that are pointed at.
        for surface in ("back", "card", "soft"):
            for text in ("ink", "faint", "good", "warn", "bad", "fault", "victim"):
                assert contrast(names[text], names[surface]) >= 4.5, (text, surface, names[text])
        for selector, rule in rules:
            if "color" not in rule or "background" not in rule or rule["color"] == "inherit":
                continue
            ground = painted(rule["background"], names, names["card"])
            ratio = contrast(painted(rule["color"], names, None), ground)
            assert ratio >= 4.5, (selector, rule, ratio)
            judged += 1
        for tag in ("idle",):  # the colour of its text is that of the page
            rule, = [rule for selector, rule in rules if selector == f".tag.is-{tag}"]
            assert contrast(names["ink"], painted(rule["background"], names, names["card"])) >= 4.5, tag
    assert judged >= 3 * 9, judged


def test_slow_requests_keep_no_client_out(folder):
    with watched(folder) as (watch, *_):
        watch.looks(1)
        links = []
        # More than it has places, and none gives up; a thread of a sanitizer takes long to start.
        for number in range(280 if is_sanitized() else 400):
            link = socket.create_connection(("127.0.0.1", watch.port))
            link.sendall(b"GET /why HTTP/1.1\r\nHost: loc")
            links.append(link)
            if number >= 250:
                begun = time.monotonic()
                same(watch.get("/why")[0], 200)
                assert time.monotonic() - begun < 25, number  # a silent one is cut off after 30 s
        for link in links:
            link.close()


def test_slow_and_silent_clients_take_no_memory(folder):
    with watched(folder) as (watch, *_):
        watch.looks(3)
        before = watch.memory()
        links = []
        for number in range(100):
            link = socket.socket()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            link.connect(("127.0.0.1", watch.port))
            path = "/live" if number % 2 else "/metrics"
            if number % 4 < 2:  # the others never send a whole request
                link.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            else:
                link.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            links.append(link)
        # More looks than are stored: what the slow clients have not read is gone.
        looks = watch.looks(12)
        same(looks[-1]["runs"][0]["run"], "stuck")
        assert samples(watch.get("/metrics")[1])["tundish_watch_clients"] >= 25
        grown = watch.memory() - before
        # A sanitizer keeps what was freed.
        assert is_sanitized() or grown < 8 << 20, f"{grown} bytes more"
        for link in links:
            link.close()
        same(watch.get("/why")[0], 200)


if __name__ == "__main__":
    main(globals())
