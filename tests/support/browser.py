"""A browser without a screen, driven through its DevTools pipe: what a page shows and asks for."""
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium-headless-shell")


class Browser:
    """One page.  Requests of the page are in `asked`, complaints of its scripts in `complaints`."""

    def __init__(self, folder):
        self.asked, self.complaints, self.number = [], [], 0
        inward, self.outward = os.pipe()
        self.inward, outward = os.pipe()
        # The browser reads its descriptor 3 and writes its descriptor 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{inward} 4>&{outward}', "sh", CHROMIUM, "--no-sandbox",
             "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
             f"--user-data-dir={folder}", "--remote-debugging-pipe"],
            pass_fds=(inward, outward), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(inward)
        os.close(outward)
        self.rest, self.session = b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.rest:
            got = os.read(self.inward, 1 << 20)
            assert got, "the browser has ended"
            self.rest += got
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.outward, json.dumps(message).encode() + b"\0")
        while True:
            told = self.read()
            if told.get("method") == "Network.requestWillBeSent":
                self.asked.append(told["params"]["request"]["url"])
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(json.dumps(told["params"]))
            if told.get("id") == self.number:
                assert "error" not in told, told
                return told["result"]

    def open(self, url, width=1320, height=1000, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)

    def value(self, expression):
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return told["result"].get("value")

    def until(self, expression, seconds=60):
        """Waits until the page makes the expression true; returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.value(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{expression} did not come true; the page shows:\n"
                             f"{self.value('document.body.innerText')}\n{self.complaints}")

    def picture(self, path):
        """The whole page as a PNG; returns its bytes."""
        told = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))
        return path.read_bytes()

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.inward)
        os.close(self.outward)


@contextlib.contextmanager
def browser():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Browser(folder)
        try:
            yield made
        finally:
            made.end()
