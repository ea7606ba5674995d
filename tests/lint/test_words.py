"""What we do not write: functions that are traps, waits in tests, traces of the workplace."""

import re
import subprocess

import words


def _tracked(tree, *suffixes):
    """Files under version control, and those that are about to be."""
    said = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=tree, check=True,
        capture_output=True, text=True,
    ).stdout
    paths = [tree / line for line in said.splitlines()]
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def test_no_banned_function_is_called(tree):
    found = [
        f"{path.relative_to(tree)}:{line}: {name}"
        for path in _tracked(tree, ".c", ".h")
        if path.is_relative_to(tree / "src") or path.is_relative_to(tree / "include")
        for line, name in words.calls(path.read_text(), words.BANNED)
        if (str(path.relative_to(tree)), name) not in words.ALLOWED
    ]
    assert not found


def test_each_type_of_ours_is_defined_once_in_the_program(tree):
    places = {}
    for path in _tracked(tree, ".c", ".h"):
        if path.is_relative_to(tree / "src") or path.is_relative_to(tree / "include"):
            for tag in words.tags(path.read_text()):
                places.setdefault(tag, []).append(str(path.relative_to(tree)))
    assert len(places) > 300
    assert not {tag: where for tag, where in places.items() if len(where) > 1}


def test_a_planted_tag_is_found():
    text = "struct wp_a {\n};\nenum wp_b { WP_B };\nunion wp_c\n{\n};\nstruct d {\n};\n\tstruct wp_e e;\n"
    assert words.tags(text) == ["wp_a", "wp_b", "wp_c"]


def test_a_planted_call_is_found():
    assert words.calls("int n = atoi(text);", words.BANNED) == [(1, "atoi")]
    assert words.calls("\n  strcpy (a, b);", words.BANNED) == [(2, "strcpy")]


def test_comments_strings_and_longer_names_are_no_calls():
    text = '/* atoi(x) */ char *s = "gets(x)"; wp_signal(1); o->signal(2); xstrcpy(a); // exit(1)'
    assert words.calls(text, words.BANNED) == []


def test_tests_let_time_pass_in_one_place_only(tree):
    word = "sle" + "ep("
    places = [
        path.relative_to(tree).as_posix()
        for path in _tracked(tree, ".py", ".c", ".h", "")
        if path.is_relative_to(tree / "tests") and re.search(r"(?<!\w)u?" + re.escape(word), path.read_text())
        and path.parent.name != "bench"
    ]
    assert set(places) <= {"tests/lib/waiting.py"}


def test_no_line_is_wider_than_the_others(tree):
    wide = [
        f"{path.relative_to(tree)}:{number}"
        for path in _tracked(tree, ".py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > 120
    ]
    assert not wide


def test_text_files_end_with_one_newline_and_hold_no_trailing_blanks(tree):
    bad = []
    for path in _tracked(tree, ".py", ".c", ".h", ".md", ".build", ".proto", ".sql", ".conf", ".txt"):
        text = path.read_text()
        if text and (not text.endswith("\n") or text.endswith("\n\n") or re.search(r"[ \t]+$", text, re.MULTILINE)):
            bad.append(str(path.relative_to(tree)))
    assert not bad


def test_python_compiles(tree):
    for path in _tracked(tree, ".py"):
        compile(path.read_text(), str(path), "exec")


def test_the_top_level_is_as_agreed(tree):
    allowed = {
        "meson.build", "meson_options.txt", "src", "include", "proto", "sql", "tests", "deploy", "README.md",
        "LICENSE", "CHANGELOG.md",
    }
    found = {path.relative_to(tree).parts[0] for path in _tracked(tree)}
    assert {name for name in found if not name.startswith(".")} <= allowed
