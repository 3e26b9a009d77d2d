#!/usr/bin/env python3
"""compilation_database_check.py SOURCE_DIR BUILD_DIR FOLDER...: editors find how each source is compiled, also of rooms whose files are
compiled together: every source of the folders has an entry that compiles it."""
import json
import pathlib
import sys


def main(source, build, *folders):
    entries = json.loads(pathlib.Path(build, "clangd", "compile_commands.json").read_text())
    commands = {entry["file"]: entry["command"] for entry in entries}
    sources = [str(path) for folder in filter(None, folders) for path in pathlib.Path(source, folder).glob("*.cpp")]
    missing = [path for path in sources if f" -c {path}" not in commands.get(path, "")]
    for path in missing:
        print(f"{path}: no entry in build/clangd/compile_commands.json")
    print(f"compilation database: {len(entries)} entries, {len(sources)} sources looked for")
    return 1 if missing or not sources else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
