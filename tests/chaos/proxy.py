"""TCP proxies in a process of their own: they pass on, slowly or not at all, as they are told.

Started with {name: [port to listen on, port to pass on to]} as JSON; each line on standard input is a command,
{"name": ..., "rate": bytes a second or null, "delay": seconds, "deaf": true or false} or
{"name": ..., "cut": true or false}, answered by a line.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

_CHUNK = 16384
_CHUNKS_ON_THE_WAY = 256


class _Way:
    """One proxy: what all its connections obey."""

    def __init__(self, port, target):
        self.port = port
        self.target = target
        self.rate = None
        self.delay = 0.0
        self.hears = asyncio.Event()
        self.hears.set()
        self._connections = set()
        self._cut = set()

    def obey(self, command):
        if "cut" in command:
            self._cut_connections(command["cut"])
            return
        self.rate = command.get("rate")
        self.delay = command.get("delay", 0.0)
        if command.get("deaf"):
            self.hears.clear()
        else:
            self.hears.set()

    def _cut_connections(self, cut):
        """Those that are there now: nothing passes any more. Later they end."""
        if cut:
            self._cut = set(self._connections)
            for connection in self._cut:
                connection.hears.clear()
            return
        for connection in self._cut:
            connection.abort()
        self._cut = set()

    async def serve(self):
        await asyncio.start_server(self._accepted, "127.0.0.1", self.port)

    async def _accepted(self, reader, writer):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(self, writer, back)
        self._connections.add(connection)
        await asyncio.gather(connection.pass_on(reader, back), connection.pass_on(there, writer))
        self._connections.discard(connection)
        for end in (writer, back):
            end.close()


class _Connection:
    def __init__(self, way, *ends):
        self.hears = asyncio.Event()
        self.hears.set()
        self._way, self._ends = way, ends

    def abort(self):
        for end in self._ends:
            end.transport.abort()
        self.hears.set()

    async def pass_on(self, reader, writer):
        """A delay holds up each piece, not those behind it."""
        on_the_way = asyncio.Queue(_CHUNKS_ON_THE_WAY)
        taking = asyncio.ensure_future(self._take(reader, on_the_way))
        try:
            while True:
                due, data = await on_the_way.get()
                await _elapsed(due - _now())
                await self._way.hears.wait()
                await self.hears.wait()
                if not data:
                    break
                if self._way.rate:
                    await _elapsed(len(data) / self._way.rate)
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            writer.transport.abort()
        finally:
            taking.cancel()

    async def _take(self, reader, on_the_way):
        """b"" is the end of what comes."""
        data = b"?"
        while data:
            try:
                data = await reader.read(_CHUNK)
            except OSError:
                data = b""
            await on_the_way.put((_now() + self._way.delay, data))


def _now():
    return asyncio.get_running_loop().time()


async def _elapsed(seconds):
    if seconds <= 0:
        return
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_later(seconds, over.set_result, None)
    await over


async def _main(ways):
    for way in ways.values():
        await way.serve()
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    print("ready", flush=True)
    while line := await lines.readline():
        command = json.loads(line)
        ways[command["name"]].obey(command)
        print("done", flush=True)


class Proxies:
    """Our end of that process."""

    def __init__(self, ways):
        self.names = tuple(ways)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), json.dumps(ways)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )
        self._answer("ready")

    def set(self, *names, rate=None, delay=0.0, deaf=False):
        """How these pass on from now on; nothing said: as fast as they can."""
        for name in names:
            self._command(name=name, rate=rate, delay=delay, deaf=deaf)

    def cut(self, name):
        """The connections that are there now stay open, and nothing passes; new ones are served."""
        self._command(name=name, cut=True)

    def end_cut(self, name):
        self._command(name=name, cut=False)

    def _command(self, **command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        self._answer("done")

    def _answer(self, wanted):
        said = self._process.stdout.readline().strip()
        assert said == wanted, f"the proxies said {said!r}"

    def end(self):
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    asyncio.run(_main({name: _Way(*ports) for name, ports in json.loads(sys.argv[1]).items()}))
