"""TCP proxies in a process of their own: they pass on, slowly or not at all, as they are told.

Started with {name: [port to listen on, port to pass on to]} as JSON; each line on standard input is a command,
{"name": ..., "rate": bytes a second or null, "delay": seconds, "deaf": true or false}, answered by a line.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

_CHUNK = 16384


class _Way:
    """One proxy: what all its connections obey."""

    def __init__(self, port, target):
        self.port = port
        self.target = target
        self.rate = None
        self.delay = 0.0
        self.hears = asyncio.Event()
        self.hears.set()

    def obey(self, command):
        self.rate = command.get("rate")
        self.delay = command.get("delay", 0.0)
        if command.get("deaf"):
            self.hears.clear()
        else:
            self.hears.set()

    async def serve(self):
        await asyncio.start_server(self._accepted, "127.0.0.1", self.port)

    async def _accepted(self, reader, writer):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        for end in (writer, back):
            end.close()

    async def _pass_on(self, reader, writer):
        try:
            while True:
                data = await reader.read(_CHUNK)
                await self.hears.wait()
                if not data:
                    break
                if self.rate or self.delay:
                    await _elapsed(self.delay + (len(data) / self.rate if self.rate else 0))
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            writer.transport.abort()


async def _elapsed(seconds):
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
        for name in names:
            self._process.stdin.write(json.dumps({"name": name, "rate": rate, "delay": delay, "deaf": deaf}) + "\n")
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
