#!/usr/bin/env python3
"""Users, roles and lost connections in the console: login_test.py BROKER."""

import hashlib
import tempfile
import unittest
from pathlib import Path

from browser import Browser
from case import main
from served import AT, Served, free_port

TOKENS = {name: f"gst_{name:_<43}" for name in ("viewer", "operator", "admin", "narrow")}


def line(name: str, rights: str, tubes: str = "") -> str:
    return f"  - {name} {rights} sha256:{hashlib.sha256(TOKENS[name].encode()).hexdigest()} {tubes}".rstrip() + "\n"


USERS = ("console.users:\n" + line("viewer", "viewer") + line("operator", "operator") + line("admin", "admin+bodies")
         + line("narrow", "operator+bodies", "open.*"))


class Login(unittest.TestCase):
    served: Served

    @classmethod
    def setUpClass(cls) -> None:
        cls.served = Served(USERS)
        for tube in ("open.a", "secret"):
            cls.put(tube)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.served.stop()

    @classmethod
    def put(cls, tube: str) -> int:
        return cls.served.ask("POST", f"tubes/{tube}/jobs", {"body": "a body"}, TOKENS["admin"])["id"]

    def setUp(self) -> None:
        self.browser = Browser(self.served.base)
        self.browser.size(1280)

    def tearDown(self) -> None:
        self.browser.close()

    def sign_in(self, name: str) -> None:
        self.browser.open("#/", "login")
        self.browser.fill("login-token", TOKENS[name])
        self.browser.click("login-submit")
        self.browser.on("overview")

    def test_a_wrong_token_then_a_right_one(self) -> None:
        self.browser.open("#/tubes", "login")
        self.browser.fill("login-token", "gst_wrong")
        self.browser.click("login-submit")
        self.browser.find("login-error")
        self.assertEqual([text for text in self.browser.complaints() if "401" not in text], [])
        self.browser.fill("login-token", TOKENS["operator"])
        self.browser.click("login-submit")
        self.browser.on("tubes")
        self.assertEqual(self.browser.text("user"), "operator")
        self.assertEqual(self.browser.text("role"), "operator")
        self.assertEqual(self.browser.script("return document.cookie"), "")
        self.assertEqual(self.browser.complaints(), [])
        self.browser.click("logout")
        self.browser.on("login")
        # What the console asked at the same time as it signed out is refused.
        self.assertEqual([text for text in self.browser.complaints() if "401" not in text], [])

    def test_nobody_listens_after_signing_out(self) -> None:
        """The console was about to open its stream of events when the user signed out."""
        self.sign_in("operator")
        self.browser.hold_connect()
        self.browser.click("logout")
        self.browser.on("login")
        count = "streams = 0; release(); return new Promise((told) => setTimeout(() => told(streams), 200));"
        self.assertEqual(self.browser.script(count), 0)

    def test_what_a_viewer_may_not_do_is_absent(self) -> None:
        self.sign_in("viewer")
        self.browser.open("#/tubes/open.a?state=ready", "tube")
        self.browser.find("job-row")
        for testid in ("tube-put", "tube-pause", "tube-kick", "tube-clear", "job-select", "select-all", "filter-text"):
            self.assertFalse(self.browser.there(testid), testid)
        self.browser.open("#/server", "server")
        self.assertFalse(self.browser.there("drain"))
        self.assertFalse(self.browser.there("log-level"))
        self.browser.click("nav-audit")
        self.browser.on("audit")
        self.assertEqual(self.browser.complaints(), [])

    def test_bodies_need_their_right(self) -> None:
        job = self.put("open.a")
        self.sign_in("operator")
        self.browser.open(f"#/jobs/{job}", "job")
        self.browser.find("body-forbidden")
        self.assertFalse(self.browser.there("job-body"))
        self.assertFalse(self.browser.there("body-raw"))
        self.assertNotIn("a body", self.browser.said())
        self.assertEqual(self.browser.complaints(), [])

    def test_tubes_of_others_are_not_there(self) -> None:
        self.sign_in("narrow")
        self.browser.open("#/tubes", "tubes")
        self.browser.until("one tube", lambda: [row.get_attribute("data-ref") for row in self.browser.all("tube-row")] == ["open.a"])
        self.assertNotIn("secret", self.browser.said())


@unittest.skipIf(AT, "needs its own broker")
class Lost(unittest.TestCase):
    def test_the_page_says_so_and_comes_back(self) -> None:
        admin = f"127.0.0.1:{free_port()}"
        with tempfile.TemporaryDirectory() as data:
            served = Served(data=Path(data), admin=admin)
            served.put("back", "one")
            browser = Browser(served.base)
            try:
                browser.size(1280)
                browser.open("#/tubes", "tubes")
                browser.live_is("live")
                served.stop()
                browser.live_is("lost")
                served = Served(data=Path(data), admin=admin)
                served.put("again", "two")
                browser.live_is("live")
                browser.until("both tubes", lambda: len(browser.all("tube-row")) >= 2)
            finally:
                browser.close()
                served.stop()


if __name__ == "__main__":
    main()
