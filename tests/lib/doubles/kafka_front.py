"""A broker's door with SASL/OAUTHBEARER over TLS before a real Kafka node, whose advertised listener it is.

The protocol is of kafka.apache.org/protocol, RFC 7628 and KIP-368; what a token must be, the checker says.
"""

import re
import struct
import threading
import time

from lib.doubles.checkers import Denied
from lib.doubles.front import Front, read_exactly, shut

# We do not listen on ::1, which localhost is too on most machines, and often the first that is tried.
IPV4 = {"kafka.broker.address.family": "v4"}
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
_UNSUPPORTED_MECHANISM, _ILLEGAL_STATE, _AUTHENTICATION_FAILED = 33, 34, 58
_MECHANISM = "OAUTHBEARER"
_REQUEST_MAX = 100 << 20


class _Request:
    """Its header, and what is behind it."""

    def __init__(self, frame):
        self.frame = frame
        self.key, self.version, self.correlation = struct.unpack_from(">hhi", frame)
        (size,) = struct.unpack_from(">h", frame, 8)
        self._body = frame[10 + max(size, 0):]

    @property
    def text(self):
        """SaslHandshake's mechanism."""
        (size,) = struct.unpack_from(">h", self._body)
        return self._body[2:2 + size].decode()

    @property
    def data(self):
        """SaslAuthenticate's bytes: compact behind tagged fields from version 2 on."""
        if self.version < 2:
            (size,) = struct.unpack_from(">i", self._body)
            return self._body[4:4 + size]
        size, at, shift = 0, 1, 0  # no tagged fields in the header
        while True:
            size |= (self._body[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if not self._body[at - 1] & 0x80:
                return self._body[at:at + size - 1]


def _varint(number):
    made = b""
    while number > 0x7F:
        made += bytes([number & 0x7F | 0x80])
        number >>= 7
    return made + bytes([number])


def _handshake_answer(request, error):
    mechanism = struct.pack(">h", len(_MECHANISM)) + _MECHANISM.encode()
    return struct.pack(">ihi", request.correlation, error, 1) + mechanism


def _authenticate_answer(request, error=0, message=None, data=b"", lifetime_ms=0):
    if request.version < 2:
        said = struct.pack(">h", -1) if message is None else struct.pack(">h", len(message)) + message.encode()
        more = struct.pack(">q", lifetime_ms) if request.version == 1 else b""
        return struct.pack(">ih", request.correlation, error) + said + struct.pack(">i", len(data)) + data + more
    said = b"\0" if message is None else _varint(len(message) + 1) + message.encode()
    return (struct.pack(">i", request.correlation) + b"\0" + struct.pack(">h", error) + said +
            _varint(len(data) + 1) + data + struct.pack(">q", lifetime_ms) + b"\0")


def parse_initial(data):
    """The token and the extensions of RFC 7628's first message; ValueError."""
    match = re.fullmatch(rb"n,(?:a=[^,]*)?,\x01((?:[A-Za-z]+=[^\x01]*\x01)+)\x01", data, re.DOTALL)
    if match is None:
        raise ValueError("it is not RFC 7628's first message")
    pairs = [pair.split(b"=", 1) for pair in match[1].split(b"\x01") if pair]
    told = {name.decode(): value.decode() for name, value in pairs}
    kind, _, token = told.pop("auth", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise ValueError("there is no Bearer token")
    return token, told


class KafkaFront(Front):
    """
    `check(token, extensions)`: see checkers.py. `session_ms`: what the broker has as connections.max.reauth.ms; a
    session ends at the token's end or then, whichever is first, and so does the connection unless the client logs in
    again on it.
    """

    def __init__(self, certificate, node, check, session_ms=None):
        """`node`: a FrontedKafka; or the port of a node that advertises the front."""
        self.check = check
        self.session_ms = session_ms
        self.expired = 0  # connections that were ended because their session was
        super().__init__(certificate, node)

    @property
    def address(self):
        return f"localhost:{self.port}"

    def relay_config(self, authority):
        """Of a relay that comes in here; the login is still to be given."""
        return {"kafka.bootstrap.servers": self.address, "kafka.security.protocol": "SASL_SSL",
                "kafka.ssl.ca.location": authority.certificate, **IPV4}

    def _serve(self, near):
        with self._secured(near) as secured, self._server() as far:
            _Connection(self, secured, far).serve()

    def log_in(self, token, extensions, again):
        """The session's length in ms, 0: no end."""
        login = self._try(token, lambda: self.check(token, extensions), again=again)
        left = int((login.end - time.time()) * 1000) if login.end else 0
        return min(left, self.session_ms) if self.session_ms and left else left if self.session_ms else 0

    def note_expired(self):
        with self._lock:
            self.expired += 1

    def note_bad(self, secret, why):
        def deny():
            raise Denied(why, why)
        try:
            self._try(secret, deny)
        except Denied:
            pass


class _Connection:
    """Requests are read one by one; SASL's are answered here, once all before them are."""

    def __init__(self, front, near, far):
        self._front = front
        self._near = near
        self._far = far
        self._waiting = 0  # answers of the node
        self._told = threading.Condition()
        self._is_in = False
        self._session_end = None
        self._handshaken = False
        self._failing = None

    def serve(self):
        answers = threading.Thread(target=self._pass_answers, daemon=True)
        answers.start()
        try:
            self._pass_requests()
        finally:
            shut(self._far)
            answers.join()

    def _pass_requests(self):
        while True:
            (size,) = struct.unpack(">i", read_exactly(self._near, 4))
            if not 10 <= size <= _REQUEST_MAX:
                return
            request = _Request(read_exactly(self._near, size))
            if request.key in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
                if not self._sasl(request):
                    return
            elif not self._may_pass(request):
                return
            else:
                with self._told:
                    self._waiting += 1
                self._far.sendall(struct.pack(">i", size) + request.frame)

    def _may_pass(self, request):
        if not self._is_in:
            return request.key == API_VERSIONS
        if self._session_end is not None and time.monotonic() > self._session_end:
            self._front.note_expired()
            return False
        return True

    def _pass_answers(self):
        try:
            while True:
                head = read_exactly(self._far, 4)
                answer = read_exactly(self._far, *struct.unpack(">i", head))
                self._near.sendall(head + answer)
                with self._told:
                    self._waiting -= 1
                    self._told.notify_all()
        except (OSError, EOFError):
            shut(self._near)
            with self._told:
                self._waiting = 0
                self._told.notify_all()

    def _answer(self, data):
        with self._told:
            self._told.wait_for(lambda: self._waiting == 0, 30)
        self._near.sendall(struct.pack(">i", len(data)) + data)

    def _sasl(self, request):
        """False: the connection ends."""
        if request.key == SASL_HANDSHAKE:
            good = request.text == _MECHANISM and request.version >= 1
            if not good:
                self._front.note_bad("", f"the mechanism is {request.text}")
            self._handshaken = good
            self._answer(_handshake_answer(request, 0 if good else _UNSUPPORTED_MECHANISM))
            return good
        if not self._handshaken:
            self._answer(_authenticate_answer(request, _ILLEGAL_STATE, "SaslHandshake is wanted first"))
            return False
        if self._failing is not None:  # RFC 7628, 3.2.3: the client has heard it
            self._answer(_authenticate_answer(request, _AUTHENTICATION_FAILED, self._failing))
            return False
        return self._authenticate(request)

    def _authenticate(self, request):
        try:
            token, extensions = parse_initial(request.data)
            lifetime_ms = self._front.log_in(token, extensions, self._is_in)
        except Denied as denied:
            if denied.direct:
                self._answer(_authenticate_answer(request, _AUTHENTICATION_FAILED, str(denied)))
                return False
            self._failing = str(denied)
            self._answer(_authenticate_answer(request, data=str(denied).encode()))
            return True
        except ValueError as bad:
            self._front.note_bad(repr(request.data), str(bad))
            self._answer(_authenticate_answer(request, _AUTHENTICATION_FAILED, str(bad)))
            return False
        self._is_in = True
        self._session_end = time.monotonic() + lifetime_ms / 1000 if lifetime_ms else None
        self._answer(_authenticate_answer(request, lifetime_ms=lifetime_ms))
        return True
