"""clang-format of one fixed version decides (others lay out the same style differently)."""

import subprocess


def test_c_is_formatted(tree):
    said = subprocess.run(["clang-format", "--version"], check=True, capture_output=True, text=True).stdout
    assert " 14." in said, f"the pinned clang-format is not first in PATH: {said}"
    paths = [
        path for top in ("src", "include", "tests") for path in sorted((tree / top).rglob("*.[ch]"))
        if "bench" not in path.parts
    ]
    done = subprocess.run(
        ["clang-format", "--dry-run", "--Werror", *map(str, paths)], capture_output=True, text=True
    )
    files = sorted({line.split(":")[0] for line in done.stderr.splitlines() if ": error:" in line})
    assert done.returncode == 0, "clang-format -i " + " ".join(files)
