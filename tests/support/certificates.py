"""Certificates of a test, made by openssl."""

import subprocess
from pathlib import Path

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates:
    """Files NAME.pem and NAME.key in a directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.path)

    def authority(self, name: str) -> None:
        self._openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                      "-out", f"{name}.pem")

    def sign(self, name: str, days: int = 30) -> None:
        """By the authority `ca`, for 127.0.0.1. It has expired with `days` below 0."""
        self._openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out",
                      f"{name}.csr")
        (self.path / "extensions").write_text("subjectAltName=IP:127.0.0.1\n")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                      "-CAcreateserial", "-extfile", "extensions", "-days", str(days), "-out",
                      f"{name}.pem")
