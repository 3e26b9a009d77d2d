"""Turns CUDA C++ into C++ for the emulated device: kernel<<<blocks, threads, shared, stream>>>(arguments) becomes
emulated::launch(...), and #include lines of .cuh files are kept (their launches are translated when they are read).

    python3 translate.py SOURCE TARGET
"""
import re
import sys

LAUNCH = re.compile(r"(\w+(?:<[\w\s,():]*>)?)\s*<<<")


def end_of(text, start, closing):
    """Where the bracket that is open before `start` closes."""
    depth = 0
    for at in range(start, len(text)):
        if depth == 0 and text.startswith(closing, at):
            return at
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
    raise SystemExit("a launch without an end")


def translated(text):
    while True:
        launch = LAUNCH.search(text)
        if not launch:
            return text
        configured = end_of(text, launch.end(), ">>>")
        opened = text.index("(", configured)
        closed = end_of(text, opened + 1, ")")
        kernel = launch.group(1)
        text = (text[:launch.start()] + f'::emulated::launch("{kernel}", {{{text[launch.end():configured]}}}, [=] {{ {kernel}'
                + text[opened:closed + 1] + "; })" + text[closed + 1:])


def main():
    source, target = sys.argv[1:]
    with open(source) as file:
        text = translated(file.read())
    text = re.sub(r'#include "(engine/cuda/\w+\.cuh)"', r'#include "\1.emulated.hpp"', text)
    with open(target, "w") as file:
        file.write(f'#line 1 "{source}"\n' + text)


main()
