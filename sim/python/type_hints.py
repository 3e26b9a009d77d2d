#!/usr/bin/env python3
"""Writes the type hints of lockstep.Job, predict and plan from the options of the installed core.

usage: type_hints.py FOLDER_OF_THE_PACKAGE OUTPUT_FOLDER
"""
import pathlib
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
    def from_file(cls, path: str | PathLike[str], format: str = "", free_split: bool = False, **options: Any) -> Job: ...
    @classmethod
    def from_text(cls, text: str, format: str = "", free_split: bool = False, **options: Any) -> Job: ...
    @classmethod
    def from_config(cls, config: Any, format: str = "", free_split: bool = False, **options: Any) -> Job: ...
'''

PREDICTION = '''"""Made by sim/python/type_hints.py from the options of `simulate job`."""
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping, Sequence

from ._job import Job

def predict(
        job: Job | None = None,
        *,
{arguments},
) -> Prediction: ...
def predict_many(
    jobs: Iterable[Job | dict[str, Any]],
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[dict[str, Any]]: ...

class Prediction(Mapping[str, Any]):
    job: Job
    samples_per_s: float
    samples_per_s_low: float
    samples_per_s_high: float
    def __init__(self, job: Job, answered: Any) -> None: ...
    def __getitem__(self, key: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, key: str) -> Any: ...
    @property
    def rows(self) -> list[dict[str, Any]]: ...
    @property
    def refused(self) -> list[dict[str, Any]]: ...
    @property
    def memory(self) -> dict[str, Any] | None: ...
    @property
    def assumptions(self) -> list[dict[str, Any]]: ...
    @property
    def splits(self) -> list[dict[str, Any]]: ...
    @property
    def breakdown(self) -> dict[str, float]: ...
    @property
    def iteration_s(self) -> float: ...
    def layers(self) -> list[dict[str, Any]]: ...
    def timeline(self) -> list[dict[str, Any]]: ...
    def scenario(self) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def table(self) -> str: ...
'''

ANSWERS = '''"""Made by sim/python/type_hints.py from the options of `plan job`."""
from os import PathLike
from typing import Any, Literal, Sequence

class Plan(Sequence[dict[str, Any]]):
    def __init__(self, document: dict[str, Any]) -> None: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> int: ...
    @property
    def recommended(self) -> dict[str, Any] | None: ...
    @property
    def text(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

def plan(
        *,
{arguments},
) -> Plan: ...
def all_reduce(
    *,
    gpu: str | None = ...,
    gpus: int | Sequence[int] | None = ...,
    bytes: int | str | Sequence[int | str] | None = ...,
    network: str | None = ...,
    gpus_per_node: int | None = ...,
    link: str | None = ...,
    algorithm: str | None = ...,
    cluster: str | PathLike[str] | None = ...,
) -> list[dict[str, Any]]: ...
def loss(**options: Any) -> list[dict[str, Any]]: ...
def kernel(kind: Literal["gemm", "attention", "experts", "collective"], **options: Any) -> dict[str, Any]: ...
def names() -> dict[str, list[str]]: ...
'''

folder = pathlib.Path(sys.argv[2])
(folder / "_job.pyi").write_text(TEXT.format(attributes=attributes(), arguments=arguments("options")), encoding="utf-8")
(folder / "_prediction.pyi").write_text(PREDICTION.format(arguments=arguments("options")), encoding="utf-8")
(folder / "_answers.pyi").write_text(ANSWERS.format(arguments=arguments("plan_options")), encoding="utf-8")
