import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

TREE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tree():
    return TREE


@pytest.fixture(scope="session")
def compile_flags():
    """What a header of ours may need to find foreign ones."""
    names = ["libpq", "rdkafka", "libprotobuf-c", "libpcre2-8", "jansson"]
    said = subprocess.run(["pkg-config", "--cflags", *names], check=True, capture_output=True, text=True).stdout
    return [f"-I{TREE}/include", *said.split(), "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror"]
