"""A real browser for tests: Chromium without a window, spoken to through chromedriver in the W3C WebDriver protocol."""

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
PATIENCE = 60.0
"""Seconds that a busy machine may take to start a browser or to answer."""
KEYS = {"ArrowUp": "\ue013", "ArrowDown": "\ue015", "ArrowRight": "\ue014", "ArrowLeft": "\ue012", "Enter": "\ue007"}
KEYS |= {"Tab": "\ue004", "Escape": "\ue00c", "Shift": "\ue008"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # How the protocol marks a reference to an element.


class Browser:
    """One session."""

    def __init__(self, address: str) -> None:
        self._address = address
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,1000",
        ]
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        value = self._call("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self._address = f"{address}/{value['sessionId']}"

    def open(self, path: Path) -> None:
        """Load a file from disk, with an empty log."""
        self.log("browser"), self.log("performance")
        self._call("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value a script returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str) -> None:
        """Until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > end:
                pytest.fail(f"never true in the browser: {condition}")
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Keys, one after another, to whatever has the focus."""
        strokes = [KEYS.get(key, key) for key in keys]
        actions = [{"type": kind, "value": key} for key in strokes for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": actions})

    def click(self, selector: str) -> None:
        """The middle of an element, with the mouse."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{found[ELEMENT]}/click", {})

    def drag(self, start: tuple[float, float], by: tuple[int, int], *, shift: bool = False) -> None:
        """Press at a point of the window, move, let go."""
        x, y = map(int, start)
        steps = [{"type": "pointerMove", "x": x, "y": y, "duration": 0}, {"type": "pointerDown", "button": 0}]
        steps += [{"type": "pointerMove", "x": x + by[0], "y": y + by[1], "duration": 20}]
        steps += [{"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        hold = [{"type": "keyDown", "value": KEYS["Shift"]}, {"type": "pause"}, {"type": "pause"}]
        hold += [{"type": "keyUp", "value": KEYS["Shift"]}]
        self._act(mouse, *([{"type": "key", "id": "keyboard", "actions": hold}] if shift else []))

    def scroll(self, at: tuple[float, float], delta: int) -> None:
        """Turn the wheel at a point of the window."""
        step = {"type": "scroll", "x": int(at[0]), "y": int(at[1]), "deltaX": 0, "deltaY": delta, "duration": 0}
        self._act({"type": "wheel", "id": "wheel", "actions": [step]})

    def pinch(self, at: tuple[float, float], start: int, end: int) -> None:
        """Two fingers around a point, from one distance to another."""
        fingers = []
        for number, side in enumerate((-1, 1)):
            places = [int(at[0]) + side * distance // 2 for distance in (start, end)]
            moves = [{"type": "pointerMove", "x": x, "y": int(at[1]), "duration": 10} for x in places]
            steps = [moves[0], {"type": "pointerDown", "button": 0}, moves[1], {"type": "pointerUp", "button": 0}]
            parameters = {"pointerType": "touch"}
            fingers.append({"type": "pointer", "id": f"finger{number}", "parameters": parameters, "actions": steps})
        self._act(*fingers)

    def tell(self, command: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol, such as an emulated screen."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last time: ``browser`` is the console, ``performance`` the network."""
        return self._call("POST", "/se/log", {"type": kind})

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def picture(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self._call("GET", "/screenshot"))

    def close(self) -> None:
        """End the session."""
        self._call("DELETE", "")

    def _act(self, *devices: dict[str, Any]) -> None:
        self._call("POST", "/actions", {"actions": list(devices)})

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                message = json.load(error)["value"]["message"]
        raise AssertionError(f"{method} {path}: {message}")


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module; skips, saying why, where there is none."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with chromedriver here: apt-get install chromium chromium-driver")
    with subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
        try:
            lines = iter(driver.stdout.readline, "")
            port = next(
                line.rsplit(" ", 1)[1].strip(". \n") for line in lines if "started successfully on port" in line
            )
            session = Browser(f"http://127.0.0.1:{port}/session")
            try:
                yield session
            finally:
                session.close()
        finally:
            driver.terminate()
