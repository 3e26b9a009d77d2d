#!/usr/bin/env python3
"""Draws sentences of documents, comments and functions at random, for a reader who does not know the project.

usage: draw_for_readers.py REPOSITORY SEED [COUNT]      COUNT of each kind, 30 unless given

The same seed draws the same places. Documents: Markdown files and man pages. Comments and functions: sources and headers
of engine, sim and calib. Each place is printed as FILE:LINE: TEXT. The reader explains each after one reading.
"""
import pathlib
import random
import re
import sys

from writing_check import paragraphs_of, sentences_of

FOLDERS = ("engine", "sim", "calib")
FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:[\w:<>,&* ]+[&*> ])(\w+)\([^;{]*\)(?: const)?(?: override)?;(?:.*)$")


def documents_of(root):
    names = [*root.glob("**/*.md"), *root.glob("**/*.1")]
    skipped = ("build", ".git", "node_modules", "third_party_headers", ".carry")
    return sorted(path for path in names if not any(part.startswith(skipped) for part in path.relative_to(root).parts))


def sentences_in(path):
    text = path.read_text()
    if path.suffix == ".1":  # a man page: macros of fonts are text, other macros end a paragraph, escapes are fonts
        lines = (re.sub(r"^\.(B|I|BR|IR|RB|RI) ", "", line) for line in text.splitlines())
        text = "\n".join("" if line.startswith((".", "'")) else re.sub(r"\\f.|\\", "", line) for line in lines)
    for number, paragraph in paragraphs_of(text, keeps_code=True):
        for sentence in sentences_of(paragraph):
            if len(sentence.split()) >= 5:
                yield number, sentence


def comments_in(path):
    """Blocks of // lines, each block as one comment with its first line's number; a comment behind code with its code."""
    block, start = [], 0
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        whole = re.match(r"\s*///?<? ?(.*)", line)
        if whole:
            start = start or number
            block.append(whole.group(1))
            continue
        if block:
            yield start, " ".join(block)
            block, start = [], 0
        behind = re.match(r"(.*\S)\s+///?<? (.*)", line)
        if behind and '"' not in line and not behind.group(2).startswith("namespace"):
            yield number, f"{behind.group(1).strip()}  // {behind.group(2)}"
    if block:
        yield start, " ".join(block)


def functions_in(path):
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if FUNCTION.match(line.strip()) and "return" not in line.split("(")[0]:
            yield number, line.strip()


def places_of(paths, extract):
    return [(path, number, text) for path in paths for number, text in extract(path)]


def main(root, seed, count):
    sources = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*")
                     if path.suffix in (".hpp", ".cpp", ".cu", ".cuh"))
    headers = [path for path in sources if path.suffix == ".hpp"]
    draw = random.Random(seed)
    for title, places in (("sentences", places_of(documents_of(root), sentences_in)),
                          ("comments", places_of(sources, comments_in)),
                          ("functions", places_of(headers, functions_in))):
        print(f"{title}, {count} of {len(places):,}, seed {seed}")
        for path, number, text in draw.sample(places, min(count, len(places))):
            print(f"{path.relative_to(root)}:{number}: {text}")
        print()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) == 4 else 30)
