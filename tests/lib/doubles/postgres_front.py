"""A server's door with TLS and a password in the clear, as clouds have it for tokens, before a real server that lets
the door in by trust. The protocol: postgresql.org/docs/current/protocol-flow.html and protocol-message-formats.html.
"""

import struct
import threading

from lib.doubles.checkers import DeniedByServer
from lib.doubles.front import Front, pipe, read_exactly

_SSL, _GSSENC, _CANCEL, _VERSION_3 = 80877103, 80877104, 80877102, 3
_CLEARTEXT = struct.pack(">cii", b"R", 8, 3)


def _error(code, message):
    fields = (("S", "FATAL"), ("V", "FATAL"), ("C", code), ("M", message))
    body = b"".join(name.encode() + value.encode() + b"\0" for name, value in fields) + b"\0"
    return b"E" + struct.pack(">i", len(body) + 4) + body


def _parameters(startup):
    words = startup[8:].split(b"\0")
    return {name.decode(): value.decode() for name, value in zip(words[::2], words[1::2]) if name}


class PostgresFront(Front):
    """`check(user, password)`: see checkers.py. A login's `again`: it is for replication."""

    def __init__(self, certificate, to_port, check):
        self.check = check
        self.cancels = 0
        super().__init__(certificate, to_port)

    def conninfo(self, stage, user, authority, **more):
        """Of a relay that comes in here, without a password."""
        return stage.postgres.conninfo(stage.database, **{
            "host": "localhost", "port": self.port, "user": user, "sslmode": "verify-full",
            "sslrootcert": authority.certificate, **more})

    def _serve(self, near):
        startup = self._startup(near)
        code = self._code(startup)
        if code == _GSSENC:
            near.sendall(b"N")
            startup = self._startup(near)
            code = self._code(startup)
        if code == _SSL:
            near.sendall(b"S")
            with self._secured(near) as secured:
                self._talk(secured, self._startup(secured))
        elif code == _CANCEL:
            self._cancel(startup)
        else:
            told = _parameters(startup)
            near.sendall(_error("28000", f'no pg_hba.conf entry for host "127.0.0.1", user "{told.get("user")}", '
                                f'database "{told.get("database")}", no encryption'))

    @staticmethod
    def _startup(source):
        head = read_exactly(source, 4)
        (size,) = struct.unpack(">i", head)
        if not 8 <= size <= 10000:
            raise EOFError
        return head + read_exactly(source, size - 4)

    @staticmethod
    def _code(startup):
        return struct.unpack_from(">i", startup, 4)[0]

    def _cancel(self, request):
        """Its key is the real server's, which the client was given by it."""
        with self._lock:
            self.cancels += 1
        with self._server() as far:
            far.sendall(request)
            far.recv(1)  # until it has closed

    def _talk(self, near, startup):
        if self._code(startup) == _CANCEL:
            self._cancel(startup)
            return
        if self._code(startup) >> 16 != _VERSION_3:
            near.sendall(_error("0A000", "unsupported frontend protocol"))
            return
        told = _parameters(startup)
        if not self._is_let_in(near, told):
            return
        with self._server() as far:
            far.sendall(startup)
            back = threading.Thread(target=pipe, args=(far, near), daemon=True)
            back.start()
            pipe(near, far)
            back.join()

    def _is_let_in(self, near, told):
        near.sendall(_CLEARTEXT)
        kind, size = struct.unpack(">ci", read_exactly(near, 5))
        if kind != b"p" or not 4 <= size <= 65536:
            return False
        password = read_exactly(near, size - 4).rstrip(b"\0").decode(errors="replace")
        try:
            self._try(password, lambda: (told["user"], self.check(told["user"], password)),
                      again=told.get("replication", "") not in ("", "false", "off", "0"))
        except DeniedByServer as denied:
            near.sendall(_error(denied.code, str(denied)))
            return False
        return True
