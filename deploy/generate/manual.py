"""Prints a manual page from its template: what walpost says of itself stands in place of @WORDS@.

    manual.py PAGES TEMPLATE PAGE NAME=VALUE...

PAGES is the folder of the documentation's pages. NAME=VALUE are further words of the template: VERSION=0.1.0.
"""

import os
import re
import sys
import textwrap
import time

import facts

_ROFF = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq"}
_SENTENCE_ENDS = re.compile(r"(?<=[a-z0-9A-Z)\]][.:]) (?=[A-Z])")
_WIDTH = 60  # what is escaped and set in bold makes them longer


def escaped(text):
    """A line may be broken behind a `=` that a path follows."""
    return "".join(_ROFF.get(character, character) for character in text).replace("=/", "=\\:/")


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def flowing(text):
    """A paragraph as lines of roff, each sentence on lines of its own; what is between backticks is bold."""
    printed = []
    # A word that is set in bold may hold blanks and yet is not torn apart: no-break spaces, until it is wrapped.
    whole = re.sub(r"`([^`]*)`", lambda match: "`" + match[1].replace(" ", "\0") + "`", " ".join(text.split()))
    for sentence in _SENTENCE_ENDS.split(whole):
        wrapped = textwrap.wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False)
        printed += ["".join(bold(part) if index % 2 else escaped(part) for index, part in enumerate(_parts(line)))
                    for line in wrapped]
    return "\n".join(f"\\&{line}" if line[0] in ".'" else line for line in printed)


def _parts(line):
    return line.replace("\0", " ").split("`")


def markdown(text):
    """Paragraphs and lists, as help and reference have them."""
    printed = []
    for part in text.split("\n\n"):
        if part.startswith("- "):
            items = re.split(r"^- ", part, flags=re.MULTILINE)[1:]
            printed.append("\n".join(f".IP \\(bu 3\n{flowing(item)}" for item in items))
        else:
            printed.append(f"{'.PP' if printed else ''}\n{flowing(part)}".lstrip())
    return "\n".join(printed)


def indented(*printed):
    return "\n".join([".RS", *printed, ".RE"])


def sentence(text):
    """Help texts begin small and end without a full stop."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def with_argument(name, argument):
    return bold(name) + (f" {italic(argument)}" if argument else "")


def option_entry(option):
    # One that may be left out stands before the help: it is none for completions.
    may_be, text = re.fullmatch(r"(\[[A-Z]+\])? *(.*)", option.help, re.DOTALL).groups()
    names = [with_argument(name, option.argument or may_be) for name in (option.short, option.name) if name]
    return f".TP\n{', '.join(names)}\n{flowing(sentence(text))}"


def usage(command):
    words = [bold(" ".join(("walpost", *command.words)))]
    words += [f"[{with_argument(option.name, option.argument)}]" for option in command.own_options]
    if command.arguments:
        bare = italic(command.arguments.strip("[]"))
        words.append(f"[{bare}]" if command.arguments.startswith("[") else bare)
    return " ".join(words)


def command_section(command):
    printed = [f".SS {bold(' '.join(('walpost', *command.words)))}", usage(command), ".PP", markdown(command.about)]
    printed += map(option_entry, command.own_options)
    printed += [".PP", "Exit status:", ".RS 4"]
    for code, meaning in command.exits:
        printed += [f".TP 4\n{code}\n{flowing(sentence(meaning))}"]
    return "\n".join([*printed, ".RE"])


def commands(program):
    return "\n".join(map(command_section, program.leaves()))


def shared_options(program):
    return "\n".join(option_entry(program.shared_option(name)) for name in (facts.CONFIG, facts.SET, facts.HELP))


def key_entry(key):
    if key.default is None:
        default = "It must be set, but may be empty"
    elif key.default == "":
        default = "Default: empty"
    else:
        default = f"Default: `{key.default}`"
    # How sizes and durations are written is told once.
    told = f"Example: `{key.example}`. {default}. Allowed: {key.allowed.split(': ')[0]}. Variable: `{key.variable}`."
    printed = [".TP", bold(key.name), flowing(key.help), ".br", flowing(told)]
    return "\n".join(printed + [flowing(note) for note in key.notes])


def sections(program):
    printed = []
    for section in program.sections:
        printed.append(f".SS [{section.name}]")
        if section.text:
            printed.append(markdown(section.text))
        printed += map(key_entry, section.keys)
    return "\n".join(printed)


def date():
    """Of the sources, where a packager says it."""
    return time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))


def page(template, program, more):
    words = {
        "DATE": date(), "COMMANDS": commands(program), "SHARED_OPTIONS": shared_options(program),
        "REFERENCE_HEAD": markdown(program.reference_head), "SECTIONS": sections(program), **more,
    }
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], template)


def main(pages, template, target, *more):
    with open(template, encoding="utf-8") as opened:
        text = page(opened.read(), facts.of(pages), dict(word.split("=", 1) for word in more))
    with open(target, "w", encoding="utf-8") as opened:
        opened.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
