#!/usr/bin/env python3
"""Writes the type hints of lockstep.Job from the options of the installed core.

usage: type_hints.py FOLDER_OF_THE_PACKAGE OUTPUT
"""
import sys

sys.path.insert(0, sys.argv[1])

from lockstep._options import options_of  # noqa: E402

TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def hint(key, option):
    if "choices" in option:
        one = "Literal[" + ", ".join(repr(choice) for choice in option["choices"]) + "]"
    else:
        one = TYPES[option["type"]]
        if key in ("tokens", "price"):
            one = "str | float"
        elif option["negation"] and option["type"] != "boolean":
            one += " | bool"
    if key == "model":
        one = "str | dict | object"
    return f"{one} | Sequence[{one}] | None" if option["list"] else f"{one} | None"


def arguments(question):
    return ",\n".join(f"        {key}: {hint(key, option)} = ..." for key, option in options_of(question).items())


def attributes():
    return "\n".join(f"    {key}: {hint(key, option)}" for key, option in options_of("options").items())


TEXT = '''"""Made by sim/python/type_hints.py from the options of `simulate job`."""
from os import PathLike
from typing import Any, Literal, Sequence

class Job:
{attributes}
    read: str
    def __init__(
        self,
        *,
{arguments},
    ) -> None: ...
    @property
    def options(self) -> dict[str, Any]: ...
    def replace(
        self,
        *,
{arguments},
    ) -> Job: ...
    def command_line(self) -> str: ...
    @classmethod
    def from_file(cls, path: str | PathLike[str], format: str = "", **options: Any) -> Job: ...
    @classmethod
    def from_text(cls, text: str, format: str = "", **options: Any) -> Job: ...
    @classmethod
    def from_config(cls, config: Any, **options: Any) -> Job: ...
'''

with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(TEXT.format(attributes=attributes(), arguments=arguments("options")))
