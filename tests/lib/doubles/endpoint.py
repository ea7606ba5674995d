"""An HTTP endpoint, mostly on 127.0.0.1: answers as a cloud does, remembers what it was asked, misbehaves when told."""

import collections
import json
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from lib.ports import take_port
from lib.waiting import wait_until


@dataclass
class Asked:
    """One request; of parameters that come twice the last counts."""

    method: str
    target: str
    headers: list
    body: bytes
    at: float = field(default_factory=time.time)
    status: int = 0  # what was answered

    @property
    def path(self):
        return urlsplit(self.target).path

    @property
    def query(self):
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def form(self):
        return dict(parse_qsl(self.body.decode("utf-8", errors="replace"), keep_blank_values=True))

    def header(self, name):
        """Its value, or None."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Answer:
    status: int
    body: bytes = b""
    headers: dict = field(default_factory=dict)


def json_answer(facts, status=200, **headers):
    return Answer(status, json.dumps(facts).encode(), {"Content-Type": "application/json", **headers})


# --- how it misbehaves: each takes the endpoint, what was asked, and the right answer's maker


def slow(seconds):
    """The right answer, late."""
    def fault(endpoint, asked):
        endpoint.over.wait(seconds)
        return endpoint.answer(asked)
    return fault


def silent(endpoint, _):
    """No answer at all: as when the hop limit lets none come back."""
    endpoint.over.wait(600)


def garbage(_, __):
    return Answer(200, b"<html>\0\xff\xfe not what you wanted {", {"Content-Type": "application/json"})


def empty(_, __):
    return Answer(200, b"")


def redirect(url):
    """To where a client must never carry what it has."""
    return lambda _, __: Answer(302, b"", {"Location": url})


def throttled(retry_after=None, status=429):
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return lambda _, __: Answer(status, b'{"error": "too_many_requests"}', headers)


def broken(status=500):
    return lambda _, __: Answer(status, b"something is wrong here")


def huge(size=64 << 20):
    """More than anyone should read."""
    return lambda _, __: Answer(200, b'{"access_token": "' + b"x" * size + b'"}')


def cut(endpoint, asked):
    """Half of the right answer, and the end of the connection."""
    answer = endpoint.answer(asked)
    answer.headers["Content-Length"] = str(len(answer.body) + 100)
    answer.body = answer.body[:len(answer.body) // 2]
    return answer


class Endpoint:
    """`answer` is each kind's own; `fail` queues what comes in place of it."""

    def __init__(self, certificate=None, at=None):
        """
        With a certificate (lib/certificates.py) it speaks TLS, by the name localhost. `at`: an address, whose port 80
        it takes, rather than a port of this machine.
        """
        self.address = at or "127.0.0.1"
        self.port = 80 if at else take_port()
        self.asked = []
        self.over = threading.Event()
        self._faults = collections.deque()
        self._lasting = None
        self._lock = threading.Lock()
        self._scheme = "https" if certificate else "http"
        self._server = ThreadingHTTPServer((self.address, self.port), self._handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._server.handle_error = lambda *_: None  # a client that goes away is no error of ours
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate.certificate, certificate.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True,
                                                      do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self):
        return f"{self._scheme}://{'localhost' if self._scheme == 'https' else self.address}:{self.port}"

    def fail(self, fault, times=1):
        """So often in place of the right answer; None: until `mend`."""
        with self._lock:
            if times is None:
                self._lasting = fault
            else:
                self._faults.extend([fault] * times)

    def mend(self):
        with self._lock:
            self._lasting = None
            self._faults.clear()

    def answer(self, asked):
        raise NotImplementedError

    def wait_asked(self, count, deadline=20):
        """Until it has answered so many requests; returns all."""
        wait_until(lambda: len([a for a in self.asked if a.status]) >= count, deadline,
                   f"{type(self).__name__} was asked {count} times", lambda: f"it was: {self.asked}")
        return self.asked

    def _respond(self, asked):
        with self._lock:
            self.asked.append(asked)
            fault = self._faults.popleft() if self._faults else self._lasting
        return fault(self, asked) if fault else self.answer(asked)

    def _handler(endpoint):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            server_version, sys_version = "double", ""
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def _serve(self):
                size = int(self.headers.get("Content-Length") or 0)
                asked = Asked(self.command, self.path, list(self.headers.items()), self.rfile.read(size))
                answer = endpoint._respond(asked)
                if answer is None:
                    self.close_connection = True
                    return
                asked.status = answer.status
                self.send_response(answer.status)
                for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                if int(answer.headers.get("Content-Length", len(answer.body))) != len(answer.body):
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve

        return Handler
