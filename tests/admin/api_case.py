"""What the tests of the API have in common. They are run as: TEST BROKER."""

import re
import sys
import unittest
from typing import Any

from api_client import Api
from broker import Broker, Client

BINARY = sys.argv.pop(1) if len(sys.argv) > 1 else "build/gearstalkd"


class WithBroker(unittest.TestCase):
    OPTIONS: tuple[str, ...] = ("--console-rate", "0")

    def setUp(self) -> None:
        self.broker = Broker(BINARY, *self.OPTIONS)
        self.api = Api(self.broker.admin)
        self.client = Client(self.broker.port)

    def tearDown(self) -> None:
        self.client.close()
        if self.broker.process.poll() is None:
            check_recorded(self, self.api)
        self.assertEqual(self.broker.stop(), 0)

    def refused(self, code: str, method: str, path: str, body: Any = None, api: Api | None = None,
                **headers: str) -> Any:
        answer = (api or self.api).ask(method, path, body,
                                       {k.replace("_", "-"): v for k, v in headers.items()})
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json", answer)
        problem = answer.json
        self.assertEqual(problem["code"], code, problem)
        self.assertEqual(problem["status"], answer.status)
        self.assertEqual(problem["type"], f"urn:gearstalk:problem:{code}")
        self.assertEqual(problem["request_id"], answer.headers["X-Request-Id"])
        for member in ("title", "detail", "field"):
            self.assertIn(member, problem)
        return problem


def check(test: unittest.TestCase, document: Any, schema: Any, value: Any, at: str = "$") -> None:
    """Whether a value is what a schema of ours says, and has no member that it does not name."""
    if "$ref" in schema:
        return check(test, document, document["components"]["schemas"][schema["$ref"].split("/")[-1]],
                     value, at)
    if value is None and schema.get("nullable"):
        return None
    for part in schema.get("allOf", []):
        check(test, document, part, value, at)
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
             "object": dict}
    if "type" in schema:
        test.assertIsInstance(value, kinds[schema["type"]], f"{at}: {value!r}")
    if schema.get("type") == "array":
        for i, item in enumerate(value):
            check(test, document, schema["items"], item, f"{at}[{i}]")
    if schema.get("type") == "object":
        test.assertEqual(set(schema.get("required", [])) - set(value), set(), at)
        test.assertEqual(set(value) - set(schema["properties"]), set(), at)
        for name, item in value.items():
            check(test, document, schema["properties"][name], item, f"{at}.{name}")
    return None


def check_recorded(test: unittest.TestCase, api: Api) -> None:
    """Whether all answers so far are as OpenAPI says: status, type, and value."""
    if not api.recorded:
        return
    answer = api.ask("GET", "/openapi.json")
    if answer.status != 200:  # it is switched off
        return
    document = answer.json
    templates = {re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))): methods
                 for path, methods in document["paths"].items()}
    for method, path, answer in api.recorded:
        methods = next((of for pattern, of in templates.items() if pattern.fullmatch(path or "/")), {})
        operation = methods.get("get" if method == "HEAD" else method.lower())
        with test.subTest(f"OpenAPI: {method} {path} {answer.status}"):
            if answer.status >= 400:
                if method != "HEAD":
                    check(test, document, {"$ref": "#/components/schemas/Problem"}, answer.json)
                continue
            content = operation["responses"][str(answer.status)].get("content", {})
            kind = answer.headers.get("Content-Type")
            test.assertEqual(set(content), {kind} if kind else set())
            if kind == "application/json" and method != "HEAD":
                check(test, document, content[kind]["schema"], answer.json)
