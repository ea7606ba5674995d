"""deploy/compose.yaml: by its schema, and each service's command, environment, mounts and health check, one by one.

The images of others cannot be had everywhere: instead of theirs the same servers run, in a network of their own where
the services have their names. What an image does before its server starts is done here as its documentation says:
postgres makes a database, a password and runs the scripts; apache/kafka turns variables into properties, which is a
class of Kafka's own; prom/prometheus is the program itself. Grafana is not run.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.parse
from pathlib import Path

import pytest
import yaml

from lib import process
from lib.container import Jailed
from lib.network import Network
from lib.waiting import wait_until
from servers import cache, go_tools

# What the shell scripts of Kafka call.
KAFKA_TOOLS = {
    "/opt/kafka/bin/kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "/opt/kafka/bin/kafka-broker-api-versions.sh": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "/opt/kafka/bin/kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}


@pytest.fixture(scope="module")
def compose(tree):
    """The file, as the library behind `docker compose` reads it."""
    done = subprocess.run([go_tools.tool("compose-spec"), "-format", "json", "compose.yaml"], cwd=tree / "deploy",
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def services(compose):
    return compose["services"]


def _binds(service):
    """{path in the container: path here} of what is mounted from deploy/."""
    return {one["target"]: one["source"] for one in service.get("volumes", []) if one["type"] == "bind"}


def _secrets(service, compose):
    """The same of its secrets."""
    found = {}
    for one in service.get("secrets", []):
        target = one.get("target") or one["source"]
        place = target if target.startswith("/") else f"/run/secrets/{target}"
        found[place] = compose["secrets"][one["source"]]["file"]
    return found


class Demonstration:
    """All services but Grafana, in the order of their dependencies."""

    def __init__(self, compose, image, folder):
        self.compose, self.services, self.image, self.folder = compose, compose["services"], image, folder
        secrets = {name: secret["file"] for name, secret in compose["secrets"].items()}
        self.network = Network(folder, self.services, secrets)
        self._running = {}
        self.libs = f"{cache.kafka()}/libs/*"
        self.postgres_bin = cache.postgres("18") / "bin"

    def log(self, name):
        return self.folder / f"{name}.log"

    def said(self, name):
        return self.log(name).read_text(errors="replace")

    def is_healthy(self, name):
        """Its health check, once."""
        kind, program, *arguments = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        return self._tool(program, *arguments).returncode == 0

    def _tool(self, program, *arguments, deadline=60):
        if program in KAFKA_TOOLS:
            program, arguments = "java", ("-Xmx128m", "-cp", self.libs, KAFKA_TOOLS[program], *arguments)
        return self.network.run(program, *arguments, deadline=deadline)

    def run_to_its_end(self, name):
        service = self.services[name]
        assert service["restart"] if "restart" in service else True
        done = self._tool(*service["command"])
        assert done.returncode == 0, done.stdout

    # --- what the images do

    def start_postgres(self):
        """docker-entrypoint.sh of docker-library/postgres."""
        service = self.services["postgres"]
        environment, data = service["environment"], self.folder / "postgres"
        data.mkdir()
        process.give_away(data)
        socket = ["-c", f"unix_socket_directories={data}", "-c", "fsync=off"]
        self._as_postgres(
            self.postgres_bin / "initdb", "-D", data / "data", "-U", "postgres", "--no-sync", "--auth-local=trust",
            "--auth-host=scram-sha-256", f"--pwfile={environment['POSTGRES_PASSWORD_FILE']}",
        )
        quietly = self.network.start(
            self.postgres_bin / "postgres", "-D", data / "data", "-c", "listen_addresses=", *socket,
            user="nobody", log=self.log("postgres"),
        )
        sql = {"PGHOST": str(data), "PGUSER": "postgres"}
        wait_until(lambda: self._as_postgres("pg_isready", env=sql, check=False) == 0, 30, "Postgres answers")
        self._as_postgres("createdb", environment["POSTGRES_DB"], env=sql)
        for target, source in sorted(_binds(service).items()):
            assert target.startswith("/docker-entrypoint-initdb.d/") and os.access(source, os.X_OK)
            script = self.folder / Path(target).name  # where its user can read it
            shutil.copy(source, script)
            self._as_postgres(script, env={**sql, **environment})
        quietly.send_signal(signal.SIGINT)
        assert process.wait_exit(quietly, 30, "Postgres") == 0
        program, *arguments = service["command"]
        assert program == "postgres"
        self._running["postgres"] = self.network.start(
            self.postgres_bin / "postgres", "-D", data / "data", *socket, *arguments, user="nobody",
            log=self.log("postgres"),
        )

    def _as_postgres(self, *command, env=None, check=True):
        done = self.network.run(*command, user="nobody", env={"PATH": os.environ["PATH"], **(env or {})})
        assert done.returncode == 0 or not check, done.stdout
        return done.returncode

    def start_kafka(self):
        """/etc/kafka/docker/run of apache/kafka, which calls KafkaDockerWrapper."""
        environment = dict(self.services["kafka"]["environment"])
        environment["KAFKA_LOG_DIRS"] = str(self.folder / "kafka")  # a volume there
        default, mounted, final = (self.folder / name for name in ("default", "mounted", "final"))
        for path in (default, mounted, final):
            path.mkdir()
        for name in ("server.properties", "log4j2.yaml", "tools-log4j2.yaml"):
            (default / name).write_text("")
        done = self.network.run(
            "java", "-cp", self.libs, "kafka.docker.KafkaDockerWrapper", "setup", "--default-configs-dir", default,
            "--mounted-configs-dir", mounted, "--final-configs-dir", final,
            env={"PATH": os.environ["PATH"], **environment},
        )
        assert done.returncode == 0, done.stdout
        self._running["kafka"] = self.network.start(
            "java", "-Xms128m", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", self.libs,
            "kafka.Kafka", final / "server.properties", log=self.log("kafka"),
        )

    def container(self, name, log=None, service=None):
        """One of walpost's image, with command, environment, mounts and secrets of that service."""
        service = service or self.services[name]
        assert service["image"] == "walpost" and service["read_only"] is True and service["cap_drop"] == ["ALL"]
        mounts = {**_binds(service), **_secrets(service, self.compose), "/etc/hosts": self.network.hosts}
        return Jailed(
            self.image, service.get("command") or self.image.facts["Cmd"], environment=service["environment"],
            mounts=mounts, log=log, within=self.network.within,
        )

    def start_walpost(self):
        self._running["walpost"] = self.container("walpost", self.log("walpost"))

    def walpost(self):
        return self._running["walpost"]

    def start_prometheus(self):
        folder = self.folder / "prometheus"
        folder.mkdir()
        for target, source in _binds(self.services["prometheus"]).items():
            shutil.copy(source, folder / Path(target).name)
        places = {"=/etc/prometheus/": f"={folder}/", "=/prometheus": f"={folder}/data"}
        arguments = []
        for word in self.services["prometheus"]["command"]:
            for place, here in places.items():
                word = word.replace(place, here)
            arguments.append(word)
        self._running["prometheus"] = self.network.start(
            go_tools.tool("prometheus"), *arguments, log=self.log("prometheus"),
        )

    # --- questions

    def psql(self, sql):
        # By TCP and with the password, as from another container.
        done = self.network.run(
            "psql", "-XAtq", "-h", "127.0.0.1", "-U", "postgres", "-d", "shop", "-c", sql,
            env={"PATH": os.environ["PATH"],
                 "PGPASSWORD": Path(self.compose["secrets"]["postgres_password"]["file"]).read_text().strip()},
        )
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    def ask_prometheus(self, path, **parameters):
        url = f"http://localhost:9090/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        script = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
        done = self.network.run("/usr/bin/python3", "-c", script, url)
        return json.loads(done.stdout)["data"] if done.returncode == 0 else None

    def end(self):
        for running in self._running.values():
            if isinstance(running, Jailed):
                running.end()
            elif running.poll() is None:
                running.kill()
                running.wait()
        self.network.end()


