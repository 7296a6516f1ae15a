"""What the tests of the console have in common: one broker, one window, and no complaints at the end."""

import sys
import unittest
from typing import ClassVar

from browser import SKIPPED, Browser, missing
from served import Served


class ConsoleTest(unittest.TestCase):
    CONFIGURATION = ""  # of the broker, YAML
    served: ClassVar[Served]
    browser: ClassVar[Browser]

    @classmethod
    def setUpClass(cls) -> None:
        cls.served = Served(cls.CONFIGURATION)
        cls.browser = Browser(cls.served.base)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.browser.close()
        cls.served.stop()

    def tearDown(self) -> None:
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.foreign_requests(), [])


def main() -> None:
    if part := missing():
        print(f"skipped: {part} is not installed")
        sys.exit(SKIPPED)
    unittest.main()
