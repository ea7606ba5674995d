"""What holds for every ring in Python."""

from lib.late import pytest_collection_modifyitems, pytest_runtest_makereport  # noqa: F401 - hooks
