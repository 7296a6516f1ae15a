#!/usr/bin/env python3
"""Holds the sources to the layers, to the limits of size, and the command tables to transcripts."""

import re
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Layer -> what it may include of the project besides itself. A folder, or a single header.
LAYERS: dict[str, list[str]] = {
    "broker/base": [],
    "broker/policy": ["broker/base"],
    "broker/config": ["broker/base", "broker/policy"],
    "broker/binlog": ["broker/base", "broker/journal/record.h"],
    "broker/journal/wal": ["broker/base", "broker/journal"],
    "broker/transfer": ["broker/base", "broker/journal"],
    "broker/journal": ["broker/base"],
    "broker/replica": ["broker/base", "broker/journal"],
    "broker/etcd": ["broker/base", "broker/replica"],
    "broker/postgres": ["broker/base", "broker/replica"],
    "broker/engine": ["broker/base", "broker/policy", "broker/journal/journal.h",
                      "broker/journal/record.h", "broker/transfer/mark.h"],
    "broker/link": ["broker/base"],
    "broker/server": ["broker/base", "broker/link"],
    # Of the server it has transports, and nothing that knows a session.
    "broker/router": ["broker/base", "broker/link", "broker/server/event_loop.h",
                      "broker/server/held_input.h", "broker/server/router_process.h",
                      "broker/server/socket_transport.h", "broker/server/transport.h"],
    "broker/session": ["broker/base", "broker/engine", "broker/server/access.h"],
    "proto_beanstalk": ["broker/base", "broker/engine", "broker/session", "broker/server/protocol.h",
                        "broker/server/access.h", "broker/server/output.h"],
    "proto_gearman": ["broker/base", "broker/policy", "broker/engine", "broker/session", "broker/server/protocol.h",
                      "broker/server/access.h", "broker/server/output.h"],
    "admin/console": ["admin/http/assets.h"],
    "admin/http": ["broker/base"],
    "admin/metrics": ["broker/base", "broker/policy", "broker/engine", "broker/server/protocol.h",
                      "admin/http/answer.h"],
    "admin/api": ["broker/base", "broker/policy", "broker/engine", "broker/server/protocol.h",
                  "admin/http", "admin/metrics"],
    "admin/move/session": ["broker/base", "broker/transfer", "broker/engine", "broker/journal/record.h",
                       "broker/server/protocol.h",
                       "broker/server/access.h", "broker/server/output.h",
                       "broker/server/refusal.h"],
    "admin/move": ["broker/base", "broker/binlog", "broker/transfer", "broker/engine", "broker/journal",
                   "broker/server/protocol.h", "broker/server/output.h",
                   "proto_beanstalk/parser.h", "admin/ctl/command.h"],
    "admin/ctl": ["broker/base", "broker/journal", "broker/transfer", "broker/version.h", "admin/move"],
    "broker/process": ["broker/base"],
    "broker/app": ["broker", "proto_beanstalk", "proto_gearman", "admin"],
}
WIRING = ["broker/main.cc", "broker/version.h"]

# Headers from outside -> the only places that may know them.
OUTSIDE: dict[str, list[str]] = {
    r"event2/|event\.h": ["broker/server/", "admin/http"],
    r"google/protobuf/|.*\.pb\.h": ["broker/journal/", "broker/etcd/"],
    r"grpc": ["broker/etcd/"],
    r"libpq-fe\.h": ["broker/postgres/", "admin/move/sources/"],
    r"openssl/": ["admin/api/users", "broker/server/tls", "admin/ctl/", "admin/move/socket_channel.cc"],
    r"yaml-cpp/": ["broker/config/", "admin/ctl/"],
    r"CLI/": ["broker/config/command_line.cc", "admin/ctl/api/run.cc"],
    r"spdlog/": ["broker/process/"],
    r"sys/socket\.h|netinet/|arpa/|netdb\.h|sys/un\.h": ["broker/link/", "broker/router/", "broker/server/", "broker/process/", "admin/", "broker/postgres/addresses.cc"],
    r"boost/|absl/|fmt/|xxhash": ["broker/base/base64.cc", "broker/binlog/", "broker/policy/", "broker/config/", "broker/engine/", "broker/journal/",
                                  "broker/replica/", "broker/etcd/", "broker/postgres/",
                                  "broker/router/", "broker/server/", "broker/process/", "broker/app/", "proto_", "admin/",
                                  "broker/main.cc"],
}

