"""A line between two programs that can be slow, silent or cut: a TCP proxy."""

import queue
import socket
import threading
import time

from lib.ports import take_port
from lib.waiting import sleep_until

_CHUNK = 65536
_CHUNKS_ON_THE_WAY = 64


class Line:
    """What comes to `port` on 127.0.0.1 goes to `to_port`, and back, each piece `delay` seconds later, and on each
    connection no more than `rate` bytes a second. `editor()` makes for each connection what its pieces pass on their
    way there: a function that returns the piece to send, of which b"" ends the connection."""

    def __init__(self, to_port, editor=None):
        self.port = take_port()
        self._editor = editor or (lambda: lambda piece: piece)
        self.delay = 0.0
        self.rate = None
        self._to_port = to_port
        self._open = threading.Event()
        self._open.set()
        self._over = False
        self._lock = threading.Lock()
        self._sockets = set()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self):
        """Connections stay and nothing passes in either direction: as if all packets were dropped."""
        self._open.clear()

    def restore(self):
        self._open.set()

    def cut(self):
        """Ends all connections; new ones are welcome."""
        with self._lock:
            sockets = list(self._sockets)
        for each in sockets:
            self._end(each)

    def end(self):
        self._over = True
        self.restore()
        self._end(self._listener)
        self.cut()

    def _end(self, each):
        with self._lock:
            self._sockets.discard(each)
        try:
            each.shutdown(socket.SHUT_RDWR)  # wakes who waits in recv
        except OSError:
            pass
        each.close()

    def _accept(self):
        while not self._over:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._to_port))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets |= {near, far}
            for here, there, edit in ((near, far, self._editor()), (far, near, lambda piece: piece)):
                on_the_way = queue.Queue(_CHUNKS_ON_THE_WAY)
                threading.Thread(target=self._take, args=(here, on_the_way, edit), daemon=True).start()
                threading.Thread(target=self._give, args=(there, here, on_the_way), daemon=True).start()

    def _take(self, here, on_the_way, edit):
        """b"" is the end of what comes."""
        piece = b"?"
        while piece:
            try:
                piece = edit(here.recv(_CHUNK))
            except OSError:
                piece = b""
            on_the_way.put((time.monotonic() + self.delay, piece))

    def _give(self, there, here, on_the_way):
        while True:
            due, piece = on_the_way.get()
            sleep_until(due)
            self._open.wait()
            try:
                if piece:
                    there.sendall(piece)
                    if self.rate:
                        sleep_until(time.monotonic() + len(piece) / self.rate)
                    continue
            except OSError:
                pass
            break
        for end in (there, here):
            self._end(end)
        while piece:  # so that the other thread is not left waiting for room
            _, piece = on_the_way.get()
