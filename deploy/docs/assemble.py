"""Hooks of MkDocs: brings the texts of the repository that stand elsewhere into the site, and leads links there.

The pages under deploy/docs/pages are shown as they are. ELSEWHERE names texts that stand with what they describe and
are whole pages of the site too. Links are written for a code host, from file to file; in the site one that leads to a
page leads to that page, and any other file comes along. A link that leads nowhere ends the build.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel

TREE = Path(__file__).resolve().parents[2]
# {page: the file of the repository that it is}
ELSEWHERE = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "debezium/golden.md": "tests/golden/README.md",
    "design/code.md": "src/README.md",
    "design/contributing.md": ".github/CONTRIBUTING.md",
    "operations/deployment.md": "deploy/README.md",
    "pages.md": "deploy/docs/pages/README.md",
    "operations/roles.md": "sql/README.md",
    "operations/runbook.md": "deploy/runbook.md",
    "operations/vulnerabilities.md": ".github/SECURITY.md",
    "proof/bench.md": "tests/bench/README.md",
    "proof/found.md": "tests/chaos/found.md",
    "proof/proof.md": "tests/PROOF.md",
    "proof/relays.md": "tests/bench/relays/README.md",
    "proof/tests.md": "tests/README.md",
}
# Where files of the repository that are no pages lie in the site.
FILES = "files"
# What the search shows last: a reader with a question wants a guide first.
LAST_IN_SEARCH = ("proof/", "design/", "benchmarks.md", "changelog.md", "debezium/golden.md")

_BLOCK = re.compile(r"^( {0,3})(`{3,}|~{3,})[^\n]*\n.*?^ {0,3}\2[ \t]*$", re.DOTALL | re.MULTILINE)
_CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"(\]\()([^()\s]+)(\))")
_TITLE_OF_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def slug(heading, separator="-"):
    """The anchor of a heading, as code hosts make it."""
    text = _TITLE_OF_LINK.sub(r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def in_site(source):
    """As text, so that a browser shows it."""
    return f"{FILES}/{source}" + ("" if source.endswith((".txt", ".png", ".svg")) else ".txt")


class Site:
    """Which file of the repository is which page, and the files that links lead to beside them."""

    def __init__(self, pages):
        self.folder = pages
        self.sources = {path.relative_to(pages).as_posix(): path for path in pages.rglob("*.md")
                        if path.name != "README.md"}
        self.sources |= {page: TREE / source for page, source in ELSEWHERE.items()}
        self.pages = {path.resolve(): page for page, path in self.sources.items()}
        self.files = set()

    def text(self, page):
        """The page as Markdown, its links made for the site."""
        source = self.sources[page]
        text = source.read_text()
        kept = [match.span() for match in _BLOCK.finditer(text)]
        kept += [match.span() for match in _CODE_SPAN.finditer(text)
                 if not any(start <= match.start() < end for start, end in kept)]

        def moved(match):
            if any(start <= match.start() < end for start, end in kept):
                return match[0]
            return match[1] + self._target(page, source, match[2]) + match[3]

        return _LINK.sub(moved, text)

    def _target(self, page, source, target):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return target
        full = Path(os.path.normpath(source.parent / path))
        if full.is_dir():
            full /= "README.md"
        known = self.pages.get(full.resolve())
        if known is None and full.is_relative_to(self.folder):
            known = full.relative_to(self.folder).as_posix()  # a picture, or nothing: MkDocs sees that
        if known is None:
            known = self._file(source, target, full)
        return posixpath.relpath(known, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")

    def _file(self, source, target, full):
        said = f"{os.path.relpath(source, TREE)}: the link to {target} leads"
        if not full.is_file():
            raise PluginError(f"{said} nowhere")
        if full.suffix == ".md":
            raise PluginError(f"{said} to a text that is no page of the site: name it in ELSEWHERE of assemble.py")
        self.files.add(os.path.relpath(full, TREE))
        return in_site(os.path.relpath(full, TREE))


# --- what MkDocs calls


def on_config(config):
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files, config):
    site = Site(Path(config.docs_dir))
    for page in sorted(site.sources):
        if page in ELSEWHERE:
            files.append(File.generated(config, page, content=""))
        files.get_file_from_path(page).content_string = site.text(page)
    for source in sorted(site.files):
        files.append(File.generated(config, in_site(source), abs_src_path=str(TREE / source),
                                    inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith(LAST_IN_SEARCH):
        page.meta["search"] = {"boost": 0.1}
    return markdown
