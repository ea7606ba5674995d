"""What both fronts have: a listener with TLS on 127.0.0.1 whose connections it can end."""

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass

from lib.ports import take_port


@dataclass
class Login:
    """One that was tried."""

    at: float
    secret: str
    who: str = ""  # once it is let in
    why: str = ""  # it was not
    end: float = 0  # of the token, in seconds since 1970
    again: bool = False  # within a connection, or with other parameters, as the front knows


class _Secured:
    """A TLS connection that one thread reads while another writes: OpenSSL's own objects must not be shared so."""

    def __init__(self, plain, context):
        self._socket = context.wrap_socket(plain, server_side=True)
        self._socket.setblocking(False)
        self._lock = threading.Lock()

    def _wait(self, events):
        poll = select.poll()
        poll.register(self._socket, events)
        poll.poll()

    def _retry(self, act):
        while True:
            try:
                with self._lock:
                    return act()
            except ssl.SSLWantReadError:
                events = select.POLLIN
            except ssl.SSLWantWriteError:
                events = select.POLLOUT
            self._wait(events)

    def recv(self, size):
        return self._retry(lambda: self._socket.recv(size))

    def sendall(self, data):
        view = memoryview(data)
        while view:
            view = view[self._retry(lambda: self._socket.send(view)):]

    def shut(self):
        self.say_goodbye()
        socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def say_goodbye(self):
        """That nothing more comes, without waiting for the peer to say so too."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._socket.unwrap()

    def close(self):
        self._socket.close()


def shut(each):
    """Wakes who reads or writes; the file stays theirs."""
    try:
        each.shut() if isinstance(each, _Secured) else each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class Front:
    """A subclass serves a connection in `_serve(near)`, on a thread of its own."""

    def __init__(self, certificate, to_port):
        self.port = take_port()
        self.logins = []
        self._to_port = to_port
        self._refusal = None
        self._lock = threading.Lock()
        self._open_now = set()
        self._over = False
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate.certificate, certificate.key)
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    @property
    def good(self):
        """Those that were let in."""
        return [login for login in self.logins if login.who]

    @property
    def bad(self):
        return [login for login in self.logins if login.why]

    def refuse(self, denial):
        """Whoever comes from now on, with this exception; None: as the checker says."""
        self._refusal = denial

    def cut(self):
        """Ends all connections; new ones are welcome."""
        with self._lock:
            for each in self._open_now:
                shut(each)

    def end(self):
        self._over = True
        shut(self._listener)
        self._listener.close()
        self.cut()

    def _accept(self):
        while not self._over:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._attend, args=(near,), daemon=True).start()

    def _attend(self, near):
        try:
            with self._kept(near):
                self._serve(near)
        except (OSError, EOFError, struct.error):
            pass

    @contextlib.contextmanager
    def _kept(self, each):
        """While it lasts `cut` ends it; closed afterwards."""
        if isinstance(each, socket.socket):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open_now.add(each)
        try:
            yield each
        finally:
            with self._lock:
                self._open_now.discard(each)
            shut(each)
            each.close()

    def _secured(self, near):
        """TLS from here on: a context like _kept's."""
        return self._kept(_Secured(near, self._context))

    def _server(self):
        """A connection to the real one: a context like _kept's."""
        return self._kept(socket.create_connection(("127.0.0.1", self._to_port)))

    def _try(self, secret, check, **facts):
        """Notes a login; raises what the checker, or `refuse`, does."""
        login = Login(time.time(), secret, **facts)
        try:
            if self._refusal is not None:
                raise self._refusal
            login.who, login.end = check()
        except Exception as denied:
            login.why = getattr(denied, "why", repr(denied))
            raise
        finally:
            with self._lock:
                self.logins.append(login)
        return login


def read_exactly(source, size):
    data = bytearray()
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def pipe(source, target):
    """Until either ends; then both do."""
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        pass
    shut(source)
    shut(target)
