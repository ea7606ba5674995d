"""The documentation site: one command builds it, nothing in it leads nowhere, and nothing comes from other hosts."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
# Where a browser asks for more without a click.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


def build(tree, output):
    return subprocess.run(
        [tree / "deploy" / "docs" / "build", "--output", output], stdin=subprocess.DEVNULL, capture_output=True,
        text=True,
    )


class Page(HTMLParser):
    """A page's ids, its links, what it loads, and its text outside of code."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.navigation, self.loads, self.text = set(), [], [], [], []
        self._open = []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in VOID:
            self._open.append((tag, attributes.get("class") or ""))
        self.ids.add(attributes.get("id"))
        for name in ("href", "src"):
            if (tag, name) in LOADED and attributes.get("rel") != "canonical" and name in attributes:
                self.loads.append(attributes[name])
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
            if any("md-nav--primary" in classes for _, classes in self._open):
                self.navigation.append(attributes["href"])

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if not {"code", "pre", "script", "style", "title"} & {tag for tag, _ in self._open}:
            self.text.append(data)


@pytest.fixture(scope="module")
def site(tree, tmp_path_factory):
    """{path: Page} of all that was built."""
    output = tmp_path_factory.mktemp("site")
    done = build(tree, output)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == str(output / "index.html")
    pages = {path: Page(path) for path in sorted(output.rglob("*.html"))}
    assert len(pages) > 30
    return output, pages


def local(path, link):
    """The file of a link, and its anchor; None for one to another host."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    return (path.parent / unquote(parts.path)).resolve() if parts.path else path, unquote(parts.fragment)


def test_every_page_is_reached_from_the_navigation(tree, site):
    output, pages = site
    elsewhere = re.findall(r'^    "(\S+)\.md": "', (tree / "deploy/docs/assemble.py").read_text(), re.MULTILINE)
    wanted = {path.relative_to(tree / "deploy/docs/pages").with_suffix(".html").as_posix()
              for path in (tree / "deploy/docs/pages").rglob("*.md") if path.name != "README.md"}
    wanted |= {f"{name}.html" for name in elsewhere}
    start = output / "index.html"
    reached = {local(start, link)[0].relative_to(output).as_posix()
               for link in pages[start].navigation if local(start, link)}
    assert reached == wanted
    assert {path.relative_to(output).as_posix() for path in pages} == wanted | {"404.html"}


def test_every_link_leads_to_a_file_and_a_place_in_it(site):
    output, pages = site
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for link in [*page.links, *page.loads]:
            target = local(path, link)
            if target is None:
                continue
            file, anchor = target
            known = pages[file].ids if file in pages else None
            if not file.is_file() or anchor and known is not None and anchor not in known:
                broken.append(f"{path.relative_to(output)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_other_hosts(site):
    output, pages = site
    strange = [(path.name, link) for path, page in pages.items() for link in page.loads if local(path, link) is None]
    for sheet in output.rglob("*.css"):
        strange += [(sheet.name, url) for url in re.findall(r"url\(\s*['\"]?(https?:|//)[^)]*", sheet.read_text())]
        strange += [(sheet.name, url) for url in re.findall(r"@import[^;]*", sheet.read_text())]
    assert not strange


def test_no_markdown_is_left_as_it_was_written(site):
    output, pages = site
    left = {
        (path.relative_to(output).as_posix(), text.strip()[:80])
        for path, page in pages.items() for text in page.text
        if re.search(r"\*\*|\]\(|\{\{|^\s*\|.*\|\s*$|^\s*[-*] ", text, re.MULTILINE)
    }
    assert not left


def test_the_reference_is_what_the_program_says(site):
    output, pages = site
    for name, words in (("configuration", ["postgres.conninfo", "relay.epoch"]),
                        ("reference/commands", ["walpost slot skip"])):
        text = (output / f"{name}.html").read_text()
        assert all(word in text for word in words)


def test_guides_come_before_proof(site):
    """In the navigation, and in what the search says."""
    output, pages = site
    guide = ("quickstart", "producers/", "consumers/", "operations/")
    order = [local(output / "index.html", link)[0].relative_to(output).as_posix()
             for link in pages[output / "index.html"].navigation if local(output / "index.html", link)]
    place = {name: order.index(name) for name in order}
    proof = [at for name, at in place.items() if name.startswith(("proof/", "design/", "benchmarks"))]
    assert max(at for name, at in place.items() if name.startswith(guide)) < min(proof)
    index = json.loads((output / "search" / "search_index.json").read_text())["docs"]
    last = {entry["location"].split("#")[0] for entry in index if entry.get("boost", 1) < 1}
    assert {name for name in place if name.startswith("proof/")} | {"benchmarks.html", "changelog.html"} <= last
    assert not [name for name in last if name.startswith(guide)]


@pytest.fixture
def copy(tree, tmp_path):
    """The tree, with a README.md and a deploy/docs that may be changed."""
    for path in tree.iterdir():
        if path.name not in ("README.md", "deploy", ".git"):
            (tmp_path / path.name).symlink_to(path)
    shutil.copy(tree / "README.md", tmp_path)
    (tmp_path / "deploy").mkdir()
    shutil.copytree(tree / "deploy" / "docs", tmp_path / "deploy" / "docs",
                    ignore=shutil.ignore_patterns("node_modules", "target"))
    for path in (tree / "deploy").iterdir():
        if path.name != "docs":
            (tmp_path / "deploy" / path.name).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize("where, text, complaint", [
    ("deploy/docs/pages/promises.md", "\n[x](nowhere.md)\n", "nowhere.md"),
    ("deploy/docs/pages/promises.md", "\n[x](quickstart.md#nowhere)\n", "#nowhere"),
    ("deploy/docs/pages/promises.md", "\n[x](../../../README.md#nowhere)\n", "#nowhere"),
    ("deploy/docs/pages/promises.md", "\n[x](../../../proto/README.md)\n", "proto/README.md"),
    ("deploy/docs/pages/stray.md", "# Stray\n", "stray.md"),
    ("README.md", "\n[x](src/nowhere.c)\n", "src/nowhere.c"),
])
def test_what_is_wrong_fails_the_build_and_is_named(copy, where, text, complaint):
    with open(copy / where, "a") as file:
        file.write(text)
    done = build(copy, copy / "site")
    assert done.returncode != 0 and complaint in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_folder_that_is_no_site_is_not_emptied(tree, tmp_path):
    (tmp_path / "letters").write_text("dear ...")
    done = build(tree, tmp_path)
    assert done.returncode != 0 and str(tmp_path) in done.stderr
    assert (tmp_path / "letters").exists()
