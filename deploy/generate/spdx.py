#!/usr/bin/env python3
"""Prints a release's bill of materials: SPDX 2.3 as JSON, from what dpkg records.

    spdx.py VERSION EPOCH FOLDER --image 13 ROOT --debian 12 STATUS --debian 13 STATUS

FOLDER holds the release's files. ROOT is the image's root file system: all its packages are listed. A STATUS is
/var/lib/dpkg/status of the Debian that a package was built on: it tells the versions of the libraries that the package
depends on. Runs on the same files print the same bytes.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path

_NONE = "NOASSERTION"


def paragraphs(text):
    """Of Debian's control files: [{field: value}], without the further lines of a field."""
    parts = [part for part in text.split("\n\n") if part.strip()]
    return [dict(re.findall(r"^([A-Za-z-]+): (.*)$", part, re.MULTILINE)) for part in parts]


def installed(text):
    """{name: paragraph} of dpkg's status, or of what images without dpkg have of it, which lack the field Status."""
    return {one["Package"]: one for one in paragraphs(text) if one.get("Status", "ok installed").endswith(" installed")}


def of_root(root):
    """Its packages, as dpkg records them, or a folder with one file for each."""
    dpkg = Path(root) / "var/lib/dpkg"
    files = [dpkg / "status", *sorted(dpkg.glob("status.d/*"))]
    found = installed("\n\n".join(file.read_text() for file in files if file.is_file() and file.suffix != ".md5sums"))
    if not found:
        sys.exit(f"{dpkg} records no package")
    return found


def of_depends(depends, packages):
    """Names of installed packages that a field Depends names: of alternatives the first that is installed."""
    for alternatives in depends.split(","):
        names = [re.split(r"[ (:]", name.strip())[0] for name in alternatives.split("|")]
        yield from [name for name in names if name in packages][:1]


def library(one, release):
    """A package of Debian."""
    name, version, arch = one["Package"], one["Version"], one["Architecture"]
    source = re.fullmatch(r"(\S+)(?: \((.*)\))?", one.get("Source", name))
    purl = f"pkg:deb/debian/{_quoted(name)}@{_quoted(version)}?arch={arch}&distro=debian-{release}"
    return {
        "SPDXID": _id(f"debian{release}-{name}-{version}"),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": _NONE,
        "filesAnalyzed": False,
        "sourceInfo": f"built from source package {source[1]} {source[2] or version}",
        "licenseConcluded": _NONE,
        "licenseDeclared": _NONE,
        "copyrightText": _NONE,
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl},
        ],
    }


def ours(path, version):
    """A file of the release."""
    return {
        "SPDXID": _id(path.name),
        "name": "walpost",
        "versionInfo": version,
        "packageFileName": path.name,
        "supplier": "Organization: the authors of walpost",
        "downloadLocation": _NONE,
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "2026 the authors of walpost",
    }


def document(version, epoch, contents):
    """`contents`: [(file of the release, CONTAINS or DEPENDS_ON, [package of Debian])]."""
    files = [ours(path, version) for path, _, _ in contents]
    libraries = {one["SPDXID"]: one for _, _, packages in contents for one in packages}
    relationships = [_relationship("SPDXRef-DOCUMENT", "DESCRIBES", one["SPDXID"]) for one in files]
    for (_, kind, packages), file in zip(contents, files):
        relationships += [_relationship(file["SPDXID"], kind, one["SPDXID"]) for one in packages]
    packages = files + [libraries[name] for name in sorted(libraries)]
    unique = hashlib.sha256(json.dumps([packages, relationships]).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"walpost-{version}",
        # SPDX wants it to be unique, not to be reachable.
        "documentNamespace": f"https://spdx.org/spdxdocs/walpost-{version}-{unique}",
        "creationInfo": {
            "created": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: walpost-deploy-release"],
        },
        "packages": packages,
        "relationships": relationships,
    }


def _relationship(subject, kind, object_):
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": object_}


def _id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _quoted(text):
    return urllib.parse.quote(text, safe="")


def contents_of(folder, image, debians):
    """What document() takes. The tarball's program is the one of the package for the oldest Debian."""
    for path in sorted(folder.glob("walpost*")):
        if "-image-" in path.name:
            release, root = image
            yield path, "CONTAINS", [library(one, release) for one in of_root(root).values()]
        elif not path.name.startswith("walpost-dbgsym_"):
            release = next((one for one in debians if f".deb{one}_" in path.name), min(debians))
            packages = installed(Path(debians[release]).read_text())
            (deb,) = folder.glob(f"walpost_*.deb{release}_*.deb")
            depends = subprocess.check_output(["dpkg-deb", "--field", deb, "Depends"], text=True)
            yield path, "DEPENDS_ON", [library(packages[name], release) for name in of_depends(depends, packages)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("epoch", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--image", nargs=2, required=True, metavar=("RELEASE", "ROOT"))
    parser.add_argument("--debian", nargs=2, action="append", required=True, metavar=("RELEASE", "STATUS"))
    given = parser.parse_args()
    contents = list(contents_of(given.folder, given.image, dict(given.debian)))
    print(json.dumps(document(given.version, given.epoch, contents), indent=2))


if __name__ == "__main__":
    main()
