"""Who hears what a service tells its manager: sd_notify(3)."""

import socket

from lib.waiting import wait_until


class ServiceManager:
    """A datagram socket at `path`."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(1)
        self.environment = {"NOTIFY_SOCKET": str(path)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def hear_until(self, wanted):
        """The next message that begins so."""
        return wait_until(lambda: self._next(wanted), 40, f"{wanted} is said")

    def _next(self, wanted):
        try:
            text = self._socket.recv(4096).decode()
        except TimeoutError:
            return None
        return text if text.startswith(wanted) else None
