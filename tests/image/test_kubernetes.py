"""deploy/kubernetes and deploy/helm/walpost: by the schemas of Kubernetes, and by what the image makes of them."""

import json
import re
import subprocess

import jsonschema
import kubernetes_validate
import pytest
import yaml

from lib.container import Jailed
from servers import go_tools

VERSIONS = ("1.31.0", "1.37.0")
LEAST = {
    "config.postgres.conninfo": "host=db.example.org dbname=shop user=walpost",
    r"config.kafka.bootstrap\.servers": "kafka.example.org:9092",
}
ALL = {
    **LEAST,
    "podMonitor.enabled": "true",
    "prometheusRule.enabled": "true",
    "dashboard.enabled": "true",
    "certificates.existingSecret": "walpost-certificates",
    r"secrets.settings.kafka\.sasl\.password": "kafka-password",
    "config.relay.epoch": "1",
    r"config.outbox\.orders.table": "sales.outbox",
    "networkPolicy.postgres.to[0].ipBlock.cidr": "10.0.0.5/32",
    "priorityClassName": "high",
    r"serviceAccount.annotations.eks\.amazonaws\.com/role-arn": "arn:aws:iam::123456789012:role/walpost",
    "imagePullSecrets[0].name": "registry",
    "tolerations[0].operator": "Exists",
    "nodeSelector.disk": "ssd",
    "podAnnotations.team": "shop",
    "extraEnv[0].name": "TZ",
    "extraEnv[0].value": "UTC",
    "extraVolumes[0].name": "more",
    "extraVolumeMounts[0].name": "more",
    "extraVolumeMounts[0].mountPath": "/more",
}


def _helm(tree, *words, values=None, release="walpost"):
    given = [word for name, value in (values or {}).items() for word in ("--set", f"{name}={value}")]
    name = [release] if words[0] == "template" else []
    return subprocess.run(
        [go_tools.tool("helm"), *words, *name, tree / "deploy/helm/walpost", "--kube-version", "1.37", *given],
        capture_output=True, text=True,
    )


