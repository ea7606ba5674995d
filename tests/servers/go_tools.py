"""Programs written in Go that look at what deploy/ holds: by `go install`, at fixed versions, into the cache."""

import os
import shutil
import subprocess

from servers import cache

OLDEST_GO = (1, 26)
_ONLY_DNS = "remove_all_sd,enable_dns_sd"  # of Prometheus' service discoveries; the others want many a module

# name: (package, version, name of its program, build tags)
TOOLS = {
    "helm": ("helm.sh/helm/v3/cmd/helm", "v3.22.0", "helm", ""),
    "kustomize": ("sigs.k8s.io/kustomize/kustomize/v5", "v5.8.1", "kustomize", ""),
    "compose-spec": ("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2", "cmd", ""),
    "promtool": ("github.com/prometheus/prometheus/cmd/promtool", "v0.316.0", "promtool", _ONLY_DNS),
    "prometheus": ("github.com/prometheus/prometheus/cmd/prometheus", "v0.316.0", "prometheus", _ONLY_DNS),
}
_MONITORING = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"
_MONITORING_VERSION = "v0.95.1"
_CONTROLLER_GEN = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"


def _go(*words, **options):
    program = shutil.which("go") or "/usr/local/go/bin/go"
    try:
        said = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        said = "none"
    if tuple(int(n) for n in said.strip().removeprefix("go").split(".")[:2] if n.isdigit()) < OLDEST_GO:
        raise RuntimeError(f"Go {'.'.join(map(str, OLDEST_GO))} or newer must be in PATH; found: {said.strip()}")
    cache.run(program, *words, **options)


def tool(name):
    """The path of one of TOOLS."""
    package, version, program, tags = TOOLS[name]

    def fill(folder):
        _go("install", "-tags", tags, f"{package}@{version}", env={**os.environ, "GOBIN": str(folder)})

    return cache.filled(f"{name}-{version}", fill) / program


def monitoring_crds():
    """A folder with the definitions of the Prometheus Operator's resources, made of its Go types."""

    def fill(folder):
        work = folder / "module"
        work.mkdir()
        (work / "monitoring.go").write_text(f'package monitoring\n\nimport _ "{_MONITORING}/v1"\n')
        _go("mod", "init", "walpost.test/monitoring", cwd=work)
        _go("get", f"{_MONITORING}@{_MONITORING_VERSION}", cwd=work)
        _go("get", "-tool", _CONTROLLER_GEN, cwd=work)
        _go("mod", "tidy", cwd=work)
        _go(
            "tool", "controller-gen", "crd", f"paths={_MONITORING}/v1", f"output:crd:dir={folder / 'crds'}", cwd=work
        )
        shutil.rmtree(work)

    return cache.filled(f"monitoring-{_MONITORING_VERSION}", fill) / "crds"
