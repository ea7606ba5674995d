"""A test that nobody runs is no test."""

from pathlib import Path


def _unregistered(tree, ring):
    for path in sorted((tree / "tests" / ring).rglob("test_*.c")):
        stem = path.stem.removeprefix("test_")
        build = path.parent / "meson.build"
        text = build.read_text() if build.exists() else ""
        if f"'{stem}'" not in text and path.name not in text and path.stem not in text:
            yield str(path.relative_to(tree))


def test_each_c_test_is_registered_in_its_folder(tree):
    lost = [line for ring in ("unit", "property", "sim", "fuzz", "component") for line in _unregistered(tree, ring)]
    assert not lost


def test_each_ring_has_tests(tree):
    for ring in ("unit", "property", "sim", "fuzz", "component"):
        assert list((tree / "tests" / ring).rglob("*.c")), f"ring {ring} is empty"


def test_each_source_is_built(tree):
    lost = []
    for path in sorted((tree / "src").rglob("*.c")):
        text = (path.parent / "meson.build").read_text()
        if f"'{path.name}'" not in text:
            lost.append(str(path.relative_to(tree)))
    assert not lost


def test_each_pytest_file_has_a_name_that_pytest_finds(tree):
    strays = [
        path.name for path in (tree / "tests" / "e2e").glob("*.py")
        if not path.name.startswith("test_") and path.name != "conftest.py"
        and "def test_" in Path(path).read_text()
    ]
    assert not strays
