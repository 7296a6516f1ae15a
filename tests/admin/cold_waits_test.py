#!/usr/bin/env python3
"""Who needs a body that cannot be read yet waits for it: operations of the API, runs of schedules, transfers. The file
of its segment is away meanwhile: cold_waits_test.py BROKER."""

import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from broker import Client, eventually
from cold_case import Cold, body_of
from transfer_protocol import BODY_IS_KEY, Transfer

JOBS = 3


class Waits(Cold):
    """Each job is known by its body: an equal one is compared with the body in the journal first."""

    POLICIES = f"""
tubes:
  - {{match: "*", unique: body}}
schedules:
  - {{name: again, cron: "0 0 1 1 *", tube: default, body: "{body_of(1, 400).decode()}"}}
  - {{name: another, cron: "0 0 1 1 *", tube: default, body: "another"}}
"""

    def setUp(self) -> None:
        super().setUp()
        for number in range(1, JOBS + 1):
            self.assertEqual(self.put(number), number)
        self.await_cold(JOBS)

    @contextmanager
    def nothing_to_read(self) -> Iterator[None]:
        """Until its end, which comes when somebody has asked for a body; others are served."""
        file = self.segment()
        away = self.data / "away"
        file.rename(away)
        try:
            yield
            eventually("a body is asked for", lambda: self.broker.get("/readyz")[0] == 503)
            other = Client(self.broker.port)
            other.send(b"use other\r\nwatch other\r\nput 0 0 60 2\r\nhi\r\nreserve-with-timeout 0\r\n")
            self.assertEqual(other.line(), "USING other")
            self.assertEqual(other.line(), "WATCHING 2")
            number = other.line().removeprefix("INSERTED ")
            self.assertEqual([other.line(), other.line()], [f"RESERVED {number} 2", "hi"])
            self.assertEqual(other.say(f"delete {number}"), "DELETED")
            other.close()
        finally:
            away.rename(file)

    def meanwhile(self, ask: Callable[[], Any]) -> Any:
        """Its answer, that comes when the body can be read. An operator waits for 5 s at most, which may be over on
        a busy machine: he asks again."""
        with ThreadPoolExecutor(1) as beside:
            with self.nothing_to_read():
                answer = beside.submit(ask)
            given = answer.result()
        return ask() if given is None else given

    def ready(self, tube: str = "default") -> int:
        return self.api.get(f"/tubes/{tube}")["jobs"]["ready"]

    def operate(self, action: str, job_filter: Any, **more: Any) -> Any:
        """The operation when it has ended; None if it did not get its bodies."""
        operation = self.api.post("/operations", {"action": action, "filter": job_filter, **more}, 201)
        path = f"/operations/{operation['id']}"
        while (operation := self.api.get(path))["state"] == "counting":
            pass
        if operation["state"] == "counted":
            self.api.post(f"{path}/confirm", {"count": operation["count"]}, 202)
        while (operation := self.api.get(path))["state"] == "running":
            pass
        if operation["state"] == "failed":
            self.assertEqual(operation["problem"]["code"], "disk")
            return None
        return operation

    def test_an_operation_finds_texts(self) -> None:
        done = self.meanwhile(lambda: self.operate("delete", {"tube": "default", "text": body_of(2, 50).decode()}))
        self.assertEqual((done["count"], done["done"]), (1, 1))
        self.assertEqual([job["id"] for job in self.api.get("/jobs")["items"]], [1, 3])

    def test_an_operation_copies(self) -> None:
        done = self.meanwhile(lambda: self.operate("copy", {"tube": "default"}, to="copies"))
        self.assertEqual((done["count"], done["done"]), (JOBS, JOBS))
        self.assertEqual(self.ready("copies"), JOBS)
        self.await_cold(2 * JOBS)

    def test_an_operation_compares_its_copies(self) -> None:
        self.assertEqual(self.client.say("use copies"), "USING copies")
        for number in range(1, JOBS):
            self.assertEqual(self.put(number), JOBS + number)
        self.await_cold(2 * JOBS - 1)
        done = self.meanwhile(lambda: self.operate("copy", {"tube": "default"}, to="copies"))
        self.assertEqual((done["count"], done["done"]), (JOBS, JOBS))
        self.assertEqual(self.ready("copies"), JOBS)
        self.await_cold(2 * JOBS)

    def test_a_put_of_an_operator_is_compared(self) -> None:
        body = {"body": body_of(2, 400).decode()}

        def put() -> Any:
            answer = self.api.ask("POST", "/tubes/default/jobs", body)
            return None if answer.status == 503 else answer
        answer = self.meanwhile(put)
        self.assertEqual((answer.status, answer.json["id"]), (200, 2))
        self.assertEqual(self.ready(), JOBS)

    def test_the_run_of_a_schedule_is_compared(self) -> None:
        def run() -> Any:
            answer = self.api.ask("POST", "/schedules/again/run")
            return None if answer.status == 503 else answer
        answer = self.meanwhile(run)
        self.assertEqual((answer.status, answer.json["id"]), (201, 1))
        self.assertEqual(self.ready(), JOBS)
        self.assertGreater(self.api.post("/schedules/another/run", {}, 201)["id"], JOBS)
        self.assertEqual(self.ready(), JOBS + 1)

    def test_puts_of_a_transfer_are_compared(self) -> None:
        transfer = Transfer(self.broker.port, "t")
        with self.nothing_to_read():
            for number in (2, 4):
                transfer.put("default", number, body_of(number, 400), flags=BODY_IS_KEY)
            transfer.sync()
        joined, made = transfer.ids()
        self.assertEqual(joined, 0)
        self.assertGreater(made, JOBS)
        transfer.close()
        self.assertEqual(self.ready(), JOBS + 1)

    def hold(self, transfer: Transfer) -> list[int]:
        """One that is equal to another job, and one that is not."""
        for number in (1, 5):
            transfer.put("default", number, body_of(number, 400), flags=BODY_IS_KEY, held=2, source_id=number)
        transfer.sync()
        return transfer.ids()

    def test_held_jobs_that_appear_are_compared(self) -> None:
        transfer = Transfer(self.broker.port, "t")
        held = self.hold(transfer)
        with self.nothing_to_read():
            for job in held:
                transfer.commit(job)
            transfer.sync()
        transfer.ids()
        transfer.close()
        self.assertEqual(self.ready(), JOBS + 1)

    def test_held_jobs_of_a_transfer_that_is_forgotten_are_compared(self) -> None:
        transfer = Transfer(self.broker.port, "t")
        self.hold(transfer)
        with self.nothing_to_read():
            transfer.forget_and_commit()
            transfer.sync()
        transfer.ids()
        transfer.close()
        self.assertEqual(self.ready(), JOBS + 1)
        self.assertEqual(self.api.get("/transfers")["items"], [])

    def test_held_jobs_of_a_transfer_that_an_operator_forgets_are_compared(self) -> None:
        transfer = Transfer(self.broker.port, "t")
        self.hold(transfer)
        transfer.close()
        eventually("nobody works on it", lambda: self.api.get("/transfers")["items"])
        answer = self.meanwhile(lambda: self.api.ask("DELETE", "/transfers/t?held=commit"))
        self.assertEqual(answer.status, 204)
        self.assertEqual(self.ready(), JOBS + 1)


if __name__ == "__main__":
    unittest.main()
