"""Puts the pages together while MkDocs builds: what is written elsewhere is taken from there.

A page may hold lines of these forms:

    {{ include README.md }}                       the whole file
    {{ include README.md # Operation }}           one of its sections; "# top" is what stands before the first
    {{ include README.md # Operation, no tables }}
    {{ code deploy/docs/samples/go/main.go }}     a file as a block of code
    {{ markdown walpost config reference }}       what the program prints, as Markdown
    {{ text walpost config sample }}              the same, as it stands
    {{ help }}                                    the help of each command

A section becomes the page's own part: at its top when the page has no title yet, below it else. Links in all of it may
point to files of the repository, from where the text stands: to what is on a page, they lead there; other files come
along. What leads nowhere ends the build, and so does a section of a README that is on no page or on two.
"""

import functools
import os
import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel

TREE = Path(__file__).resolve().parents[2]
PAGES = Path(__file__).resolve().parent / "pages"
# Of these each section must be on a page; of others a page may show a part.
WHOLE = ("README.md",)
# Where files of the repository that are no pages lie in the site.
FILES = "files"
LANGUAGES = {".py": "python", ".java": "java", ".cs": "csharp", ".go": "go", ".ts": "typescript", ".sql": "sql",
             ".xml": "xml", ".csproj": "xml", ".json": "json", ".mod": "text", ".txt": "text"}

_DIRECTIVE = re.compile(r"^\{\{ *(\w+) *(.*?) *\}\}$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$")
_CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"(\]\()([^()\s]+)(\))")
_TITLE_OF_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


class Piece:
    """Lines of one source, at the depth that the page wants."""

    def __init__(self, source, lines):
        self.source = source  # in the repository; None: the program said it, or it is code
        self.lines = lines


