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

sys.dont_write_bytecode = True  # no __pycache__ in the source
from writing_check import SOURCE_FOLDERS, comments_in, files_of, paragraphs_of, sentences_of, text_of_man_page

FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:[\w:<>,&* ]+[&*> ])(\w+)\([^;{]*\)(?: const)?(?: override)?;(?:.*)$")


def sentences_in(path):
    text = path.read_text()
    for number, paragraph in paragraphs_of(text_of_man_page(text) if path.suffix == ".1" else text, keeps_code=True):
        for sentence in sentences_of(paragraph):
            if len(sentence.split()) >= 5:
                yield number, sentence


def commented_code_in(path):
    for number, comment, code in comments_in(path):
        yield number, f"{code}  // {comment}" if code else comment


def functions_in(path):
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if FUNCTION.match(line.strip()) and "return" not in line.split("(")[0]:
            yield number, line.strip()


def places_of(paths, extract):
    return [(path, number, text) for path in paths for number, text in extract(path)]


def main(root, seed, count):
    sources = [path for folder in SOURCE_FOLDERS for path in files_of(root / folder, ".hpp", ".cpp", ".cu", ".cuh")]
    headers = [path for path in sources if path.suffix == ".hpp"]
    draw = random.Random(seed)
    for title, places in (("sentences", places_of(files_of(root, ".md", ".1"), sentences_in)),
                          ("comments", places_of(sources, commented_code_in)),
                          ("functions", places_of(headers, functions_in))):
        print(f"{title}, {count} of {len(places):,}, seed {seed}")
        for path, number, text in draw.sample(places, min(count, len(places))):
            print(f"{path.relative_to(root)}:{number}: {text}")
        print()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) == 4 else 30)
