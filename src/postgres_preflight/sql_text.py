"""Prints a script of sql/ as a C string: what stands between its BEGIN and its COMMIT, or all if it has none.

    sql_text.py sql/reissue.sql wp_reissue_sql
"""

import json
import sys


def main(path, name):
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    body = lines[lines.index("BEGIN;") + 1:lines.index("COMMIT;")] if "BEGIN;" in lines else lines
    print('#include "walpost/postgres_preflight/publication.h"\n')
    print(f"const char {name}[] =")
    print("\n".join("\t" + json.dumps(line + "\n") for line in body) + ";")


main(*sys.argv[1:])
