#!/usr/bin/env python3
"""Links of the project's documents lead to files that are there.

usage: links_check.py REPOSITORY; prints a line for every link that does not, and exits 1.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
ELSEWHERE = ("http://", "https://", "mailto:")
BUILT = ("build", ".git", "node_modules")


def documents_of(root):
    for path in sorted(root.rglob("*.md")):
        if not any(part.startswith(BUILT) for part in path.relative_to(root).parts):
            yield path


def dead_links(root):
    for path in documents_of(root):
        for line, text in enumerate(path.read_text().splitlines(), start=1):
            for target in LINK.findall(text):
                if not target.startswith(ELSEWHERE) and not (path.parent / target).exists():
                    yield f"{path.relative_to(root)} line {line}: {target} is not there"


def main(root):
    dead = list(dead_links(root))
    print("\n".join(dead) or f"links check: {len(list(documents_of(root)))} documents are in order")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