@pytest.fixture(scope="module")
def demonstration(compose, image, house):
    folder = house / "compose"
    folder.mkdir(mode=0o755)
    made = Demonstration(compose, image, folder)
    yield made
    made.end()


def test_each_service_waits_for_what_it_needs(services):
    needs = {name: {on: how["condition"] for on, how in one.get("depends_on", {}).items()}
             for name, one in services.items()}
    assert needs["init"] == {"postgres": "service_healthy"}
    assert needs["topic"] == {"kafka": "service_healthy"}
    assert needs["walpost"] == {"init": "service_completed_successfully", "topic": "service_completed_successfully"}


def test_what_is_mounted_is_there(compose, services):
    places = [place for one in services.values() for place in (*_binds(one).values(), *_secrets(one, compose).values())]
    assert len(places) > 8 and not [place for place in places if not Path(place).is_file()]


def test_ports_are_open_to_this_machine_only(services):
    ports = [port for one in services.values() for port in one.get("ports", [])]
    assert ports and all(port["host_ip"] == "127.0.0.1" for port in ports)


def test_more_time_to_stop_than_the_relay_takes(services):
    assert services["walpost"]["stop_grace_period"] == "30s"


def test_postgres_comes_up(demonstration):
    demonstration.start_postgres()
    wait_until(lambda: demonstration.is_healthy("postgres"), 30, "postgres is healthy",
               lambda: demonstration.said("postgres"))
    assert demonstration.psql("SHOW wal_level") == "logical"
    assert demonstration.psql("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'walpost'") == "t"


