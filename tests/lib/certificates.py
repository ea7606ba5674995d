"""Certificate authorities and what they sign, made with openssl: for one test run."""

import os
import subprocess
from pathlib import Path

from lib import faketime

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

# Kafka's Java, librdkafka and libpq look at these, never at the common name.
LOCAL = "DNS:localhost,IP:127.0.0.1"


def _openssl(*arguments, days_ago=0):
    environment = {**os.environ, **faketime.shifted(-days_ago * 86_400)} if days_ago else None
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, stdin=subprocess.DEVNULL,
                   env=environment)


class Authority:
    """A certificate authority; `certificate` is what those who trust it need."""

    def __init__(self, folder, name):
        self.folder = Path(folder)
        self.name = name
        self.certificate = self.folder / f"{name}.crt"
        self._key = self.folder / f"{name}.key"
        _openssl("req", "-x509", *_NEW_KEY, "-days", "30", "-subj", f"/CN={name}",
                 "-keyout", self._key, "-out", self.certificate, days_ago=3)
        self.certificate.chmod(0o644)

    def issue(self, name, names=LOCAL, expired=False):
        """A certificate and its key, both PEM, for a server or a client whose common name is `name`."""
        made = Issued(self.folder / f"{self.name}-{name}")
        request = made.certificate.with_suffix(".csr")
        _openssl("req", *_NEW_KEY, "-subj", f"/CN={name}", "-keyout", made.key, "-out", request)
        extensions = made.certificate.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={names}\n")
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
                 "-days", "1", "-extfile", extensions, "-out", made.certificate,
                 days_ago=2 if expired else 0)  # valid for one day
        made.both.write_text(made.key.read_text() + made.certificate.read_text())
        return made


class Issued:
    """Files of one certificate: `certificate`, `key`, and `both` in one."""

    def __init__(self, stem):
        self.certificate = Path(f"{stem}.crt")
        self.key = Path(f"{stem}.key")
        self.both = Path(f"{stem}.pem")
