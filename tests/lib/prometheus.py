"""A private Prometheus: the real program, on its own port, gone with us."""

import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from lib import process
from lib.ports import take_port
from lib.waiting import wait_until
from servers import go_tools


class Prometheus:
    """`jobs`: {name of the job: ports of 127.0.0.1}. Scrapes and judges once a second."""

    def __init__(self, folder, rules, jobs):
        self.folder = Path(folder)
        self._port = take_port()
        self._jobs = jobs
        self._process = None
        self._log = self.folder / "prometheus.log"
        (self.folder / "prometheus.yml").write_text(json.dumps({  # which YAML takes as well
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}
                for job, ports in jobs.items()
            ],
        }))

    def start(self):
        with open(self._log, "ab") as out:
            self._process = subprocess.Popen(
                [go_tools.tool("prometheus"), f"--config.file={self.folder}/prometheus.yml",
                 f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self._port}"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=process.dies_with_us(),
            )
        return self

    def _get(self, path, **parameters):
        """None while it is just starting."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        assert self._process.poll() is None, f"Prometheus exited\n{self.log_text()}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.loads(answer.read())["data"]
        except (urllib.error.URLError, ConnectionError):
            return None

    def ask(self, query):
        """The series that a query finds now."""
        return (self._get("query", query=query) or {"result": []})["result"]

    def value(self, query):
        """Of the one series that it finds; None: there is none."""
        found = self.ask(query)
        return float(found[0]["value"][1]) if found else None

    def alerts(self, *states):
        """{(job, alert)} of those in one of these states."""
        known = (self._get("alerts") or {"alerts": []})["alerts"]
        return {(alert["labels"]["job"], alert["labels"]["alertname"]) for alert in known
                if alert["state"] in (states or ("pending", "firing"))}

    def wait_judged(self, deadline=30):
        """Until each rule has been evaluated on what there is now, twice."""
        begun = self._rounds()
        wait_until(lambda: self._rounds() >= begun + 3, deadline, "the rules are evaluated", self.log_text)

    def _rounds(self):
        """How often they were."""
        url = f"http://127.0.0.1:{self._port}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except (urllib.error.URLError, ConnectionError):
            return 0
        return min((float(line.split()[-1]) for line in lines
                    if line.startswith("prometheus_rule_group_iterations_total{")), default=0)

    def log_text(self):
        return self._log.read_text(errors="replace")[-3000:]

    def end(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
