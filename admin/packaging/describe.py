#!/usr/bin/env python3
"""Writes manual pages, completions, documents and configuration of the packages from what the binaries say."""

import argparse
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCUMENTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs"]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
HELP_COLUMN = 30  # where --help begins to explain


@dataclass
class Flag:
    name: str
    value: str
    text: str

    @property
    def choices(self) -> list[str]:
        words = self.value.split("|")
        return [word for word in words if re.fullmatch(r"[a-z]+", word)] if len(words) > 1 else []


def read_flags(help_text: str) -> list[Flag]:
    flags: list[Flag] = []
    for line in help_text.split("Options:\n", 1)[1].splitlines():
        if line.startswith(" " * HELP_COLUMN):
            flags[-1].text = f"{flags[-1].text} {line.strip()}".strip()
            continue
        if not line.strip():
            break
        head, text = line, ""
        if line[HELP_COLUMN - 1:HELP_COLUMN] == " " and line[HELP_COLUMN:].strip():
            head, text = line[:HELP_COLUMN], line[HELP_COLUMN:].strip()
        found = re.fullmatch(r"\s+(?:-\w,)?--([a-z-]+)\s*(.*?)\s*(?:Excludes:.*)?", head)
        if found is None:
            raise SystemExit(f"--help has a line of another form: {line}")
        flags.append(Flag(found[1], found[2], text))
    return flags


@dataclass
class Key:
    name: str
    value: str  # the default, or an example
    has_default: bool
    text: str


def read_keys(yaml: str) -> list[Key]:
    """The commented file: a paragraph of comments, then the key behind a #."""
    keys: list[Key] = []
    section, comment = "", []
    body = yaml.split("\n\n", 1)[1]  # behind what it says of itself
    for line in body.splitlines():
        if item := re.fullmatch(r"\s*(?:#\s+|\s)- (.*)", line):
            keys[-1].value = f"{keys[-1].value} {item[1]}".strip()
        elif words := re.fullmatch(r"\s*# (.*)", line):
            comment.append(words[1])
        elif found := re.fullmatch(r"(\s*)(#?)(\w+):\s*(.*)", line):
            indent, commented, name, value = found.groups()
            if not value and not commented and not comment:
                section = f"{name}."
                continue
            if not indent:
                section = ""
            about = " ".join(comment)
            keys.append(Key(section + name, value, "Default: " not in about, about))
            comment = []
    return keys


def escaped(text: str) -> str:
    return re.sub(r"([_*\\<>`])", r"\\\1", text)


def man_flags(flags: list[Flag]) -> str:
    parts = []
    for flag in flags:
        value = f" _{escaped(flag.value)}_" if flag.value else ""
        parts.append(f"*--{flag.name}*{value}\n\t{escaped(flag.text)}")
    return "\n\n".join(parts)


def man_keys(keys: list[Key]) -> str:
    parts = []
    for key in keys:
        word = "Default" if key.has_default else "Example"
        value = f"++\n{word}: {escaped(key.value)}" if key.value else ""
        parts.append(f"*{escaped(key.name)}*\n\t{escaped(key.text)}{value}")
    return "\n\n".join(parts)


def man_page(template: str, place: str, text: str) -> bytes:
    source = (HERE / template).read_text().replace(place, text)
    # The pages name no date, unless that of the release.
    env = {"SOURCE_DATE_EPOCH": "0", **os.environ}
    return subprocess.run(["scdoc"], input=source.encode(), capture_output=True, check=True,
                          env=env).stdout


def bash_completion(flags: list[Flag]) -> str:
    names = " ".join(f"--{flag.name}" for flag in flags)
    cases = ""
    for flag in flags:
        if flag.choices:
            reply = f'compgen -W "{" ".join(flag.choices)}" -- "$word"'
        elif flag.value in ("FILE", "DIR"):
            reply = f'compgen {"-f" if flag.value == "FILE" else "-d"} -- "$word"'
        elif flag.value:
            reply = ":"
        else:
            continue
        cases += f'    --{flag.name})\n      mapfile -t COMPREPLY < <({reply})\n      return ;;\n'
    return f"""# bash completion for gearstalkd
_gearstalkd() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  case $before in
{cases}  esac
  mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$word")
}}
complete -F _gearstalkd gearstalkd
"""


def zsh_completion(flags: list[Flag]) -> str:
    lines = []
    for flag in flags:
        text = re.sub(r"([\[\]:\\])", r"\\\1", flag.text).replace("'", "'\\''")
        action = ""
        if flag.choices:
            action = f":value:({' '.join(flag.choices)})"
        elif flag.value == "FILE":
            action = ":file:_files"
        elif flag.value == "DIR":
            action = ":directory:_directories"
        elif flag.value:
            action = ":value:"
        lines.append(f"  '--{flag.name}[{text}]{action}'")
    return "#compdef gearstalkd\n_arguments \\\n" + " \\\n".join(lines) + "\n"


def installed_documents() -> dict[str, bytes]:
    """The documents by their path in the package. A link to what is not among them is its text alone."""
    paths = [path for name in DOCUMENTS for path in [ROOT / name, *(ROOT / name).rglob("*")]
             if path.is_file()]
    names = {path.relative_to(ROOT).as_posix() for path in paths}

    def write(path: Path) -> bytes:
        def link(found: re.Match[str]) -> str:
            place = found[3].split("#")[0]
            target = os.path.relpath(path.parent / place, ROOT)
            if not place or "://" in place or target in names or target == "docs":
                return found[0]
            return found[2]

        return LINK.sub(link, path.read_text()).encode() if path.suffix == ".md" else path.read_bytes()

    return {path.relative_to(ROOT).as_posix(): write(path) for path in paths}


# The packaged file is the same in every version, so that an upgrade never meets the administrator's
# own lines. The commented file with all options is a document of the package.
CONFIGURATION = """\
# gearstalkd's configuration. /usr/share/doc/gearstalkd/gearstalkd.yaml has every option with its default;
# gearstalkd.yaml(5) describes them. Flags and GEARSTALKD_... variables override this file.
# `gearstalkd --config /etc/gearstalkd/gearstalkd.yaml --check-config` tells what is wrong in it.

data_dir: /var/lib/gearstalkd
log_to: journald
# For gearstalkctl: who is in the group gearstalkd may do everything.
admin: unix:/run/gearstalkd/admin.sock,mode=0660
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--emulator", default="", help="what runs programs for another architecture")
    parser.add_argument("--to", required=True, type=Path)
    options = parser.parse_args()

    def said(*command: str) -> str:
        return subprocess.run([*options.emulator.split(), *command], capture_output=True, text=True, check=True).stdout

    def write(name: str, content: bytes) -> None:
        path = options.to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    flags = read_flags(said(options.broker, "--help"))
    keys = read_keys((HERE / "gearstalkd.yaml").read_text())
    write("gearstalkd.8", man_page("gearstalkd.8.scd", "@OPTIONS@", man_flags(flags)))
    write("gearstalkd.yaml.5", man_page("gearstalkd.yaml.5.scd", "@KEYS@", man_keys(keys)))
    write("gearstalkctl.1", man_page("gearstalkctl.1.scd", "@OPTIONS@", ""))
    write("gearstalkd.bash", bash_completion(flags).encode())
    write("_gearstalkd", zsh_completion(flags).encode())
    write("gearstalkctl.bash", said(options.tool, "completion", "bash").encode())
    write("_gearstalkctl", said(options.tool, "completion", "zsh").encode())
    write("gearstalkd.yaml", CONFIGURATION.encode())
    for name, content in installed_documents().items():
        write(f"documents/{name}", content)


if __name__ == "__main__":
    main()
