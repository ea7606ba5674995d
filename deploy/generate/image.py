#!/usr/bin/env python3
"""Writes an image's archive (docker-archive) anew, without what differs from build to build.

    image.py ARCHIVE TAG NEW

What buildah records of the container that it built in, a random identifier and a random host name, is omitted, and so
are the files for Docker before 1.10. NEW has the one name TAG. Archives of images that hold the same become the same
bytes.
"""

import hashlib
import io
import json
import sys
import tarfile


def without_container(text):
    """The image's configuration."""
    facts = json.loads(text)
    facts.pop("container", None)
    facts.pop("container_config", None)
    facts["config"].pop("Hostname", None)
    return json.dumps(facts, sort_keys=True).encode()


def main(archive, tag, new):
    with tarfile.open(archive) as old, tarfile.open(new, "w", format=tarfile.GNU_FORMAT) as to:
        (manifest,) = json.load(old.extractfile("manifest.json"))
        config = without_container(old.extractfile(manifest["Config"]).read())
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        manifest = [{"Config": name, "RepoTags": [tag], "Layers": manifest["Layers"]}]
        _add(to, "manifest.json", json.dumps(manifest).encode())
        _add(to, name, config)
        for layer in manifest[0]["Layers"]:
            to.addfile(_member(layer, old.getmember(layer).size), old.extractfile(layer))


def _add(to, name, content):
    to.addfile(_member(name, len(content)), io.BytesIO(content))


def _member(name, size):
    """Of root and of 1970, as tarfile's members are by default."""
    member = tarfile.TarInfo(name)
    member.size = size
    return member


if __name__ == "__main__":
    main(*sys.argv[1:])
