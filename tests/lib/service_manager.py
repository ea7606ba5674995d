"""Who hears what a service tells its manager: sd_notify(3)."""

import socket
import time


class ServiceManager:
    """A datagram socket at `path`."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(20)
        self.environment = {"NOTIFY_SOCKET": str(path)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def hear_until(self, wanted):
        """The next message that begins so."""
        end = time.monotonic() + 40
        while True:
            assert time.monotonic() < end, f"{wanted} was not said"
            text = self._socket.recv(4096).decode()
            if text.startswith(wanted):
                return text
