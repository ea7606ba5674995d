"""A schema registry, as Confluent documents its REST API (docs.confluent.io, "Schema Registry API Reference")."""

import base64
import json
import re
from urllib.parse import unquote

from lib.doubles.endpoint import Answer, Endpoint

_TYPE = "application/vnd.schemaregistry.v1+json"
_VERSION = re.compile(r"/subjects/([^/]+)/versions/([^/]+)")


def _answer(facts, status=200):
    return Answer(status, json.dumps(facts).encode(), {"Content-Type": _TYPE})


def _no(code, message):
    return _answer({"error_code": code, "message": message}, code // 100 if code > 999 else code)


class Registry(Endpoint):
    """Knows what `register` was told. With a login it wants that one; what is in `forbidden` nobody may read."""

    def __init__(self, user=None, token=None, **options):
        self._versions = {}  # by subject: a list of (id, type, schema)
        self._ids = {}
        self.forbidden = set()
        self.login = None
        if user:
            self.login = "Basic " + base64.b64encode(user.encode()).decode()
        if token:
            self.login = "Bearer " + token
        super().__init__(**options)

    def register(self, subject, schema, kind="AVRO"):
        """One version more; the id is that of the schema, wherever it was registered before."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        id = self._ids.setdefault((kind, text), 100001 + len(self._ids))
        self._versions.setdefault(subject, []).append((id, kind, text))
        return id

    def remove(self, subject):
        del self._versions[subject]

    def asked_for(self, subject):
        return [each for each in self.asked if unquote(each.path).startswith(f"/subjects/{subject}/")]

    def answer(self, asked):
        if self.login and asked.header("Authorization") != self.login:
            return _no(401, "Unauthorized")
        if asked.method != "GET":
            return _no(405, "HTTP 405 Method Not Allowed")
        if asked.path == "/schemas/types":
            return _answer(["JSON", "PROTOBUF", "AVRO"])
        if asked.path.startswith("/schemas/ids/"):
            return self._by_id(asked.path.rsplit("/", 1)[1])
        found = _VERSION.fullmatch(asked.path)
        if found is None:
            return _no(404, "HTTP 404 Not Found")
        return self._version(unquote(found[1]), found[2])

    def _by_id(self, id):
        """As consumers ask."""
        for (kind, text), known in self._ids.items():
            if id == str(known):
                return _answer({"schema": text, **({} if kind == "AVRO" else {"schemaType": kind})})
        return _no(40403, f"Schema {id} not found")

    def _version(self, subject, version):
        if subject in self.forbidden:
            return _no(40301, f"User is denied operation Read on Subject: {subject}")
        if subject not in self._versions:
            return _no(40401, f"Subject '{subject}' not found.")
        if version != "latest" and not version.isdigit():
            return _no(42202, "The specified version is not a valid version id.")
        versions = self._versions[subject]
        number = len(versions) if version == "latest" else int(version)
        if not 1 <= number <= len(versions):
            return _no(40402, f"Version {number} not found.")
        id, kind, text = versions[number - 1]
        facts = {"subject": subject, "version": number, "id": id, "schema": text}
        # Of Avro, which it was made for, it does not say the type.
        return _answer(facts if kind == "AVRO" else {**facts, "schemaType": kind})
