#!/usr/bin/env python3
"""Every shipped scenario, cluster and trace of spot nodes against the committed JSON Schemas, by python3-jsonschema; what a schema must refuse,
is refused. Exit code 77, with the reason, where the validator is missing.

usage: validate.py REPOSITORY
"""
import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError as error:
    print(f"skipped: {error}; Debian's package python3-jsonschema has it")
    sys.exit(77)

root = pathlib.Path(sys.argv[1])


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def validator(name):
    schema = load(root / "scenarios/schema" / f"{name}.schema.json")
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def files_of(schema):
    for path in sorted((root / "scenarios").rglob("*.json")):
        document = load(path)
        if isinstance(document, dict) and document.get("schema") == schema:
            yield path, document


failures = []
for name, least in (("scenario", 10), ("cluster", 10), ("availability", 1)):
    checker = validator(name)
    files = list(files_of(f"lockstep/{name}/1"))
    if len(files) < least:
        failures.append(f"{len(files)} files of {name}")
    for path, document in files:
        for problem in checker.iter_errors(document):
            failures.append(f"{path}: /{'/'.join(map(str, problem.absolute_path))}: {problem.message[:200]}")

scenario = load(root / "scenarios/imagenet_64k.json")
scenarios = validator("scenario")
for what, change in (
    ("an unknown key", lambda s: s.update(speed=1)),
    ("a missing key", lambda s: s.pop("gpus")),
    ("a number without a unit", lambda s: s["compute"].update(launch_overhead=5)),
    ("an unknown choice", lambda s: s["communication"].update(all_reduce="rings")),
    ("a number out of range", lambda s: s.update(iterations=0)),
):
    changed = copy.deepcopy(scenario)
    change(changed)
    if scenarios.is_valid(changed):
        failures.append(f"the schema takes {what}")

print("\n".join(failures) or "all shipped scenarios, clusters and traces keep to their schemas")
sys.exit(1 if failures else 0)