CLOCK = re.compile(r"_clock::now\b|\b(clock_gettime|gettimeofday|timespec_get)\s*\("
                   r"|(?<![\w.>])(std::)?time\s*\(\s*(nullptr|NULL|0|&)")
# The journal's seam to the system measures how long a sync takes; gearstalkctl is a client without a loop.
CLOCK_READERS = ["broker/base/clock.cc", "broker/journal/wal/file_system.cc", "admin/ctl/", "admin/move/"]

# Header -> the most files of the product that may read it, by way of others, too. A change of one of ours compiles
# these anew; one of a library's costs seconds in each.
READERS = {
    "broker/engine/engine.h": 67, "broker/engine/job.h": 105, "broker/journal/record.h": 161,
    "CLI/CLI.hpp": 2, "nlohmann/json.hpp": 60, "yaml-cpp/yaml.h": 3,
}

MAX_FILE = 700       # lines of the product
MAX_TEST_FILE = 700  # lines
MAX_FUNCTION = 60    # lines
MAX_PUBLIC = 40      # public functions of a class
MAX_FRIENDS = 2

# Class -> public functions and friends that it has beyond the limits. Only smaller numbers are written here.
LARGE_CLASSES: dict[str, tuple[int, int]] = {}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h") and "node_modules" not in path.parts:
                yield path


def products() -> Iterator[Path]:
    return sources("broker", "proto_beanstalk", "proto_gearman", "admin")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def includes(path: Path) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found[1], found[2]


def inside(header: str, place: str) -> bool:
    return header == place or header.startswith(place + "/")


def is_outside(header: str) -> bool:
    return any(re.match(pattern, header) for pattern in OUTSIDE) and not header.startswith("broker/")


def layer_of(name: str) -> str | None:
    return next((layer for layer in LAYERS if inside(name, layer)), None)


