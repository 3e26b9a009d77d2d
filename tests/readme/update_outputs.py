#!/usr/bin/env python3
"""update_outputs.py DOCUMENT FOLDER: writes what commands print into the ```text blocks that show it.

FOLDER has a file for each command whose output is another than DOCUMENT shows, named by the command's line there. Lines
"..." stay: of what stands between them as many lines are shown as before, those that are most like them but for figures.
A block one of whose lines between gaps has nothing like it in what is printed is left as it is, and that is an error.
"""
import pathlib
import re
import sys

GAP = "..."


def shape(line):
    """What of a line does not change with a constant: words, in their order."""
    return re.sub(r"[-+]?[0-9][0-9.,e+-]*|\s+|-{2,}", " ", line).split()


def is_like(shown, printed):
    """Whether one can stand in the other's place: the same but for figures, or a word in common."""
    a, b = shape(shown), shape(printed)
    if bool(shown.strip()) != bool(printed.strip()):
        return False
    return a == b or any(re.search("[A-Za-z]", word) for word in set(a) & set(b))


def likeness(shown, printed):
    return sum(shape(a) == shape(b) for a, b in zip(shown, printed))


def shown_again(shown, printed):
    """The lines of `shown` with those of `printed` in their place; None where they cannot be found."""
    parts, part = [], []
    for line in shown:
        if line == GAP:
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    if len(parts) == 1:
        return printed
    if sum(map(len, parts)) > len(printed):
        return None
    result, at = [], 0
    for i, part in enumerate(parts):
        rest = sum(len(later) for later in parts[i + 1:])
        last = len(printed) - rest - len(part)
        places = [0] if i == 0 else [last] if i == len(parts) - 1 else range(at, last + 1)
        place = max(places, key=lambda p: (likeness(part, printed[p:p + len(part)]), -p))
        if place < at:
            return None
        if 0 < i < len(parts) - 1 and not all(map(is_like, part, printed[place:])):
            return None
        result += ([GAP] if i > 0 else []) + printed[place:place + len(part)]
        at = place + len(part)
    return result


def block_behind(lines, command):
    """The first and the last line inside the text block that shows the output of the command on that line."""
    start = next(i for i in range(command, len(lines)) if lines[i].startswith("```text"))
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith("```"))
    return start + 1, end


def main(document, folder):
    path = pathlib.Path(document)
    lines = path.read_text(encoding="utf-8").split("\n")
    wrong = 0
    for file in sorted(pathlib.Path(folder).iterdir(), key=lambda f: -int(f.name)):
        printed = [line.rstrip() for line in file.read_text(encoding="utf-8").split("\n")]
        while printed and not printed[-1]:
            printed.pop()
        start, end = block_behind(lines, int(file.name))
        shown = shown_again(lines[start:end], printed)
        if shown is None:
            print(f"{document}:{file.name}: its block is left as it is; what it shows is no longer printed", file=sys.stderr)
            wrong = 1
            continue
        lines[start:end] = shown
    path.write_text("\n".join(lines), encoding="utf-8")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
