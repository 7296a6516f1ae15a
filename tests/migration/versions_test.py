#!/usr/bin/env python3
"""What older beanstalkds refuse: versions_test.py BROKER CTL.

1.4 deletes no delayed job and has no `id` in `stats`; before 1.12 `reserve-job` is a malformed
`reserve`."""

import json
import socket
import sys
import unittest

from fake_beanstalkd import FakeBeanstalkd, Session
from tools import Broker, Folder, ctl, exported, jobs

BODIES = {"a": "ready", "b": "delayed", "c": "buried", "d": "buried"}


class OldSession(Session):
    def reserve_job(self, _: str) -> bytes:
        return b"BAD_FORMAT\r\n"

    def put(self, _priority: str, delay: str, *_: str) -> bytes:
        body, self.bytes = self.bytes.split(b"\r\n", 1)
        self.server.add(self.used, body.decode(), "delayed" if delay != "0" else "ready")
        return b"INSERTED %d\r\n" % max(self.server.jobs)

    def stats(self) -> bytes:
        return self.yaml(f"pid: {self.server.lives}\nversion: 1.4.6\nbinlog-current-index: 1\n")

    def delete(self, number: str) -> bytes:
        job = self.server.jobs.get(int(number))
        if job is not None and job.state == "delayed":
            return b"NOT_FOUND\r\n"
        return super().delete(number)


class OldBeanstalkd(FakeBeanstalkd):
    def session(self, connection: socket.socket) -> OldSession:
        return OldSession(self, connection)


class Versions(unittest.TestCase):
    def test_delayed_jobs_stay(self) -> None:
        for many in (1, 20):  # found one by one, and by a walk
            with self.subTest(many), Folder() as folder, \
                    Broker("--data-dir", folder / "new") as broker:
                old = OldBeanstalkd()
                for _ in range(many):
                    for body, state in BODIES.items():
                        old.add("mail", body, state)
                ctl("take-over", old.url, "--to", broker.address, "--report", folder / "report", code=3)
                report = json.loads((folder / "report").read_text())
                self.assertEqual((report["moved"], report["left"]), (3 * many, many))
                self.assertIn("since 1.5", report["jobs"][0]["text"])
                self.assertEqual({job.state for job in old.jobs.values()}, {"delayed"})
                self.assertIn(" 0 held", ctl("transfers", "--to", broker.address))
                old.close()

    def test_buried_jobs_do_not_go_back(self) -> None:
        with Folder() as folder, Broker("--data-dir", folder / "new") as broker:
            lines = [{"gearstalk_jobs": 1, "made_ns": 1}]
            lines += [{"job": number + 1, "tube": "mail", "state": state, "body": body,
                       "due_ns": 4_102_444_800_000_000_000 if state == "delayed" else 0}
                      for number, (body, state) in enumerate(BODIES.items())]
            lines.append({"end": {"jobs": len(BODIES), "next_id": 9}})
            (folder / "jobs").write_text("".join(json.dumps(line) + "\n" for line in lines))
            ctl("import", f"jobs:{folder / 'jobs'}", "--to", broker.address)
            old = OldBeanstalkd()
            said = ctl("hand-back", old.url, "--from", broker.address, code=3)
            self.assertIn("2 moved", said)
            self.assertIn("2 left", said)
            self.assertEqual([job["body"] for job in jobs(exported("--from", broker.address))], ["c", "d"])
            self.assertEqual(sorted(job.body for job in old.jobs.values()), [b"a", b"b"])
            old.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
