#!/usr/bin/env python3
"""Prints an SPDX 2.3 bill of materials of binaries: sbom.py --version V BINARY...

What a binary is linked to, as the Debian packages of this machine that have it, and what the console bundles."""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ("preact", "htm")
# Headers alone, so that no library shows them.
HEADERS = ("libcli11-dev", "nlohmann-json3-dev", "libboost1.74-dev", "libxxhash-dev")


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def libraries(binary: Path) -> set[str]:
    needed = re.findall(r"NEEDED\s+(\S+)", said("objdump", "-p", str(binary)))
    places = dict(re.findall(r"^\s*(\S+) => (\S+)", said("ldd", str(binary)), re.M))
    return {str(Path(places[name]).resolve()) for name in needed if name in places}


def package_of(library: str) -> str:
    """/lib and /usr/lib are one, and a package names either."""
    names = {library, library.removeprefix("/usr")}
    done = subprocess.run(["dpkg-query", "-S", *sorted(names)], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"sbom.py: no package has {library}")
    return done.stdout.split(":")[0]


def debian(name: str) -> dict[str, object]:
    version, source = said("dpkg-query", "-W", "-f", "${Version} ${source:Package}\n", name).splitlines()[0].split()
    return element(name, version, f"pkg:deb/debian/{name}@{version}?distro=debian-12", f"source package {source}")


def element(name: str, version: str, locator: str, comment: str) -> dict[str, object]:
    return {"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
            "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "comment": comment,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": locator}]}


def bundled(name: str) -> dict[str, object]:
    lock = json.loads((ROOT / "admin/console/package-lock.json").read_text())
    version = lock["packages"][f"node_modules/{name}"]["version"]
    return element(name, version, f"pkg:npm/{name}@{version}", "part of the console's app.js")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("binaries", nargs="+", type=Path)
    options = parser.parse_args()
    names = {package_of(library) for binary in options.binaries for library in libraries(binary)}
    names |= {name for name in HEADERS
              if subprocess.run(["dpkg-query", "-W", name], capture_output=True, check=False).returncode == 0}
    parts = [debian(name) for name in sorted(names)] + [bundled(name) for name in BUNDLED]
    product = element("gearstalkd", options.version, f"pkg:generic/gearstalkd@{options.version}", "this release")
    product["licenseConcluded"] = "Apache-2.0"
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), datetime.timezone.utc)
    content = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"gearstalkd-{options.version}",
        "documentNamespace": f"https://gearstalkd.example/spdx/{options.version}/{content}",
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: sbom.py"]},
        "packages": [product, *parts],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-gearstalkd"},
            *({"spdxElementId": "SPDXRef-gearstalkd", "relatedSpdxElement": part["SPDXID"],
               "relationshipType": "CONTAINS" if part["comment"].startswith("part of") else "DEPENDS_ON"}
              for part in parts)]}, indent=1))


if __name__ == "__main__":
    main()
