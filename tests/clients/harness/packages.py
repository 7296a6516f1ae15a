"""What the clients need: programs and libraries of the distribution, packages from npm."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
NPM_SECONDS = 300
PROBE_SECONDS = 120

# What each language's client comes in, and a command that only works when it is there.
PROBES: dict[str, tuple[str, list[str]]] = {
    "ruby": ("ruby ruby-beaneater", ["ruby", "-e", 'require "beaneater"']),
    "perl": ("perl libgearman-client-perl",
             ["perl", "-MGearman::Client", "-MGearman::Worker", "-MTest::More", "-e", "1"]),
    "php": ("php-cli php-gearman",
            ["php", "-r", 'exit(class_exists("GearmanClient") && function_exists("pcntl_fork") '
             '? 0 : 1);']),
    "laravel": ("php-cli php-illuminate-queue php-illuminate-bus php-illuminate-events php-pda-pheanstalk",
                ["php", "-r", 'require "Pheanstalk/autoload.php"; require "Illuminate/Bus/autoload.php"; '
                 'require "Illuminate/Events/autoload.php"; require "Illuminate/Queue/autoload.php";']),
    "symfony": ("php-cli php-symfony-messenger php-symfony-beanstalkd-messenger php-symfony-event-dispatcher",
                ["php", "-r", 'require "Symfony/Component/Messenger/Bridge/Beanstalkd/autoload.php"; '
                 'require "Symfony/Component/EventDispatcher/autoload.php";']),
    "rails": ("ruby ruby-beaneater ruby-activejob", ["ruby", "-e", 'require "active_job"; require "beaneater"']),
    "tools": ("gearman-tools", ["sh", "-c", "command -v gearman && command -v gearadmin"]),
    "node": ("nodejs npm", ["sh", "-c", "command -v node && command -v npm"]),
}


class MissingPackage(Exception):
    """A client is not installed; the text says what to install."""


def require(language: str) -> None:
    """Raises MissingPackage unless the language's client is installed."""
    packages, command = PROBES[language]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except FileNotFoundError:
        raise MissingPackage(f"{command[0]} is missing: apt-get install {packages}") from None
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip()
        raise MissingPackage(f"missing package: apt-get install {packages}\n{reason}")


def compile_c(source: Path, directory: Path) -> Path:
    """Builds a libgearman program and returns its path."""
    binary = directory / source.stem
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra",
               "-Werror", "-pthread", "-o", str(binary), str(source), "-lgearman"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    except FileNotFoundError:
        raise MissingPackage("no C compiler: apt-get install gcc libc6-dev") from None
    if done.returncode != 0:
        errors = done.stderr.decode(errors="replace")
        hint = "apt-get install libgearman-dev\n" if "gearman" in errors else ""
        raise MissingPackage(f"{source.name} does not build: {hint}{errors}")
    return binary


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "gearstalkd-tests"


def npm_modules(cache: Path) -> Path:
    """Installs the locked npm packages once and returns their node_modules folder."""
    require("node")
    lock_text = (HERE / "npm" / "package-lock.json").read_bytes()
    target = cache / f"npm-{hashlib.sha256(lock_text).hexdigest()[:16]}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "npm.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            install_npm(cache, target)
    return target / "node_modules"


def install_npm(cache: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as work:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / "npm" / name, work)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, text=True,
                                  timeout=NPM_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise MissingPackage(f"npm ci did not end within {NPM_SECONDS} s") from None
        if done.returncode != 0:
            raise MissingPackage(f"npm ci failed in tests/clients/npm:\n{done.stderr}")
        shutil.copytree(work, target, symlinks=True)
