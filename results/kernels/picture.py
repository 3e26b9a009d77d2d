#!/usr/bin/env python3
"""Draws measured against predicted times of held-out kernels, a panel for each kind of kernel.

usage: picture.py FIT.json OUT.svg     FIT.json: of validate --fit-kernels TABLES --json FIT.json
"""
import json
import math
import sys

KINDS = [("gemm", "matrix multiplications"), ("attention", "attention"), ("mla", "latent attention"), ("moe", "experts"),
         ("collectives", "collectives in a node"), ("alltoall", "dispatch and combine")]
COLOURS = {"a100-sxm4": "#888888", "h100-sxm": "#1f77b4", "h200": "#17becf", "b200": "#2ca02c", "b300": "#98df8a",
           "gb200": "#ff7f0e", "gb300": "#d62728", "l40s": "#9467bd", "rtx-pro-6000": "#8c564b"}
SIDE, GAP, LOW, HIGH = 250, 50, -6, 0  # seconds as powers of ten


def place(seconds):
    return (min(max(math.log10(seconds), LOW), HIGH) - LOW) / (HIGH - LOW) * SIDE


def panel(fit, kind, title, left, top):
    yield f'<g transform="translate({left},{top})">'
    yield f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>'
    yield f'<text x="{SIDE / 2}" y="-8" text-anchor="middle" font-weight="bold">{title}</text>'
    yield f'<line x1="0" y1="{SIDE}" x2="{SIDE}" y2="0" stroke="#999"/>'
    for power in range(LOW, HIGH + 1, 2):
        at = (power - LOW) / (HIGH - LOW) * SIDE
        name = {-6: "1 us", -4: "100 us", -2: "10 ms", 0: "1 s"}[power]
        yield f'<text x="{at}" y="{SIDE + 14}" text-anchor="middle">{name}</text>'
        yield f'<text x="-4" y="{SIDE - at + 4}" text-anchor="end">{name}</text>'
    for series in fit["held_out"]:  # one path per series: its points are lines without length, with round ends
        if series["law"].split("/")[0] == kind:
            points = "".join(f"M{place(measured):.1f} {SIDE - place(predicted):.1f}h0"
                             for measured, predicted in series["measured_and_predicted_s"])
            yield (f'<path d="{points}" stroke="{COLOURS[series["gpu"]]}" stroke-width="2.8" stroke-opacity="0.6" '
                   'stroke-linecap="round"/>')
    yield "</g>"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        fit = json.load(file)
    width, height = 3 * (SIDE + GAP) + GAP + 20, 2 * (SIDE + GAP) + 90
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="11">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, (kind, title) in enumerate(KINDS):
        lines += panel(fit, kind, title, GAP + 20 + i % 3 * (SIDE + GAP), 30 + i // 3 * (SIDE + GAP))
    for i, (gpu, colour) in enumerate(COLOURS.items()):
        lines.append(f'<text x="{GAP + 20 + 95 * i}" y="{height - 40}" fill="{colour}">{gpu}</text>')
    lines.append(f'<text x="{width / 2}" y="{height - 14}" text-anchor="middle">across: measured; up: predicted by laws '
                 f'that did not see these shapes</text></svg>')
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
