#!/usr/bin/env python3
"""Jobs whose bodies are in the journal alone, with the API of the real broker: api_bodies_test.py BROKER."""

import pathlib
import shutil
import tempfile
import unittest
from typing import Any

from api_case import WithBroker
from broker import eventually

JOBS = 40


def body_of(job: int) -> bytes:
    return (b'{"number": %d, "text": "needle%d"}' % (job, job)).ljust(400)


class ColdBodies(WithBroker):
    def setUp(self) -> None:
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="gearstalk-bodies-"))
        self.OPTIONS = ("--console-rate", "0", "--data-dir", str(self.data / "data"), "--limits-bodies", "1")
        super().setUp()
        for job in range(1, JOBS + 1):
            self.client.send(b"put 10 0 60 400\r\n" + body_of(job) + b"\r\n")
            self.assertEqual(self.client.line(), f"INSERTED {job}")
        self.await_cold(JOBS)

    def tearDown(self) -> None:
        super().tearDown()
        shutil.rmtree(self.data)

    def memory(self) -> Any:
        return self.api.get("/server")["memory"]

    def await_cold(self, jobs: int) -> None:
        eventually("bodies leave", lambda: self.memory()["bodies_in_journal"] == jobs)

    def test_counts(self) -> None:
        memory = self.memory()
        self.assertEqual(memory["bodies_in_journal_bytes"], JOBS * 400)
        self.assertEqual(memory["bodies_bytes"], 0)
        self.assertEqual(memory["bodies_limit_bytes"], 1)
        self.assertIs(self.api.get("/jobs/1")["body_in_memory"], False)

    def test_a_body_is_read_and_leaves_again(self) -> None:
        answer = self.api.ask("GET", "/jobs/7/body")
        self.assertEqual(answer.body, body_of(7))
        self.assertEqual(self.api.get("/jobs/8/body/view?as=json")["value"]["number"], 8)
        self.await_cold(JOBS)

    def test_lists_have_previews_and_find_texts(self) -> None:
        page = self.api.get("/jobs?preview=1&limit=100")
        self.assertEqual(len(page["items"]), JOBS)
        for job in page["items"]:
            self.assertTrue(job["preview"].startswith(f'{{"number": {job["id"]},'), job)
        found = self.api.get("/jobs?text=needle33")
        self.assertEqual([job["id"] for job in found["items"]], [33])
        following = self.api.get("/tubes/default/jobs?order=next&state=ready&preview=1&limit=3")
        self.assertTrue(all("needle" in job["preview"] for job in following["items"]))
        self.await_cold(JOBS)

    def test_a_copy_has_the_body(self) -> None:
        copy = self.api.post("/jobs/5/copy", {"to": "other"}, 201)
        self.assertEqual(self.api.ask("GET", f"/jobs/{copy['id']}/body").body, body_of(5))

    def test_a_moved_job_is_taken_with_its_body(self) -> None:
        self.api.post("/jobs/6/move", {"to": "other"})
        self.client.send(b"watch other\r\nignore default\r\nreserve-with-timeout 0\r\n")
        self.assertEqual(self.client.line(), "WATCHING 2")
        self.assertEqual(self.client.line(), "WATCHING 1")
        self.assertEqual(self.client.line(), "RESERVED 6 400")
        self.assertEqual(self.client.line(), body_of(6).decode())

    def test_pipelined_reserves_get_the_jobs_in_order(self) -> None:
        self.client.send(b"reserve-with-timeout 0\r\n" * JOBS)
        for job in range(1, JOBS + 1):
            self.assertEqual(self.client.line(), f"RESERVED {job} 400")
            self.assertEqual(self.client.line(), body_of(job).decode())


if __name__ == "__main__":
    unittest.main()
