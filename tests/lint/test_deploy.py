"""What deploy/ holds twice is the same, and names the version that is built. More is in the ring image."""

import json
import re
import shutil
import subprocess

import pytest

SAME = {
    "deploy/prometheus/alerts.yaml": "deploy/helm/walpost/files/alerts.yaml",
    "deploy/grafana/dashboard.json": "deploy/helm/walpost/files/dashboard.json",
}


@pytest.fixture(scope="module")
def version(tree):
    return re.search(r"^  version: '([0-9.]+)',$", (tree / "meson.build").read_text(), re.MULTILINE)[1]


@pytest.mark.parametrize("original", SAME)
def test_the_chart_has_the_same_files(tree, original):
    copy = SAME[original]
    assert (tree / original).read_text() == (tree / copy).read_text(), f"cp {original} {copy}"


def test_chart_manifests_and_readme_name_the_version_that_is_built(tree, version):
    assert f"\nVersion {version}: " in (tree / "README.md").read_text()
    chart = (tree / "deploy/helm/walpost/Chart.yaml").read_text()
    assert re.findall(r"^(?:version|appVersion): (.*)$", chart, re.MULTILINE) == [version, version]
    named = re.findall(r"(?:newTag: |/walpost:)([0-9.]+)", "".join(
        (tree / "deploy/kubernetes" / name).read_text() for name in ("kustomization.yaml", "init-job.yaml")
    ))
    assert named == [version, version]


def test_the_dashboard_is_json(tree):
    assert json.loads((tree / "deploy/grafana/dashboard.json").read_text())["title"] == "walpost"


def test_secrets_are_those_of_the_demonstration(tree):
    files = [path.relative_to(tree).as_posix() for path in (tree / "deploy").rglob("*password*")]
    assert sorted(files) == [f"deploy/compose/{name}.password" for name in ("grafana", "postgres", "walpost")]
    assert all((tree / name).read_text().startswith("demo-") for name in files)


def test_every_image_has_a_fixed_version(tree):
    compose = (tree / "deploy/compose.yaml").read_text()
    images = re.findall(r"^ +image: (.*)$", compose, re.MULTILINE)
    assert len(images) > 4
    assert not [name for name in images if name != "walpost" and not re.search(r":v?\d", name)]


def test_the_image_is_built_with_all_files_that_the_build_names(tree, tmp_path):
    ignored = (tree / "deploy/Dockerfile.dockerignore").read_text()
    for name in re.findall(r"^!(.*)$", ignored, re.MULTILINE):
        path, to = tree / name, tmp_path / "tree" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(path, to) if path.is_dir() else shutil.copy(path, to)
    done = subprocess.run(["meson", "setup", "-Dtests=disabled", tmp_path / "tree", tmp_path / "build"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