def without_text(source: str) -> str:
    """The source with comments and literals blanked out, line for line."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                         r"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def functions(source: str) -> Iterator[tuple[int, int, str]]:
    """First line, number of lines and heading of each function body outside other functions."""
    code = without_text(source)
    scopes: list[tuple[bool, int, str]] = []  # whether it is a function, its start, its heading
    start = 0
    for at, char in enumerate(code):
        if char in ";{}":
            heading = code[start:at]
            if char == "{":
                in_function = bool(scopes) and scopes[-1][0]
                opens = in_function or bool(re.search(r"\)[^()=]*$", heading))
                begin = start + len(heading) - len(heading.lstrip())
                scopes.append((opens, begin, " ".join(heading.split())))
            elif char == "}" and scopes:
                is_function, begin, text = scopes.pop()
                if is_function and not (scopes and scopes[-1][0]):
                    first = code.count("\n", 0, begin) + 1
                    yield first, code.count("\n", 0, at) + 2 - first, text
            start = at + 1


CLASS = re.compile(r"(?:template\s*<.*>\s*)?(class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?(?:\s*:[^:].*)?", re.S)
NO_FUNCTION = re.compile(r"(class|struct|enum|using|static_assert)\b|.*= delete$|[^(]*(?<!operator)(?<!operator=)=")


def without_templates(text: str) -> str:
    shorter = re.sub(r"<[^<>()]*(\([^()]*\)[^<>()]*)*>", "", text)
    return text if shorter == text else without_templates(shorter)


class Class:
    def __init__(self, kind: str, name: str) -> None:
        self.name, self.public = name, kind == "struct"
        self.functions = self.friends = 0

    def add(self, declaration: str) -> None:
        declaration = without_templates(declaration)
        if declaration.startswith("friend "):
            self.friends += 1
        elif self.public and "(" in declaration and not NO_FUNCTION.match(declaration):
            self.functions += 1


def classes(source: str) -> Iterator[Class]:
    """The classes of a header, with what is declared in them."""
    code = without_text(source)
    scopes: list[Class | None] = []
    start = parens = 0
    for at, char in enumerate(code):
        parens += (char == "(") - (char == ")")
        if parens or char not in ";{}:":
            continue
        text = " ".join(code[start:at].split())
        inner = scopes[-1] if scopes else None
        if char == ":":
            if inner is None or text not in ("public", "protected", "private"):
                continue
            inner.public = text == "public"
        elif char == "}":
            if scopes and (ended := scopes.pop()):
                yield ended
        else:
            if inner is not None:
                inner.add(text)
            if char == "{":
                found = CLASS.fullmatch(text)
                scopes.append(Class(found[1], found[2]) if found else None)
        start = at + 1


class Layers(unittest.TestCase):
    def test_no_file_includes_itself_by_way_of_others(self) -> None:
        graph = {name_of(path): [header for _, _, header in includes(path)] for path in products()}
        done: set[str] = set()

        def walk(name: str, way: tuple[str, ...]) -> None:
            self.assertNotIn(name, way, f"a circle: {way}")
            if name in done:
                return
            for header in graph.get(name, ()):
                walk(header, (*way, name))
            done.add(name)

        for name in graph:
            walk(name, ())

    def test_every_folder_is_a_layer(self) -> None:
        for path in products():
            name = name_of(path)
            with self.subTest(name):
                self.assertTrue(layer_of(name) or name in WIRING, "belongs to no layer")

    def test_includes_follow_the_arrows(self) -> None:
        for path in products():
            layer = layer_of(name_of(path))
            if layer is None:
                continue
            allowed = [layer, *LAYERS[layer]]
            for number, quote, header in includes(path):
                if quote == "<" or is_outside(header):
                    continue
                with self.subTest(f"{name_of(path)}:{number}"):
                    self.assertTrue(any(inside(header, place) for place in allowed),
                                    f"{layer} must not know {header}")

    def test_outside_headers_stay_in_their_places(self) -> None:
        for path in products():
            name = name_of(path)
            for number, _, header in includes(path):
                for pattern, places in OUTSIDE.items():
                    if re.match(pattern, header):
                        with self.subTest(f"{name}:{number}"):
                            self.assertTrue(any(name.startswith(place) for place in places),
                                            f"{header} is not for this folder")

    def test_only_the_clock_reads_the_time(self) -> None:
        for path in products():
            if name_of(path).startswith(tuple(CLOCK_READERS)):
                continue
            for number, line in enumerate(without_text(path.read_text()).splitlines(), 1):
                with self.subTest(f"{name_of(path)}:{number}"):
                    self.assertIsNone(CLOCK.search(line), "time is an argument")


class Building(unittest.TestCase):
    """How much a change of a header compiles anew."""

    def test_headers_reach_no_more_files(self) -> None:
        graph = {name_of(path): [header for _, _, header in includes(path)] for path in products()}

        def reached(name: str, seen: set[str]) -> set[str]:
            for header in graph.get(name, ()):
                if header not in seen:
                    seen.add(header)
                    reached(header, seen)
            return seen

        files = [reached(name, set()) for name in graph if name.endswith(".cc")]
        for header, most in READERS.items():
            with self.subTest(header):
                readers = sum(header in seen for seen in files)
                self.assertTrue(0 < readers <= most, f"{readers} files read it, {most} are allowed")


class Sizes(unittest.TestCase):
    def test_files_are_short(self) -> None:
        for most, folders in ((MAX_FILE, ("broker", "proto_beanstalk", "proto_gearman", "admin")),
                              (MAX_TEST_FILE, ("tests",))):
            for path in sources(*folders):
                with self.subTest(name_of(path)):
                    self.assertLessEqual(len(path.read_text().splitlines()), most)

    def test_functions_are_short(self) -> None:
        for path in products():
            for first, lines, heading in functions(path.read_text()):
                with self.subTest(f"{name_of(path)}:{first}: {heading[:60]}"):
                    self.assertLessEqual(lines, MAX_FUNCTION)

    def test_classes_are_small(self) -> None:
        large = {}
        for path in products():
            if path.suffix != ".h":
                continue
            for each in classes(path.read_text()):
                if each.functions <= MAX_PUBLIC and each.friends <= MAX_FRIENDS:
                    continue
                large[each.name] = (each.functions, each.friends)
                with self.subTest(f"{name_of(path)}: {each.name}"):
                    functions_allowed, friends_allowed = LARGE_CLASSES.get(each.name, (0, 0))
                    self.assertLessEqual(each.functions, max(functions_allowed, MAX_PUBLIC), "public functions")
                    self.assertLessEqual(each.friends, max(friends_allowed, MAX_FRIENDS), "friends")
        self.assertEqual(set(LARGE_CLASSES) - set(large), set(), "these need no exception any more: delete them here")

    def test_classes_are_counted(self) -> None:
        text = """
            class A final : public B {
              friend class C;
             public:
              A() : x_(1) {}
              A(const A&) = delete;
              A& operator=(const A&);
              void F(int i = 0);
              struct D { void Inner(); int y = 0; };
              std::function<void()> g = nullptr;
             private:
              void Hidden();
              int x_;
            };"""
        inner, outer = classes(text)
        self.assertEqual((inner.name, inner.functions, inner.friends), ("D", 1, 0))
        self.assertEqual((outer.name, outer.functions, outer.friends), ("A", 3, 1))

    def test_functions_are_found(self) -> None:
        source = (ROOT / "broker/server/protocol_switch.cc").read_text()
        found = {heading.split("(")[0].split()[-1]: lines
                 for _, lines, heading in functions(source)}
        self.assertIn("ProtocolSwitch::OnInput", found)
        self.assertIn("ProtocolSwitch::RunGuest", found)
        self.assertGreater(found["ProtocolSwitch::OnInput"], 10)


class Transcripts(unittest.TestCase):
    """Every row of a command table appears in a transcript."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.texts = "\n".join(path.read_text() for path in
                              sorted((ROOT / "tests/conformance").rglob("*.txt")))

    def rows(self, file: str, pattern: str, at_least: int) -> list[str]:
        rows = re.findall(pattern, (ROOT / file).read_text(), re.M)
        self.assertGreaterEqual(len(rows), at_least, f"{file} has no table as expected")
        return rows

    def check(self, name: str, pattern: str) -> None:
        with self.subTest(name):
            self.assertTrue(re.search(pattern, self.texts, re.M), "no transcript speaks of it")

    def test_of_beanstalk_commands(self) -> None:
        for word in self.rows("proto_beanstalk/commands.cc", r'^ +\{"([a-z-]+) ?", Verb::', 25):
            self.check(word, rf"^ *\w*(>\S*| \|) {word}(?![a-z-])")

    def test_of_packets(self) -> None:
        for name in self.rows("proto_gearman/commands.cc", r'^ +\{"([A-Z_]+)", ', 40):
            self.check(name, rf"\{{!?{name}[ :}}]")

    def test_of_admin_lines(self) -> None:
        for word in self.rows("proto_gearman/text_admin.cc", r'^ +\{"([a-z]+)", \d, ', 12):
            self.check(word, rf"^ *\w*(>\S*| \|) {word}(?![a-z-])")


if __name__ == "__main__":
    unittest.main()
