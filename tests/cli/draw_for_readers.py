#!/usr/bin/env python3
"""Draws sentences of documents, comments and functions at random, for a reader who does not know the project.

usage: draw_for_readers.py REPOSITORY SEED [COUNT]      COUNT of each kind, 30 unless given

The same seed draws the same places. Documents: Markdown files and man pages. Comments and functions: sources and headers
of engine, sim and calib. Each place is printed as FILE:LINE: TEXT, with the line in which the sentence begins. An item
of a list that continues a sentence is printed behind that sentence. The reader explains each after one reading.
"""
import pathlib
import random
import re
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the source
from writing_check import SOURCE_FOLDERS, comments_in, files_of, lines_of_paragraphs, text_of_man_page

FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:[\w:<>,&* ]+[&*> ])(\w+)\([^;{]*\)(?: const)?(?: override)?;(?:.*)$")
ABBREVIATION = re.compile(r"(?:^|[\s(])(?:al|Alg|cf|e\.g|Eq|Fig|i\.e|No|p|pp|Sec|vs)\.$")


def whole_sentences_of(paragraph):
    """Pairs of an offset and a sentence. Only full stops, question and exclamation marks outside of code end one."""
    masked = re.sub(r"`[^`]*`", lambda code: "`" * len(code.group(0)), paragraph)
    begin = 0
    for end in re.finditer(r"(?<=[.!?])\s+(?=[A-Z0-9\"(`*\[]|--)", masked):
        if not ABBREVIATION.search(masked[:end.start()]):
            yield begin, paragraph[begin:end.start()]
            begin = end.end()
    yield begin, paragraph[begin:]


def sentences_in(path):
    text = path.read_text()
    beginning = ""  # of the sentence that the items of a list continue
    for lines, is_item in lines_of_paragraphs(text_of_man_page(text) if path.suffix == ".1" else text, keeps_code=True):
        paragraph = " ".join(line for _, line in lines)
        numbers = [number for number, line in lines for _ in range(len(line) + 1)]  # of each character's line
        sentences = list(whole_sentences_of(paragraph))
        if not is_item:
            beginning = sentences[-1][1] if paragraph.endswith(":") else ""
        for offset, sentence in sentences:
            continues = is_item and offset == 0 and not sentence[0].isupper()
            if len(sentence.split()) >= 5:
                yield numbers[offset], f"{beginning} ... {sentence}" if continues and beginning else sentence


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
