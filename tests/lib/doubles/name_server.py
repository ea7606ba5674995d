"""A name server on an address of this machine's own, as containers are given one: by UDP, of A records only."""

import contextlib
import errno
import random
import socket
import struct
import threading

_A = 1
_NO_SUCH_NAME = 3


class NameServer:
    """Tells what `addresses` ({name: address}) has; `asked` are the names that were asked for. As root."""

    def __init__(self, addresses):
        self.asked = set()
        self._addresses = addresses
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(0.2)
        self.address = self._take_address()
        self._over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _take_address(self):
        """One that no other run has: the port is always 53."""
        for _ in range(50):
            address = f"127.53.{random.randrange(256)}.{random.randrange(1, 255)}"
            try:
                self._socket.bind((address, 53))
                return address
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise RuntimeError("port 53 is taken on every address: does a name server of this machine listen on 0.0.0.0?")

    def _serve(self):
        while not self._over:
            with contextlib.suppress(TimeoutError):
                question, client = self._socket.recvfrom(512)
                self._socket.sendto(self._answer(question), client)

    def _answer(self, question):
        """RFC 1035, 4.1: a header of 12 bytes; labels, each with its length before it; type and class."""
        labels, at = [], 12
        while size := question[at]:
            labels.append(question[at + 1:at + 1 + size].decode())
            at += 1 + size
        name, end = ".".join(labels), at + 5
        self.asked.add(name)
        address = self._addresses.get(name)
        records = b""
        if address and struct.unpack_from(">H", question, at + 1) == (_A,):
            records = struct.pack(">HHHIH4s", 0xc00c, _A, 1, 60, 4, socket.inet_aton(address))
        flags = 0x8180 | (0 if address else _NO_SUCH_NAME)
        return question[:2] + struct.pack(">5H", flags, 1, bool(records), 0, 0) + question[12:end] + records

    def end(self):
        self._over = True
        self._thread.join()
        self._socket.close()
