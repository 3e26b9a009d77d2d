#!/usr/bin/env python3
"""Writes the tables of sources.md from the output of `validate --leave-out`.

usage: sources_tables.py [--check]     --check: writes nothing; exits with 1 if the tables differ

Reads the file that sources.md links as left_out.txt.gz.
"""
import gzip
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).with_name("sources.md")
GROUP = re.compile(r"(\S.{22})  (facts|results) +(\d+) +(\d+) +([\d.]+ %) +([\d.]+ %) +([\d.]+ %)")
HEADING = re.compile(r"(\S.*), (facts|results)$")
SOURCE = re.compile(r"  (.{60}) +(\d+) +([\d.]+ %), with its sign +(-?[\d.]+ %), inside +([\d.]+ %)")
CLASSES = "rates of transformers by class"
CLASS = re.compile(r"(.{32}) +(\d+) +(\d+) +([\d.]+ %) +([\d.]+ %)$")
TRANSFORMERS = ("throughput of sequences", "facts")
LATER = "scored apart, never fitted"


def read(lines):
    """Returns rows of groups, rows of sources by (group, from), and rows of sources that are never fitted."""
    begin = next(i for i, line in enumerate(lines) if line.startswith("left out by source"))
    apart = lines.index(LATER)
    groups = [[cell.strip() for cell in match.groups()] for line in lines[begin:apart] if (match := GROUP.match(line))]
    return groups, sources_in(lines[begin:apart]), sources_in(lines[apart:])


def sources_in(lines):
    found, key = {}, None
    for line in lines:
        if match := HEADING.match(line):
            key = match.groups()
            found[key] = []
        elif match := SOURCE.match(line):
            found[key].append([cell.strip() for cell in match.groups()])
    return found


def classes_in(lines):
    begin = next(i for i, line in enumerate(lines) if line.startswith(CLASSES)) + 1
    rows = []
    while match := CLASS.match(lines[begin + len(rows)]):
        rows.append([cell.strip() for cell in match.groups()])
    return rows


def table(columns, numbers, rows):
    """The last `numbers` columns are aligned to the right."""
    if not rows:
        sys.exit(f"sources_tables.py: no rows for the table of {columns[0]}: has the output of validate changed?")
    rule = ["---"] * (len(columns) - numbers) + ["---:"] * numbers
    return "\n".join("| " + " | ".join(row) + " |" for row in [columns, *rows]).replace(
        "\n", "\n|" + "|".join(rule) + "|\n", 1) + "\n"


def replace_table(text, heading, new):
    """Replaces the first table below a heading."""
    start = text.index(f"\n## {heading}\n")
    first = text.index("\n|", start) + 1
    last = first
    while text.startswith("|", last):
        last = text.index("\n", last) + 1
    if "\n## " in text[start + 1:first]:
        sys.exit(f"sources_tables.py: no table below {heading}")
    return text[:first] + new + text[last:]


def main(is_check):
    old = PAGE.read_text()
    log = PAGE.parent / re.search(r"\[left_out.txt.gz\]\(([^)]*)\)", old).group(1)
    lines = gzip.open(log, "rt").read().splitlines()
    groups, sources, apart = read(lines)
    columns = ["Source", "Results", "Median error", "With its sign", "Inside"]
    others = [[*key, *row] for key, rows in sources.items() if key != TRANSFORMERS for row in rows]
    new = replace_table(old, "Groups", table(
        ["Group", "From", "Sources", "Results", "Median error over sources", "Inside", "Half width"], 5, groups))
    new = replace_table(new, "Transformers by class", table(
        ["Class", "Sources", "Results", "Lockstep's error", "Error of a constant MFU"], 4, classes_in(lines)))
    new = replace_table(new, "Transformers by source", table(columns, 4, sources[TRANSFORMERS]))
    new = replace_table(new, "All groups by source", table(["Group", "From", *columns], 4, others))
    new = replace_table(new, "Sources that are never fitted", table(
        ["Group", *columns], 4, [[key[0], *row] for key, rows in apart.items() if key != TRANSFORMERS for row in rows]))
    if is_check and new != old:
        sys.exit(f"{PAGE}: its tables are not those of {log}; run {pathlib.Path(__file__).name}")
    if not is_check:
        PAGE.write_text(new)


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__.strip())
    main(is_check=bool(sys.argv[1:]))