def _rendered(tree, values, release="walpost"):
    done = _helm(tree, "template", values=values, release=release)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def _manifests(tree):
    done = subprocess.run([go_tools.tool("kustomize"), "build", tree / "deploy/kubernetes"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    job = yaml.safe_load((tree / "deploy/kubernetes/init-job.yaml").read_text())
    return [*yaml.safe_load_all(done.stdout), job]


@pytest.fixture(scope="module")
def documents(tree):
    """{where from: documents}"""
    return {
        "manifests": _manifests(tree),
        "chart, least": _rendered(tree, LEAST),
        "chart, all": _rendered(tree, ALL, "orders"),
    }


@pytest.fixture(scope="module")
def crds():
    found = {}
    for path in go_tools.monitoring_crds().iterdir():
        crd = yaml.safe_load(path.read_text())
        for version in crd["spec"]["versions"]:
            key = (f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"])
            found[key] = _strict(version["schema"]["openAPIV3Schema"])
    return found


def _strict(schema):
    """As the server is with strict field validation: what is not named is an error."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # A regular expression of Go with flags in its middle is none here.
    made = {name: _strict(value) for name, value in schema.items() if name != "pattern" or "(?i)" not in str(value)}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object" and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def _of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def test_all_is_as_the_schemas_of_kubernetes_have_it(documents, crds):
    checked = set()
    for where, some in documents.items():
        for document in some:
            key = (document["apiVersion"], document["kind"])
            checked.add(document["kind"])
            if key in crds:
                body = {name: value for name, value in document.items() if name != "metadata"}
                jsonschema.validate(body, {**crds[key], "required": ["spec"]})
                continue
            for version in VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)
    assert {"Deployment", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor", "PrometheusRule", "Job",
            "ServiceAccount"} == checked


@pytest.mark.parametrize("kind, path, value", [
    ("Deployment", ("spec", "replica"), 2),
    ("NetworkPolicy", ("spec", "policyTypes"), "Ingress"),
    ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "intervall"), "15s"),
    ("PodMonitor", ("spec", "podMetricsEndpoints", 0, "interval"), "often"),
    ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "for"), "soon"),
])
def test_a_planted_mistake_is_found(documents, crds, kind, path, value):
    document = yaml.safe_load(yaml.safe_dump(_of_kind(documents["chart, all"], kind)[0]))
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        if (document["apiVersion"], kind) in crds:
            jsonschema.validate({"spec": document["spec"]}, crds[document["apiVersion"], kind])
        else:
            kubernetes_validate.validate(document, VERSIONS[-1], strict=True)


def test_helm_finds_nothing_to_complain_of(tree):
    for values in (None, LEAST, ALL):
        done = _helm(tree, "lint", "--strict", values=values)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("values, said", [
    ({}, "config.postgres.conninfo must be set"),
    ({"config.postgres.conninfo": "host=db"}, "config.kafka.bootstrap.servers must be set"),
    ({**LEAST, "replica": "2"}, "additional properties 'replica' not allowed"),
    ({**LEAST, "config.postgres.password": "x"}, "config/postgres"),
    ({**LEAST, "config.postgress.slot": "x"}, "'postgress' does not match"),
    ({**LEAST, "http.port": "0"}, "http/port"),
])
def test_values_that_make_no_sense_are_refused(tree, values, said):
    done = _helm(tree, "template", values=values)
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_the_values_beside_a_cloudnativepg_cluster_fit_it(tree):
    folder = tree / "deploy/helm/cloudnativepg"
    cluster = yaml.safe_load((folder / "cluster.yaml").read_text())
    for words in ("lint", "--strict"), ("template",):
        done = _helm(tree, *words, "--values", folder / "values.yaml")
        assert done.returncode == 0, done.stdout + done.stderr
    rendered = {document["kind"]: document for document in yaml.safe_load_all(done.stdout) if document}
    for document in rendered.values():
        kubernetes_validate.validate(document, VERSIONS[-1], strict=True)
    conf = rendered["ConfigMap"]["data"]["walpost.conf"]
    assert f"host={cluster['metadata']['name']}-rw dbname={cluster['spec']['bootstrap']['initdb']['database']} " in conf
    (role,) = cluster["spec"]["managed"]["roles"]
    assert role["replication"] and f"user={role['name']} " in conf
    assert role["passwordSecret"]["name"] in json.dumps(rendered["Deployment"])


def _pods(documents):
    return [document["spec"]["template"]["spec"] for document in documents
            if document["kind"] in ("Deployment", "Job")]


def test_each_pod_is_as_restricted_as_kubernetes_knows_it(documents):
    """The profile "restricted" of the Pod Security Standards, a read-only root, and no token."""
    pods = [pod for some in documents.values() for pod in _pods(some)]
    assert len(pods) == 4
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] == 65532
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert all(set(volume) <= {"name", "configMap", "secret"} or volume["name"] == "more"
                   for volume in pod["volumes"])
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"] is True
            assert security["privileged"] is False and security["capabilities"] == {"drop": ["ALL"]}
            assert "hostPort" not in str(container.get("ports"))
            assert container["resources"]["limits"]["memory"]


def test_manifests_and_chart_run_the_same(documents):
    def normal(pod):
        text = yaml.safe_dump(pod)
        text = re.sub(r"image: \S+", "image: walpost", text)
        return re.sub(r"name: walpost-[a-z0-9]{10}\b", "name: walpost", text)  # kustomize's hash of the content

    ours, theirs = (_of_kind(documents[where], "Deployment")[0]["spec"] for where in ("manifests", "chart, least"))
    assert normal(ours["template"]["spec"]) == normal(theirs["template"]["spec"])
    assert ours["strategy"] == theirs["strategy"] and ours["replicas"] == theirs["replicas"] == 2
    for kind in ("NetworkPolicy", "PodDisruptionBudget"):
        ours, theirs = (_of_kind(documents[where], kind)[0]["spec"] for where in ("manifests", "chart, least"))
        assert ours == theirs


def test_a_rollout_never_has_fewer_than_wanted(documents):
    for some in documents.values():
        (deployment,) = _of_kind(some, "Deployment")
        assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


def test_selectors_find_the_pods_and_their_port(documents):
    for some in documents.values():
        template = _of_kind(some, "Deployment")[0]["spec"]["template"]
        labels = template["metadata"]["labels"]
        ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
        for kind in ("Deployment", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor"):
            for document in _of_kind(some, kind):
                spec = document["spec"]
                wanted = (spec.get("selector") or spec["podSelector"])["matchLabels"]
                assert wanted.items() <= labels.items(), kind
        for policy in _of_kind(some, "NetworkPolicy"):
            assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
            assert [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]] == ["http"]
            out = [port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]]
            assert out == [53, 53, 5432, 9092]
        assert ports == {"http": 9187}


@pytest.mark.parametrize("where", ["manifests", "chart, least", "chart, all"])
def test_the_image_takes_their_configuration(image, documents, folder, where):
    """The file, the variables, and the secrets that they name, as the pod would have them."""
    (deployment,) = _of_kind(documents[where], "Deployment")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    config = _of_kind(documents[where], "ConfigMap")
    (text,) = [one["data"]["walpost.conf"] for one in config if "walpost.conf" in one["data"]]
    conf, secrets = folder / "etc", folder / "secrets"
    conf.mkdir()
    secrets.mkdir()
    (conf / "walpost.conf").write_text(text)
    environment = {one["name"]: one["value"] for one in container["env"]}
    for name, value in environment.items():
        if name.endswith("_FILE"):
            file = secrets / value.removeprefix("/run/secrets/walpost/")
            assert "/" not in file.name and str(file.parent) == str(secrets)
            file.write_text("a secret")
    mounts = {"/etc/walpost": conf, "/run/secrets/walpost": secrets}
    jail = Jailed(image, ["config", "show", "-c", container["args"][2]], environment=environment, mounts=mounts)
    code, said = jail.finish()
    assert code == 0 and "a secret" not in said, said
    hidden = re.findall(r"^(\S+) = \*+ ", said, re.MULTILINE)
    assert len(hidden) == len([name for name in environment if name.endswith("_FILE")]), said
    assert "host=db.example.org" in said and "kafka.example.org:9092" in said
    assert not [line for line in said.splitlines() if "warning" in line], said
    assert "http.listen = 0.0.0.0:9187 " in said


def test_more_time_to_stop_than_the_relay_takes(image, documents):
    code, said = Jailed(image, ["config", "sample"]).finish()
    line = re.search(r"^;shutdown\.timeout = (\d+)s$", said, re.MULTILINE)
    for some in documents.values():
        pod = _of_kind(some, "Deployment")[0]["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] > int(line[1]) + 5


def test_the_chart_has_the_rules_and_the_dashboard(tree, documents):
    (rule,) = _of_kind(documents["chart, all"], "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((tree / "deploy/prometheus/alerts.yaml").read_text())
    (dashboard,) = [one for one in _of_kind(documents["chart, all"], "ConfigMap") if "walpost.json" in one["data"]]
    assert dashboard["data"]["walpost.json"].strip() == (tree / "deploy/grafana/dashboard.json").read_text().strip()
