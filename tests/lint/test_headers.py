"""Each header is whole: it compiles alone, with both compilers."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_each_header_compiles_alone(compiler, tree, compile_flags):
    def complaint(path):
        done = subprocess.run(
            [compiler, *compile_flags, "-fsyntax-only", "-x", "c", "-"], input=f'#include "{path}"\n',
            capture_output=True, text=True,
        )
        return done.stderr

    with ThreadPoolExecutor(2) as pool:
        complaints = list(pool.map(complaint, sorted(tree.glob("include/walpost/*/*.h"))))
    assert not "".join(complaints)


def test_each_header_begins_with_what_it_answers_for(tree):
    bare = [str(path) for path in tree.glob("include/walpost/*/*.h") if not path.read_text().startswith("/*")]
    assert not bare


def test_each_header_has_a_guard_of_its_path(tree):
    wrong = []
    for path in tree.glob("include/walpost/*/*.h"):
        name = "_".join(path.relative_to(tree / "include").with_suffix("").parts).upper() + "_H"
        if f"#ifndef {name}\n#define {name}\n" not in path.read_text():
            wrong.append(f"{path}: no guard {name}")
    assert not wrong
