"""What tests of logins have in common: a relay that finds nothing but what it is given, whose connections are traced,
and which tells no secret."""

import os
import re
import subprocess
from pathlib import Path

from lib.asked import get
from lib.relay import binary, clean_environment, run_command
from lib.waiting import limit_factor

# Where SDKs look, on a developer's machine or in a cloud's.
_LEADS = ("AWS_", "AZURE_", "GOOGLE_", "GCE_", "CLOUDSDK_", "IDENTITY_", "MSI_", "HTTP_PROXY", "HTTPS_PROXY",
          "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")
# All that names whom one speaks to: TCP, and the datagrams of name servers.
_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
_PEER = re.compile(r'sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?"([0-9a-f.:]+)"')
LOOPBACK = ("127.0.0.1", "::1")


class Home:
    """The home folder and the environment of one relay; whom it, and walpost check, speak to is recorded."""

    def __init__(self, folder, **environment):
        self.folder = Path(folder) / "home"
        self.folder.mkdir()
        self._traces = Path(folder) / "traces"
        self._traces.mkdir()
        self.environment = {"HOME": str(self.folder), **environment}

    @property
    def options(self):
        """Of stage.relay(): strace is no parent of the relay (-D), which keeps its pid."""
        return {"environment": self.environment, "wrapper": self._wrapper("-D")}

    def run(self, *arguments, deadline=60):
        """One walpost command to its end: returncode, stdout, stderr."""
        return subprocess.run(
            list(map(str, [*self._wrapper(), binary(), *arguments])), env=clean_environment(self.environment),
            capture_output=True, text=True, timeout=deadline * limit_factor(), stdin=subprocess.DEVNULL)

    def _wrapper(self, *options):
        leads = [word for name in _LEADS for word in self._unset(name)]
        file = self._traces / str(len(list(self._traces.iterdir())))
        file.touch()
        tracer = ["strace", *options, "-f", "--seccomp-bpf", "-qq", "-e", _CALLS, "-o", file]
        return [*tracer, *(["env", *leads] if leads else [])]

    def _unset(self, start):
        return [word for name in os.environ if name.startswith(start) and name not in self.environment
                for word in ("-u", name)]

    def peers(self):
        """All that it has tried to speak to, as address:port; what only sorts addresses has no port, and no packet."""
        found = set()
        for file in self._traces.iterdir():
            for port, address in _PEER.findall(file.read_text(errors="replace")):
                if port != "0" or address not in LOOPBACK:
                    found.add(f"{LOOPBACK[0] if address in LOOPBACK else address}:{port}")
        return found

    def ports(self):
        """Those on this machine that it has connected to; fails where it went elsewhere."""
        elsewhere = {peer for peer in self.peers() if not peer.startswith(LOOPBACK[0] + ":")}
        assert not elsewhere, f"it went elsewhere: {elsewhere}"
        return {int(peer.rpartition(":")[2]) for peer in self.peers()}


def check(relay, home):
    """Exit code and output of walpost check, with the relay's configuration."""
    done = home.run("check", "-c", relay.config_file)
    return done.returncode, done.stdout + done.stderr


def told(relay, home):
    """All that a human may read of it: log, /status, /metrics, the page, check, config show, command lines."""
    texts = [relay.log_text(), *(get(relay, path)[1] for path in ("/status", "/metrics", "/"))]
    for command in (("check",), ("check", "--json"), ("config", "show")):
        done = run_command(*command, "-c", relay.config_file, environment=home.environment)
        texts += [done.stdout, done.stderr]
    for each in Path("/proc").glob("[0-9]*"):
        try:
            texts.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass
    return "\n".join(texts)


def keeps_to_itself(relay, home, secrets):
    """None of the secrets, nor a recognisable part of one, is told."""
    text = told(relay, home)
    for secret in secrets:
        assert secret and secret not in text
        if len(secret) >= 80:  # the head of a JWT is no secret
            assert secret[len(secret) // 2:][:32] not in text and secret[-32:] not in text
