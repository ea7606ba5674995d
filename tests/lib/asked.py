"""What a running relay answers over HTTP."""

import http.client

from lib.waiting import limit_factor


def http_port(relay):
    relay.wait_until(lambda: relay.log("http_listens"), 10, "it listens")
    return int(relay.log("http_listens")[0]["port"])


def get(relay, path, method="GET", source=None, timeout=None):
    """Code, text and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", http_port(relay),
                                            timeout=10 * limit_factor() if timeout is None else timeout,
                                            source_address=(source, 0) if source else None)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()
