"""Opens pages in Chromium, which is controlled through a pipe (Chrome DevTools Protocol)."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium-headless-shell")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe")
DEADLINE_S = 60.0


class Browser:
    """A browser with one tab."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="mgpu_browser.")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads from descriptor 3 and writes to descriptor 4. Copies above 10 keep the
        # ends of the pipes from being overwritten.
        move = (f"exec 11<&{to_browser} 12>&{from_browser} && exec 3<&11 4>&12 && "
                f"exec {PROGRAM} {' '.join(repr(flag) for flag in FLAGS)} "
                f"--user-data-dir={self._profile} about:blank")
        self._process = subprocess.Popen(
            ["bash", "-c", move], pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._left, self._number, self._session = b"", 0, None
        self.events = []
        target = next(t for t in self._call("Target.getTargets")["targetInfos"]
                      if t["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target["targetId"],
                                   flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def close(self):
        os.killpg(self._process.pid, signal.SIGKILL)  # its helpers write to the profile, too
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, path, scheme, width):
        """Opens a file with a color scheme ("light" or "dark") in a window of this width."""
        self._call("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                   deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self._call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()

    def requests(self):
        """Returns the addresses that the page has requested."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def errors(self):
        """Returns what the page has logged as error or warning, such as refused contents."""
        return [event["params"] for event in self.events
                if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression in the page."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def click(self, selector):
        """Moves the pointer to the center of an element, clicks, and moves the pointer away."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)

    def _call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self):
        """Returns the next message. Keeps it in `events` unless it answers a call."""
        end = time.monotonic() + DEADLINE_S
        while b"\0" not in self._left:
            assert time.monotonic() < end, "no answer of the browser"
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._left += part
        text, self._left = self._left.split(b"\0", 1)
        message = json.loads(text)
        if "id" not in message:
            self.events.append(message)
        return message
