"""Prints a shell's completions from their template: what walpost says of itself stands in place of @WORDS@.

    completions.py bash|zsh|fish PAGES TEMPLATE TARGET

PAGES is the folder of the documentation's pages.
"""

import re
import sys

import facts


def shell_options(command):
    """Every spelling of every option, with = where a value follows."""
    return [f"{name}{'=' if option.argument else ''}" for option in command.options
            for name in (option.short, option.name) if name]


def takes_files(command):
    return command.arguments is not None and command.arguments.strip("[]") == "FILE"


def settings(program):
    """(key, help, values): the keys of the table but secrets, and what must be set of librdkafka's."""
    found = [(key.name, first_sentence(key.help), key.values) for key in program.keys() if not key.is_secret]
    return found + [("kafka.bootstrap.servers", "Brokers to ask for the others, host:port, comma-separated.", ())]


def first_sentence(text):
    return re.split(r"(?<=[a-z0-9)\]A-Z])[.:] ", " ".join(text.split()) + " ")[0].rstrip(".") + "."


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def indented(depth, lines):
    return "\n".join("\t" * depth + line for line in lines)


class Bash:
    def __init__(self, program):
        leaves, groups = program.leaves(), [c for c in program.commands if c.commands]
        self.words = {
            "COMMANDS": " ".join(c.words[0] for c in program.commands) + " --help --version",
            "GROUPS": "\n".join(map(self.group, groups)),
            "OPTIONS": indented(1, [f"{quoted(' '.join(c.words))}) echo {quoted(' '.join(shell_options(c)))} ;;"
                                    for c in leaves]),
            "KEYS": " ".join(key for key, _, _ in settings(program)),
            "VALUES": indented(1, [f"{key}) values={quoted(' '.join(values))} ;;"
                                   for key, _, values in settings(program) if values]),
            "FILES": indented(1, [" | ".join(quoted(" ".join(c.words)) for c in leaves if takes_files(c))]),
        }

    @staticmethod
    def group(command):
        return indented(1, [
            f"{command.words[0]})",
            "\tif ((cword == 2)); then",
            f"\t\tCOMPREPLY=($(compgen -W '{' '.join(c.words[1] for c in command.commands)} --help' -- \"$cur\"))",
            "\t\treturn",
            "\tfi",
            '\tcommand+=" ${words[2]:-}"',
            "\t;;",
        ])


class Zsh:
    def __init__(self, program):
        self.words = {
            "COMMANDS": self.described(program.commands),
            "GROUPS": "\n".join(self.group(c) for c in program.commands if c.commands),
            "LEAVES": "\n".join(map(self.leaf, program.leaves())),
            "KEYS": indented(2, [quoted(f"{key}:{self.plain(help)}") for key, help, _ in settings(program)]),
            "VALUES": indented(1, [f"{key}) compadd -- {' '.join(values)} ;;"
                                   for key, _, values in settings(program) if values]),
        }

    @staticmethod
    def plain(text):
        """As it may stand in a description."""
        return re.sub(r"([:\[\]\\])", r"\\\1", text.replace("`", ""))

    def described(self, commands):
        return indented(2, [quoted(f"{c.words[-1]}:{self.plain(c.summary)}") for c in commands])

    def group(self, command):
        name = command.words[0]
        return f"""_walpost_{name}() {{
	local curcontext=$curcontext state line
	local -A opt_args
	local -a commands
	commands=(
{self.described(command.commands)}
	)
	_arguments -C ': :->command' '*:: :->arguments'
	case $state in
	command) _describe -t commands 'walpost {name} command' commands ;;
	arguments) (( $+functions[_walpost_{name}_$line[1]] )) && _walpost_{name}_$line[1] ;;
	esac
}}
"""

    def leaf(self, command):
        lines = [line for option in command.options for line in self.option(option)]
        if command.arguments:
            optional = ":" if command.arguments.startswith("[") else ""
            bare = command.arguments.strip("[]")
            lines.append(quoted(f":{optional}{bare}:{'_files' if takes_files(command) else ' '}"))
        body = " \\\n\t\t".join(lines)
        return f"_walpost_{'_'.join(command.words)}() {{\n\t_arguments \\\n\t\t{body}\n}}\n"

    def option(self, option):
        spellings = [name for name in (option.short, option.name) if name]
        many = option.name == facts.SET
        for name in spellings:
            rest = ""
            if option.argument:
                action = {facts.CONFIG: "_files", facts.SET: "__walpost_settings"}.get(option.name, " ")
                rest = f":{option.argument.replace(':', ' ')}:{action}"
            equals = "=" if option.argument and name.startswith("--") else ""
            others = "*" if many else f"({' '.join(spellings)})"
            yield quoted(f"{others}{name}{equals}[{self.plain(option.help)}]{rest}")


class Fish:
    def __init__(self, program):
        self.words = {
            "KEYS": " \\\n".join(f"            {self.quoted(key + '=')} {self.quoted(help)}"
                                  for key, help, _ in settings(program)),
            "VALUES": " \\\n".join(f"            {' '.join(f'{key}={value}' for value in values)}"
                                    for key, _, values in settings(program) if values),
            "COMPLETIONS": "\n".join([
                *(self.named(c) for c in program.commands),
                *(self.named(c) for group in program.commands for c in group.commands),
                *(line for c in program.leaves() for line in self.leaf(c)),
            ]),
        }

    @staticmethod
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def named(self, command):
        *above, name = command.words
        condition = self.quoted(" ".join(["__walpost_command_of", *above]))
        return f"complete -c walpost -n {condition} -a {name} -d {self.quoted(command.summary)}"

    def leaf(self, command):
        condition = self.quoted(" ".join(["__walpost_at", *command.words]))
        for option in command.options:
            line = f"complete -c walpost -n {condition}"
            if option.short:
                line += f" -s {option.short[1:]}"
            line += f" -l {option.name[2:]}"
            if option.name == facts.CONFIG:
                line += " -r -F"
            elif option.name == facts.SET:
                line += " -x -a '(__walpost_settings)'"
            elif option.argument:
                line += " -x"
            yield f"{line} -d {self.quoted(option.help)}"
        if takes_files(command):
            yield f"complete -c walpost -n {condition} -F"


def main(shell, pages, template, target):
    words = {"bash": Bash, "zsh": Zsh, "fish": Fish}[shell](facts.of(pages)).words
    with open(template, encoding="utf-8") as opened:
        text = re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], opened.read())
    with open(target, "w", encoding="utf-8") as opened:
        opened.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