def slug(heading, separator="-"):
    """The anchor of a heading, as forges make it."""
    text = _TITLE_OF_LINK.sub(r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def headings(lines):
    """(index, level, text) of each heading that is not inside a block of code."""
    fence = None
    for index, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = None
        elif fence is None and (match := _HEADING.match(line)):
            yield index, len(match[1]), match[2]


def sections(lines):
    """{name: lines} of what stands under each heading of the second level, and "top" before the first."""
    starts = [(index, text) for index, level, text in headings(lines) if level == 2]
    found = {"top": lines[:starts[0][0] if starts else len(lines)]}
    for (start, text), (end, _) in zip(starts, [*starts[1:], (len(lines), None)]):
        found[text] = lines[start:end]
    return found


def without_tables(lines):
    return [line for line in lines if not line.startswith("|")]


def shifted(lines, by):
    """Headings `by` levels deeper."""
    deeper = list(lines)
    for index, level, text in headings(lines):
        deeper[index] = "#" * min(6, max(1, level + by)) + " " + text
    return deeper


@functools.lru_cache(None)
def lines_of(source):
    return (TREE / source).read_text().splitlines()


def said(*words):
    """What `walpost WORDS` prints."""
    program = os.environ.get("WALPOST_BINARY")
    if not program:
        raise PluginError("WALPOST_BINARY names no walpost; deploy/docs/build sets it")
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise PluginError(f"`walpost {' '.join(words)}` failed: {done.stderr.strip()}")
    return done.stdout.rstrip("\n").splitlines()


def commands_in(help_text):
    """The names in a help's table of commands: `  run             the relay, in the foreground`."""
    return [match[1] for match in (re.match(r"  ([a-z][a-z-]*) +\S", line) for line in help_text) if match]


def helps(words=()):
    """(command, its help) of the program and of each of its commands, as they follow one another."""
    text = said(*words, "--help")
    yield words, text
    if text[0].split("[")[0].split()[-1] == "COMMAND":
        for name in commands_in(text):
            yield from helps((*words, name))


def fenced(language, lines, title=None):
    head = f"```{language}" + (f' title="{title}"' if title else "")
    return [head, *lines, "```"]


class Site:
    """All pages with what they hold, and where each part of the repository's texts is to be found."""

    def __init__(self, pages=PAGES):
        self.pages = {}  # name: [Piece]
        self.places = {}  # (source, section or None): page
        self.files = set()  # of the repository, that links lead to
        self.folder = pages
        for path in sorted(pages.rglob("*.md")):
            name = path.relative_to(pages).as_posix()
            self.pages[name] = self._read(name, path)
        self._check_sections()
        self._anchors = {}
        for name, pieces in self.pages.items():
            for piece in pieces:
                for _, _, text in headings(piece.lines) if piece.source else ():
                    self._anchors.setdefault((piece.source, slug(text)), name)

    # --- reading

    def _read(self, name, path):
        own = os.path.relpath(path, TREE)
        pieces = [Piece(own, [])]
        for line in path.read_text().splitlines():
            directive = _DIRECTIVE.match(line)
            if directive is None:
                pieces[-1].lines.append(line)
                continue
            titled = any(level == 1 for piece in pieces for _, level, _ in headings(piece.lines))
            try:
                pieces += self._pieces(name, directive[1], directive[2], titled)
            except (KeyError, OSError) as error:
                raise PluginError(f"{own}: {line}: {error}") from None
            pieces.append(Piece(own, []))
        return pieces

    def _pieces(self, name, verb, rest, titled):
        if verb == "include":
            return [self._include(name, rest, titled)]
        if verb == "code":
            path = TREE / rest
            return [Piece(None, fenced(LANGUAGES[path.suffix], path.read_text().splitlines(), path.name))]
        if verb == "help":
            return [Piece(None, [
                line for words, text in helps()
                for line in (f"## walpost {' '.join(words)}".rstrip(), "", *fenced("text", text), "")
            ])]
        words = rest.split()
        if words[:1] == ["walpost"] and verb == "markdown":
            return [Piece(None, shifted(said(*words[1:]), 1 if titled else 0))]
        if words[:1] == ["walpost"] and verb == "text":
            return [Piece(None, fenced("ini" if words[-1] == "sample" else "text", said(*words[1:])))]
        raise KeyError(f"no such directive: {verb}")

    def _include(self, name, rest, titled):
        what, *options = re.split(r", +", rest)
        source, _, section = (part.strip() for part in what.partition("#"))
        if (source, section or None) in self.places:
            raise KeyError(f"{what} is on {self.places[source, section or None]} already")
        self.places[source, section or None] = name
        lines = lines_of(source)
        if section:
            lines = sections(lines)[section]
        if "no tables" in options:
            lines = without_tables(lines)
        if set(options) - {"no tables"}:
            raise KeyError(f"no such option: {', '.join(options)}")
        level = min((level for _, level, _ in headings(lines)), default=1)
        return Piece(source, shifted(lines, (2 if titled else 1) - level))

    def _check_sections(self):
        for source in WHOLE:
            for section in sections(lines_of(source)):
                if (source, section) not in self.places and (source, None) not in self.places:
                    raise PluginError(
                        f"{source}: the section \"{section}\" is on no page of the site. A line "
                        f"{{{{ include {source} # {section} }}}} in a page under deploy/docs/pages puts it there."
                    )

    # --- links

    def text(self, name):
        """The page as Markdown, links and all."""
        return "\n".join(line for piece in self.pages[name] for line in self._linked(name, piece)) + "\n"

    def _linked(self, name, piece):
        if piece.source is None:
            return piece.lines
        text = "\n".join(piece.lines)
        kept = [(match.start(), match.end()) for match in _blocks_and_spans(text)]

        def moved(match):
            if any(start <= match.start() < end for start, end in kept):
                return match[0]
            return match[1] + self._target(name, piece.source, match[2]) + match[3]

        return _LINK.sub(moved, text).split("\n")

    def _target(self, name, source, target):
        """Where a link of `source` leads when its text stands on page `name`."""
        if re.match(r"[a-z]+:", target):
            return target
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
        inside = Path(os.path.relpath(TREE / full, self.folder)).as_posix()
        if inside in self.pages or (full == source and self._is_own(source)):
            return target if path else f"#{anchor}"
        if (TREE / full).is_dir():
            full = posixpath.join(full, "README.md")
        page = self._page_of(full, anchor)
        if page is not None:
            to = posixpath.relpath(page, posixpath.dirname(name) or ".")
            return to + (f"#{anchor}" if anchor else "")
        if not (TREE / full).is_file() or (anchor and full.endswith(".md") and self._page_of(full, "")):
            raise PluginError(f"{source}: the link to {target} leads nowhere")
        if full.endswith(".md"):
            raise PluginError(
                f"{source}: the link to {target} leads to what is on no page of the site. A line "
                f"{{{{ include {full} }}}} in a page under deploy/docs/pages puts it there."
            )
        self.files.add(full)
        return posixpath.relpath(in_site(full), posixpath.dirname(name) or ".")

    def _is_own(self, source):
        return (TREE / source).is_relative_to(self.folder)

    def _page_of(self, source, anchor):
        if anchor:
            return self._anchors.get((source, anchor))
        return self.places.get((source, None)) or self.places.get((source, "top"))


def in_site(source):
    """As text, so that a browser shows it."""
    return f"{FILES}/{source}" + ("" if source.endswith(".txt") else ".txt")


def _blocks_and_spans(text):
    """Matches of what is code, where `](` is no link."""
    blocks = list(re.finditer(r"^( {0,3})(`{3,}|~{3,})[^\n]*\n.*?^ {0,3}\2[ \t]*$", text, re.DOTALL | re.MULTILINE))
    yield from blocks
    for match in _CODE_SPAN.finditer(text):
        if not any(block.start() <= match.start() < block.end() for block in blocks):
            yield match


# --- what MkDocs calls

_site = None


def on_config(config):
    global _site
    _site = Site(Path(config.docs_dir))
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files, config):
    texts = {name: _site.text(name) for name in _site.pages}
    for name, text in texts.items():
        files.get_file_from_path(name).content_string = text
    for source in sorted(_site.files):
        files.append(File.generated(config, in_site(source), abs_src_path=str(TREE / source),
                                    inclusion=InclusionLevel.NOT_IN_NAV))
    return files