def test_kafka_comes_up(demonstration):
    demonstration.start_kafka()
    wait_until(lambda: demonstration.is_healthy("kafka"), 90, "kafka is healthy", lambda: demonstration.said("kafka"))


def test_the_topic_is_made_and_made_again(demonstration):
    demonstration.run_to_its_end("topic")
    demonstration.run_to_its_end("topic")  # by the next `docker compose up`


def test_init_prepares_the_database_and_does_it_again(demonstration):
    for _ in range(2):
        code, said = demonstration.container("init").finish()
        assert code == 0, said
    assert demonstration.psql("SELECT slot_name, plugin FROM pg_replication_slots") == "walpost|pgoutput"


def test_walpost_comes_up(demonstration):
    demonstration.start_walpost()
    check = demonstration.image.facts["Healthcheck"]["Test"]

    def is_healthy():
        service = {**demonstration.services["walpost"], "command": check[2:]}
        return demonstration.container("walpost", service=service).finish()[0] == 0

    wait_until(is_healthy, 30, "walpost is healthy", lambda: demonstration.said("walpost"))


def test_walpost_carries_the_event_of_the_documentation(demonstration, tree):
    text = (tree / "deploy/README.md").read_text()
    insert = re.search(r'psql -U postgres shop -c "(.*?)"\n', text, re.DOTALL)[1]
    demonstration.psql(insert)
    read = re.search(r"exec kafka (/opt/kafka/bin/kafka-console-consumer\.sh .*?)\n```", text, re.DOTALL)[1]
    words = read.replace("\\\n", " ").split()
    confirmed = "SELECT pg_current_wal_lsn() <= confirmed_flush_lsn FROM pg_replication_slots"
    wait_until(lambda: demonstration.psql(confirmed) == "t", 30, "all is confirmed",
               lambda: demonstration.said("walpost"))
    said = demonstration._tool(*words, "--max-messages", "1").stdout
    assert "OrderPaid" in said and "order-1" in said and "walpost-position" in said, said


def test_its_dashboard_and_its_rules_are_prometheuss(demonstration, tree):
    """Prometheus itself takes configuration, rules, and every question of the dashboard."""
    demonstration.start_prometheus()
    groups = wait_until(lambda: demonstration.ask_prometheus("rules"), 30, "Prometheus answers",
                        lambda: demonstration.said("prometheus"))["groups"]
    rules = yaml.safe_load((tree / "deploy/prometheus/alerts.yaml").read_text())["groups"][0]["rules"]
    assert [rule["name"] for rule in groups[0]["rules"]] == [rule["alert"] for rule in rules]
    dashboard = json.loads((tree / "deploy/grafana/dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(expressions) > 50
    for expression in expressions:
        asked = expression.replace("$__rate_interval", "1m").replace("$job", "walpost").replace("$instance", ".*")
        assert "$" not in asked and demonstration.ask_prometheus("query", query=asked) is not None, expression


def test_walpost_stops_in_good_order(demonstration):
    assert demonstration.walpost().stop() == 0, demonstration.said("walpost")
