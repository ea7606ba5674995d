"""How old is what the program knows of others, by the dates beside it in the sources?"""

import re
from datetime import date

from . import places

MINORS = places.TREE / "src" / "postgres_preflight" / "minors.c"


def age(text, today):
    """Of the release notes that minors.c names: up to which they were read, and how many days ago the oldest came."""
    read = re.findall(r"(\d\d\.\d+) \((\d{4}-\d\d-\d\d)\)", text)
    if not read:
        return "src/postgres_preflight/minors.c does not say by which release notes it goes"
    days = (today - date.fromisoformat(min(day for _, day in read))).days
    last = ", ".join(f"{version} of {day}" for version, day in read)
    return f"src/postgres_preflight/minors.c goes by the release notes up to {last}: the oldest is {days} days old"


def age_now():
    return age(MINORS.read_text(), date.today())
