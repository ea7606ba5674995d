"""Which sources call each other in a circle, as the object files tell; and how many members a struct has."""

import json
import re
import subprocess
from collections import defaultdict


def objects(tree, build):
    """The object file of each source by "room/stem"; the simulation's build of the relay has the same calls."""
    found = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        path = (build / command["file"]).resolve()
        if path.is_relative_to(tree / "src") and "faulty" not in command["output"]:
            found["/".join(path.relative_to(tree / "src").with_suffix("").parts)] = build / command["output"]
    return found


def calls(objects_by_name):
    """Source to the sources whose global symbols it uses."""
    defines, uses = {}, defaultdict(set)
    for name, path in objects_by_name.items():
        said = subprocess.run(["nm", "--format=posix", path], check=True, capture_output=True, text=True).stdout
        for symbol, kind, *_ in map(str.split, said.splitlines()):
            if kind == "U":
                uses[name].add(symbol)
            elif kind in "TDBRVW":
                defines[symbol] = name
    return {name: {defines[s] for s in used if s in defines} - {name} for name, used in uses.items()}


def circles(graph):
    """Sets of sources in which each reaches each (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(one):
        number[one] = low[one] = len(number)
        stack.append(one)
        for other in graph.get(one, ()):
            if other not in number:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], number[other])
        if low[one] == number[one]:
            circle = set(stack[stack.index(one):])
            del stack[stack.index(one):]
            if len(circle) > 1:
                found.append(circle)

    for one in sorted(graph):
        if one not in number:
            visit(one)
    return found


def told(graph, circle):
    """The circle's calls, for a human."""
    return "; ".join(f"{one} -> {', '.join(sorted(graph[one] & circle))}" for one in sorted(circle))


def members(text, name):
    """Members of `struct name` in this text; None: it is not defined there. A struct within counts as one."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    start = re.search(rf"^struct {name} \{{", text, re.MULTILINE)
    if not start:
        return None
    body = text[start.end():text.index("\n};", start.end())]
    while "{" in body or "(" in body:  # what is within, innermost first
        body = re.sub(r"\{[^{}]*\}|\([^()]*\)", " ", body)
    return sum(1 + declaration.count(",") for declaration in body.split(";") if declaration.strip())
