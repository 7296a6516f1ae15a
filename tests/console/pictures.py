#!/usr/bin/env python3
"""The pictures of docs/console.md, taken from a real console: pictures.py BROKER.

Each shows the answer to one of the five questions, on the data of scene.py."""

import base64
from pathlib import Path

from case import main
from scene import Scene

FOLDER = Path(__file__).resolve().parents[2] / "docs/console"
WIDTH = 1120  # pixels of the window, of which the menu takes 212
MENU = 212


class Pictures(Scene):
    def test_pictures(self) -> None:
        self.browser.size(WIDTH, 2000)
        self.browser.system_theme("light")
        self.browser.open("#/", "overview")
        self.concern("unserved")
        self.concern("buried")
        self.concern("schedules")
        self.take_picture("attention", '[data-testid="attention"]', "section")
        self.picture_of("tube", "#/tubes/alone", '[data-testid="tube-attention"]')
        self.picture_of("running", "#/running", '[data-testid="running-table"]')
        self.picture_of("failures", "#/failures?since=1h", '[data-testid="failures-table"]')
        self.picture_of("schedules", "#/schedules", '[data-testid="schedule-row"]')
        self.served.ask("PUT", "server/draining", {"draining": True})
        client = self.served.client()
        client.sendall(b"put 0 0 1 1\r\nx\r\n")
        self.assertEqual(client.recv(100), b"DRAINING\r\n")
        client.close()
        self.picture_of("server", "#/server", '[data-testid="refused-row"]')

    def picture_of(self, page: str, address: str, selector: str) -> None:
        """The upper part of a page, down to the end of the panel that has the element."""
        self.browser.open(address, page)
        self.take_picture(page, selector, None)

    def take_picture(self, name: str, selector: str, only: str | None) -> None:
        found = "document.querySelector(arguments[0])"
        panel = f"({found}.closest('section, .panel') ?? {found})"
        self.browser.until(selector, lambda: self.browser.css(selector))
        self.browser.script("document.activeElement?.blur()")
        box = self.browser.script(f"""
            const box = {panel}.getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom].map((edge) => Math.round(edge));""", selector)
        left, top, right, bottom = box if only else (MENU, 54, WIDTH, box[3])
        margin = 12
        clip = {"x": left - (margin if only else 0), "y": top - (margin if only else 0), "scale": 1,
                "width": right - left + (2 * margin if only else 0), "height": bottom - top + (2 if only else 1) * margin}
        picture = self.browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


if __name__ == "__main__":
    main()
