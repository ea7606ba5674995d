"""Prints the configurations of deploy/like as a table in C, in the order of their names.

    like_text.py deploy/like/axon.conf deploy/like/cap.conf ...
"""

import json
import sys
from pathlib import Path


def main(paths):
    print('#include "cli/like.h"\n')
    print("const struct like likes[] = {")
    for path in sorted(map(Path, paths), key=lambda path: path.stem):
        lines = path.read_text(encoding="ascii").splitlines(keepends=True)
        print(f'\t{{ "{path.stem}",')
        print("\n".join("\t  " + json.dumps(line) for line in lines) + " },")
    print("};\n")
    print("const size_t like_count = sizeof(likes) / sizeof(likes[0]);")


main(sys.argv[1:])
