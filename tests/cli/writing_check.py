#!/usr/bin/env python3
"""Holds documents, man pages and comments to CONTRIBUTING.md's rules of style that a program can check.

usage: writing_check.py REPOSITORY [DOCUMENT...]; without documents, all of the repository and the comments of its sources

Documents: lines of more than 120 characters, sentences of more than 30 words, sentences that begin with "Of", and words
that have a better one. Code, tables and links' targets are not looked at. Man pages: the last two. Prints a line for
each place and exits 1.

Comments of engine, sim and calib are counted by the same rules, and so are those without a verb. There are many old ones,
so each count has a limit, MOST_COMMENTS. If a count falls, lower its limit.
"""
import os
import pathlib
import re
import sys

# Documents that are not held to the rules, and why.
EXCEPTIONS = {
    "results/benchmarks/2026-11-22/scale.md": "raw data, written by scale.py",
    "results/benchmarks/2026-11-23/scale.md": "raw data, written by scale.py",
    "results/benchmarks/2026-11-28/scale.md": "raw data, written by scale.py",
    "scenarios/launch/published/README.md": "its lists are written by test_launch",
}
SKIPPED_FOLDERS = ("build", ".git", "node_modules", "third_party_headers", ".carry")
SOURCE_FOLDERS = ("engine", "sim", "calib")
MOST_COLUMNS = 120
MOST_WORDS = 30
MOST_COMMENTS = {"begins with Of": 0, "a word that has a better one": 1, "more than 30 words": 55, "no verb": 0}

# Word to avoid, word to write.
WORDS = {
    r"alike": "identical, equivalent",
    r"beside": "next to, with, compared with",
    r"share[sd]? out|sharing out": "divide",
    r"in words|words of a job": "command line, plain names",
    r"mend(s|ed|ing)?": "fix, correct",
    r"left open": "not given",
    r"so many": "number of",
    r"goes by|go by": "depends on, follows, falls back to",
    r"stated": "given",
    r"what is usual|is usual of": "default, prior",
    r"bounds that hold": "prediction interval",
    r"left out by source": "leave-one-source-out error",
}
VERBS = set("""is are was were be been being has have had do does did can could may might must shall should will would cannot
    isn't aren't doesn't don't needn't let lets""".split())
VERB_STEMS = set("""add allow apply ask assume average avoid become begin belong bind build call cancel carry change check choose
    close come compare compute contain continue copy cost count cover cross decide default define depend describe differ
    distribute divide double draw drop end enter equal exceed exchange exist exit expect fail fall fetch fill find finish fit
    fold follow forget form free gather get give go grow halve happen hide hold ignore include join keep know lack last lead
    learn leave lie limit link list live load lock look lose lower make map match mean measure meet merge mix move name need
    note occur open overlap own pass pay pick place play point predict print produce pull push put raise reach read receive
    reduce refer refuse reject remain remember remove repeat replace replay report represent require reserve reset rest
    return reuse rise round run save say scale search see seem send serve set share show shrink sit skip solve sort split
    stand start state stay stop store sum swap take tell test throw time touch train treat turn type update use vary visit
    wait walk want warn watch weigh widen work wrap write yield""".split())
IRREGULAR_VERBS = set("""began begun came chose chosen fell found gave given gone got grew held kept knew known laid led left
    lost made meant met ran rose said sat saw seen sent shown shrank stood taken thought told took went written
    wrote""".split())


def has_verb(sentence):
    """A coarse test: a common verb in one of its forms, or any word that ends in -ed. Nouns that look so pass, too."""
    for word in re.findall(r"[a-z']+", sentence.lower()):
        if word in VERBS or word in IRREGULAR_VERBS or word.endswith("ed") and len(word) > 4:
            return True
        stems = (word, re.sub(r"s$", "", word), re.sub(r"es$", "", word), re.sub(r"ies$", "y", word))
        if VERB_STEMS.intersection(stems):
            return True
    return False


def prose_of(text, keeps_code=False):
    """Lines of prose with their numbers: without code, tables, headings and links' targets; code in a line is CODE."""
    is_code, is_prose = False, False  # is_prose: the line before; four spaces then continue a list's item
    for number, line in enumerate(text.splitlines(), start=1):
        shown = ""
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not (is_code or line.startswith("    ") and not is_prose
                  or line.lstrip().startswith(("|", "#", "![", "[![", "<!--"))):
            shown = re.sub(r"\]\([^)]*\)", "]", line)
            shown = shown if keeps_code else re.sub(r"`[^`]*`", "CODE", shown)
        is_prose = bool(shown.strip())
        yield number, shown


ITEM = re.compile(r"^\s*([-*]|\d+\.) ")


def lines_of_paragraphs(text, keeps_code=False):
    """The numbered lines of each paragraph or list's item, and True for an item."""
    lines, is_item = [], False
    for number, line in prose_of(text, keeps_code):
        if (not line.strip() or ITEM.match(line)) and lines:
            yield lines, is_item
            lines = []
        if line.strip():
            if not lines:
                is_item = ITEM.match(line) is not None
            lines.append((number, ITEM.sub("", line).strip()))
    if lines:
        yield lines, is_item


