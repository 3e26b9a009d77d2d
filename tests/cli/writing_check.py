#!/usr/bin/env python3
"""Holds documents to CONTRIBUTING.md's rules of style that a program can check.

usage: writing_check.py REPOSITORY [DOCUMENT...]; without documents, those of CHECKED.
Prints a line for each place and exits 1: lines of more than 120 characters, sentences of more than 30 words, sentences
that begin with "Of", and words that have a better one. Code, tables and links' targets are not looked at.
"""
import pathlib
import re
import sys

CHECKED = [
    "README.md",
    "ARCHITECTURE.md",
    "sim/job/README.md",
    "sim/page/README.md",
    "sim/python/README.md",
    "results/famous/README.md",
    "results/validation/README.md",
    "scenarios/questions/README.md",
]
MOST_COLUMNS = 120
MOST_WORDS = 30

# Word to avoid, word to write.
WORDS = {
    r"alike": "identical, equivalent",
    r"beside": "next to, with, compared with",
    r"share[sd]? out|sharing out": "divide",
    r"in words|words of a job": "command line, plain names",
    r"mend(s|ed|ing)?": "fix, correct",
    r"left open": "not given",
    r"so many": "number of",
    r"goes by|go by": "depends on, follows",
    r"stated": "given",
}


def prose_of(text, keeps_code=False):
    """Lines of prose with their numbers: without code, tables, headings and links' targets; code in a line is CODE."""
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
            yield number, ""
        elif is_code or line.startswith("    ") or line.lstrip().startswith(("|", "#", "![", "[![", "<!--")):
            yield number, ""
        else:
            shown = re.sub(r"\]\([^)]*\)", "]", line)
            yield number, shown if keeps_code else re.sub(r"`[^`]*`", "CODE", shown)


def paragraphs_of(text, keeps_code=False):
    """Pairs of a first line's number and a paragraph or a list's item."""
    start, words = 0, []
    for number, line in prose_of(text, keeps_code):
        if (not line.strip() or re.match(r"\s*([-*]|\d+\.) ", line)) and words:
            yield start, " ".join(words)
            words = []
        if line.strip():
            if not words:
                start = number
            words.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line).strip())
    if words:
        yield start, " ".join(words)


def sentences_of(paragraph):
    return re.split(r"(?<=[.!?:;])\s+(?=[A-Z\"(`*\[])", paragraph)


def places_of(text):
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        shown = re.sub(r"\]\([^)]*\)", "]", line)
        if not is_code and not line.lstrip().startswith("|") and len(shown) > MOST_COLUMNS:
            yield number, f"{len(shown)} characters in a line"
    for number, paragraph in paragraphs_of(text):
        for word, better in WORDS.items():
            for found in re.finditer(rf"\b({word})\b", paragraph, re.IGNORECASE):
                yield number, f'"{found.group(0)}": write {better}'
        for sentence in sentences_of(paragraph):
            words = sentence.split()
            if len(words) > MOST_WORDS:
                yield number, f'{len(words)} words in a sentence: "{" ".join(words[:8])} ..."'
            if words and words[0] == "Of":
                yield number, f'a sentence begins with "Of": "{" ".join(words[:8])} ..."'


def main(root, documents):
    places = 0
    for name in documents or CHECKED:
        for number, what in places_of((root / name).read_text()):
            print(f"{name}:{number}: {what}")
            places += 1
    if not places:
        print(f"writing check: {len(documents or CHECKED)} documents are in order")
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
