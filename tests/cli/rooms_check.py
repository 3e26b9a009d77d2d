#!/usr/bin/env python3
"""Rooms keep to themselves: a file includes only rooms that its own room links (CMakeLists.txt says which), SimGrid and
CUDA stand where they may, every room of sim has its own namespace, so that equal names of two rooms never link as one,
and no source outgrows 450 lines, tests and their scripts
among them.

usage: rooms_check.py REPOSITORY; prints a line for every file that does not, and exits 1.
"""
import pathlib
import re
import sys

LONGEST_FILE = 450
SOURCES = (".cpp", ".hpp", ".cu", ".cuh")
SCRIPTS = (".py", ".sh")
SIMGRID_ROOMS = ("sim/messages",)
CUDA_ROOMS = ("engine/cuda", "calib/probe")


def rooms_of(root):
    """Folder of every room -> folders that it may include, by its links and theirs."""
    folder, links = {}, {}
    for lists in ("engine", "calib", "sim"):
        text = (root / lists / "CMakeLists.txt").read_text()
        rooms = re.findall(r"lockstep_room\((\w+)\s+(?:COLD\s+)?FOLDER\s+(\S+)\s+LINKS\s+([^)]*)\)", text)
        assert len(rooms) == text.count("lockstep_room("), f"{lists}/CMakeLists.txt: a room is not understood"
        for name, where, linked in rooms:
            folder[name] = where
            links[name] = set(re.findall(r"\blockstep_(\w+)", linked))
        # A room may link more where the machine has it: MPI, CUDA's backend.
        for name, linked in re.findall(r"target_link_libraries\(lockstep_(\w+)\s+(?:PUBLIC|PRIVATE)\s+([^)]*)\)", text):
            if name in links:
                links[name] |= set(re.findall(r"\blockstep_(\w+)", linked))

    def reached(name, seen):
        for other in links.get(name, ()):
            if other not in seen:
                seen.add(other)
                reached(other, seen)
        return seen

    return {folder[name]: {folder[other] for other in reached(name, {name}) if other in folder} for name in folder}


def room_of(path, rooms):
    parts = pathlib.PurePosixPath(path).parts
    for length in range(len(parts) - 1, 0, -1):
        if "/".join(parts[:length]) in rooms:
            return "/".join(parts[:length])
    return None


def faults(root):
    rooms = rooms_of(root)
    if len(rooms) < 20:
        yield f"only {len(rooms)} rooms found in the CMakeLists.txt"
    for top in ("engine", "calib", "sim", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCES and (top != "tests" or file.suffix not in SCRIPTS):
                continue
            path = file.relative_to(root).as_posix()
            text = file.read_text()
            if text.count("\n") > LONGEST_FILE:
                yield f"{path}: {text.count(chr(10))} lines, at most {LONGEST_FILE}"
            if top == "tests":
                continue
            room = room_of(path, rooms)
            if room is None or file.name.endswith("_main.cpp"):
                continue
            for included in re.findall(r'^#include "([^"]+)"', text, re.M):
                other = room_of(included, rooms)
                if other and other not in rooms[room]:
                    yield f"{path}: includes {included}, which {room} does not link"
            if re.search(r"^#include <simgrid/", text, re.M) and room not in SIMGRID_ROOMS:
                yield f"{path}: SimGrid outside {', '.join(SIMGRID_ROOMS)}"
            if re.search(r"^#include <(cuda|cudnn|nccl|cublas)", text, re.M) and room not in CUDA_ROOMS:
                yield f"{path}: CUDA outside {', '.join(CUDA_ROOMS)}"
            if room.startswith("sim/"):
                opens = re.search(r"^namespace lockstep::sim\b", text, re.M)
                own = rf"^(namespace lockstep::sim::|inline namespace ){room[4:]} {{$"
                if opens and not re.search(own, text, re.M):
                    yield f"{path}: not in namespace lockstep::sim::{room[4:]}"


def main():
    found = list(faults(pathlib.Path(sys.argv[1])))
    for fault in found:
        print(fault)
    return 1 if found else 0


sys.exit(main())