def paragraphs_of(text, keeps_code=False):
    """Pairs of a first line's number and a paragraph or a list's item."""
    for lines, _ in lines_of_paragraphs(text, keeps_code):
        yield lines[0][0], " ".join(line for _, line in lines)


def sentences_of(paragraph):
    return re.split(r"(?<=[.!?:;])\s+(?=[A-Z\"(`*\[])", paragraph)


def number_of_words(sentence):
    return sum(re.search(r"[A-Za-z]", word) is not None for word in sentence.split())


def prose_places_of(number, paragraph):
    for word, better in WORDS.items():
        for found in re.finditer(rf"\b({word})\b", paragraph, re.IGNORECASE):
            yield number, f'"{found.group(0)}": write {better}'
    for sentence in sentences_of(paragraph):
        beginning = " ".join(sentence.split()[:8])
        if number_of_words(sentence) > MOST_WORDS:
            yield number, f'{number_of_words(sentence)} words in a sentence: "{beginning} ..."'
        if sentence.startswith("Of "):
            yield number, f'a sentence begins with "Of": "{beginning} ..."'


def places_of(text):
    is_code = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        shown = re.sub(r"\]\([^)]*\)", "]", line)
        if not is_code and not line.lstrip().startswith(("|", "<!--")) and len(shown) > MOST_COLUMNS:
            yield number, f"{len(shown)} characters in a line"
    for number, paragraph in paragraphs_of(text):
        yield from prose_places_of(number, paragraph)


def text_of_man_page(text):
    """Its prose: macros of fonts are text, other macros end a paragraph, escapes are fonts."""
    lines = (line[line.index(" "):].replace('"', "") if re.match(r"\.(B|I|BR|IR|RB|RI|BI|IB) ", line) else line
             for line in text.splitlines())
    return "\n".join("" if line.startswith((".", "'")) else re.sub(r"\\f.|\\", "", line.replace("\\(dq", '"'))
                     for line in lines)


def files_of(root, *suffixes):
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(SKIPPED_FOLDERS)]
        paths += [pathlib.Path(folder, name) for name in files if name.endswith(suffixes)]
    return sorted(paths)


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
            yield start, " ".join(block), ""
            block, start = [], 0
        behind = re.match(r"(.*\S)\s+///?<? (.*)", line)
        if behind and '"' not in line and not behind.group(2).startswith("namespace"):
            yield number, behind.group(2), behind.group(1).strip()
    if block:
        yield start, " ".join(block), ""


def faults_of_comment(comment, code):
    """The rules that a comment breaks. A comment behind code needs no verb."""
    comment = re.sub(r"`[^`]*`", "CODE", comment)
    sentences = sentences_of(comment)
    if any(re.search(rf"\b({word})\b", comment, re.IGNORECASE) for word in WORDS):
        yield "a word that has a better one"
    if any(sentence.startswith("Of ") for sentence in sentences):
        yield "begins with Of"
    if any(number_of_words(sentence) > MOST_WORDS for sentence in sentences):
        yield "more than 30 words"
    if not code and number_of_words(comment) >= 6 and not any(map(has_verb, sentences)):
        yield "no verb"


def check_comments(root):
    """Counts faults of comments; lists those of a rule that is over its limit."""
    places = {rule: [] for rule in MOST_COMMENTS}
    for folder in SOURCE_FOLDERS:
        for path in files_of(root / folder, ".hpp", ".cpp", ".cu", ".cuh"):
            for number, comment, code in comments_in(path):
                for rule in faults_of_comment(comment, code):
                    places[rule].append(f"{path.relative_to(root)}:{number}: {rule}: {comment[:100]}")
    over = [rule for rule in places if len(places[rule]) > MOST_COMMENTS[rule]]
    for rule in over:
        print("\n".join(places[rule]))
        print(f"comments, {rule}: {len(places[rule])}, at most {MOST_COMMENTS[rule]}; correct those that you wrote")
    if not over:
        print("writing check: comments " + ", ".join(f"{rule} {len(places[rule])}" for rule in places))
    return not over


def main(root, documents):
    checked = [root / name for name in documents] or [
        path for path in files_of(root, ".md") if str(path.relative_to(root)) not in EXCEPTIONS]
    places = 0
    for path in checked:
        for number, what in places_of(path.read_text()):
            print(f"{path.relative_to(root)}:{number}: {what}")
            places += 1
    for path in [] if documents else files_of(root, ".1"):
        for number, paragraph in paragraphs_of(text_of_man_page(path.read_text()).replace("\nOf ", "\n\nOf ")):
            for _, what in prose_places_of(number, paragraph):
                if "words in a sentence" in what:  # their sentences may begin with an option
                    continue
                print(f"{path.relative_to(root)}:{number}: {what}")
                places += 1
    if not places:
        print(f"writing check: {len(checked)} documents are in order")
    return 0 if (documents or check_comments(root)) and not places else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
