#!/usr/bin/env python3
"""expand_unity.py IN OUT: a compilation database with an entry for every source.

CMake lists the files that it makes of several sources (LOCKSTEP_UNITY). Editors and clangd look for the sources
themselves: each gets the entry of the file that includes it. OUT is written only if its content changes.
"""
import json
import pathlib
import re
import sys


def sources_of(entry):
    if "/Unity/unity_" not in entry["file"]:
        return [entry["file"]]
    return re.findall(r'^#include "(.+)"', pathlib.Path(entry["file"]).read_text(), re.MULTILINE)


def expanded(entries):
    for entry in entries:
        for source in sources_of(entry):
            yield {**entry, "file": source, "command": entry["command"].replace(entry["file"], source)}


def main(read, write):
    text = json.dumps(list(expanded(json.loads(pathlib.Path(read).read_text()))), indent=1) + "\n"
    path = pathlib.Path(write)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
