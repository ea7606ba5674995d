"""The tests on a bare Debian of any release. Of this machine it has the way to the network, and the folders in which
runs keep out of each other's way; nothing else."""

import os
import re
import shutil
import tempfile
from pathlib import Path

from lib import machine, places

DEADLINE = 90 * 60
# Both have locks of runs and of ports, which the runs of this machine look at.
_SHARED = tuple(dict.fromkeys((Path("/tmp"), places.MEMORY, Path(tempfile.gettempdir()))))
# What an administrator sets up for clients of packages: Debian's, Python's, Java's, Node's.
_CLIENTS = ("/etc/apt/apt.conf.d/*proxy*", "/etc/pip.conf", "/root/.config/pip/pip.conf", "/root/.m2/settings.xml",
            "/root/.npmrc")
_VARIABLES = re.compile(r"PIP_\w+")
# They name files of certificates, which are in the bundle there.
_CERTIFICATES = re.compile(r"SSL_CERT_FILE|\w+_CA_BUNDLE|NODE_EXTRA_CA_CERTS|PIP_CERT")
_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL)


def tests(suite, words, say):
    """The exit code of tests/run with these words in a Debian of that release, None if late; `say` gets its lines."""
    folder = places.run_folder(f"walpost-{suite}-")
    try:
        place = machine.copy(machine.debian(suite), folder / "root")
        _give_way_to_network(place)
        machine.run(place, "sh", "-e", "-c", """
            update-ca-certificates
            apt-get update
            apt-get install -y --no-install-recommends git python3
            git clone -q -b main "$1" /walpost
            """, "clone", machine.give_tree(place))
        variables = {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}
        variables |= dict.fromkeys(_named_certificates(), str(_BUNDLE))
        code = machine.follow(place, "/walpost/tests/run", *words, say=say, shared=_SHARED, deadline=DEADLINE,
                              environment={"HOME": "/root", **variables})
        if code != 0:
            _keep_reports(place, places.build("reports") / suite, say)
        return code
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keep_reports(place, to, say):
    """What is said here is the end only."""
    for reports in (place / "var/cache/walpost").glob("build-*/reports"):
        shutil.copytree(reports, to, dirs_exist_ok=True)
        say(f"reports: {to}")


def _named_certificates():
    """{variable: file}"""
    return {name: Path(value) for name, value in os.environ.items() if _CERTIFICATES.fullmatch(name)}


def _give_way_to_network(place):
    for pattern in _CLIENTS:
        for path in Path("/").glob(pattern.lstrip("/")):
            (place / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / path.relative_to("/"))
    known = set(_CERTIFICATE.findall((place / _BUNDLE.relative_to("/")).read_text()))
    files = {path for path in (_BUNDLE, *_named_certificates().values()) if path.is_file()}
    ours = {one for path in files for one in _CERTIFICATE.findall(path.read_text())} - known
    for number, one in enumerate(ours):
        (place / "usr/local/share/ca-certificates" / f"of-the-host-{number}.crt").write_text(one)
