#!/usr/bin/env python3
"""`tundish watch` is scraped by Debian's Prometheus, which answers a query."""
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import time

from command import main, same
from watch import watched

PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")


def test_prometheus_scrapes_it(folder):
    with watched(folder) as (watch, *_):
        text = watch.get("/metrics")[1]
        checked = subprocess.run([PROMTOOL, "check", "metrics"], input=text, text=True,
                                 capture_output=True, timeout=60)
        same((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (folder / "prometheus.yml").write_text(
            "scrape_configs:\n  - job_name: tundish\n    scrape_interval: 200ms\n    scrape_timeout: 200ms\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{watch.port}']}}]\n")
        server = subprocess.Popen([PROMETHEUS, f"--config.file={folder}/prometheus.yml",
                                   f"--storage.tsdb.path={folder}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            found, end = [], time.monotonic() + 90
            while not found and time.monotonic() < end:
                # It is not there at first, and then answers that it is not ready.
                with contextlib.suppress(OSError, http.client.HTTPException, json.JSONDecodeError):
                    link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                    link.request("GET", '/api/v1/query?query=tundish_actor_rows_out_total{actor="feed"}')
                    found = json.loads(link.getresponse().read())["data"]["result"]
                time.sleep(0.1)
            same([(one["metric"]["run"], one["metric"]["kind"], one["value"][1]) for one in found],
                 [("stuck", "feeder", "64")])
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    if PROMTOOL is None or PROMETHEUS is None:
        print("prometheus and promtool are not installed (Debian: prometheus)")
        sys.exit(77)
    main(globals())
