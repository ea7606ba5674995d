"""A pooler in transaction mode, as PgBouncer is one: each transaction of a client goes to another of two sessions."""

import contextlib
import socket
import struct
import threading

from lib.ports import take_port

_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104
_READY, _IDLE = b"Z", b"I"
_ENDS, _ASKS = b"X", b"QS"  # of the client: a message after which it waits until the server is ready


class Pooler:
    """Listens on `port` for a server that lets everybody in; a walsender it passes on as it is."""

    def __init__(self, to_port):
        self.port = take_port()
        self._to_port = to_port
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def end(self):
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        sessions = []
        with contextlib.suppress(OSError, EOFError):
            startup = _startup(client)
            for _ in range(1 if b"replication\0" in startup else 2):
                sessions.append(socket.create_connection(("127.0.0.1", self._to_port)))
                self._sockets.append(sessions[-1])
                sessions[-1].sendall(startup)
            if len(sessions) == 1:
                threading.Thread(target=_pass_on, args=(client, sessions[0]), daemon=True).start()
                _pass_on(sessions[0], client)
            else:
                self._pool(client, sessions)
        for each in (client, *sessions):
            each.close()

    @staticmethod
    def _pool(client, sessions):
        _answer(sessions[0], client)
        _answer(sessions[1], None)
        while True:
            kind, message = _message(client)
            if kind == _ENDS:
                return
            sessions[0].sendall(message)
            if kind in _ASKS and _answer(sessions[0], client) == _IDLE:
                sessions.reverse()


def _exactly(end, size):
    data = b""
    while len(data) < size:
        piece = end.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _startup(client):
    """The first message that is no question for encryption; that is answered with no."""
    while True:
        head = _exactly(client, 8)
        size, code = struct.unpack("!II", head)
        if code not in (_SSL_REQUEST, _GSS_REQUEST):
            return head + _exactly(client, size - 8)
        client.sendall(b"N")


def _message(end):
    """Its kind, and all of it."""
    head = _exactly(end, 5)
    return head[:1], head + _exactly(end, struct.unpack("!I", head[1:])[0] - 4)


def _answer(session, client):
    """Passes on what the server says until it is ready; in which state it is then."""
    while True:
        kind, message = _message(session)
        if client is not None:
            client.sendall(message)
        if kind == _READY:
            return message[5:]


def _pass_on(here, there):
    with contextlib.suppress(OSError):
        while piece := here.recv(65536):
            there.sendall(piece)
    for each in (here, there):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
