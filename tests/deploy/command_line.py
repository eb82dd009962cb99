"""The command line of agent-sandbox as its own --help describes it."""
import functools
import os
import pathlib
import re
import subprocess

import time_scale

BUILD = pathlib.Path(os.environ.get("AGENT_SANDBOX_BUILD", ""))
BINARY = os.environ.get("AGENT_SANDBOX_BIN", str(BUILD / "server" / "cli" / "agent-sandbox"))
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "server" / "deploy"
# Every subcommand has these, so they are not repeated for each.
HELP = {"-h", "--help"}


@functools.cache
def help_text(*subcommand):
    return subprocess.run([BINARY, *subcommand, "--help"], capture_output=True, text=True, check=True, timeout=time_scale.scaled(60)).stdout


def section(text, title):
    """The indented lines below `title`."""
    found = re.search(rf"^{title}:\n((?:  .*\n|\n(?=  ))*)", text, re.MULTILINE)
    return found.group(1) if found else ""


def subcommands(*parents):
    """("exec",), ("lessons",), ("lessons", "list") and so on; () is the program itself."""
    yield parents
    for name in re.findall(r"^  (\w\S*)", section(help_text(*parents), "Subcommands"), re.MULTILINE):
        yield from subcommands(*parents, name)


def options(*subcommand):
    """All options of one subcommand, short and long ones alike."""
    names = re.findall(r"^  (-\S+)", section(help_text(*subcommand), "Options"), re.MULTILINE)
    return {option.partition(":")[0] for name in names for option in name.split(",") if option.startswith("-")}


def options_by_subcommand():
    return {words: options(*words) for words in subcommands()}
