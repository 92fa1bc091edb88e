#!/usr/bin/env python3
"""Checks which files include which.

    includes.py ROOT

The rooms of src/ stand in CMakeLists.txt from left to right, and the files of a room in the order
in which they build on each other:

 - a file includes headers of its own room and of rooms to the left of it;
 - within a room, a file includes its own header and those of files that stand before it;
 - a header stands where the .c of the same name stands; a header without one stands where the
   first .c of its room stands that includes it, directly or through another header;
 - the files that are compiled once for each CPU level stand first in their room;
 - the program and the examples include kerbin.h and headers of their own folder, the program
   src/core/try.h too;
 - every .c of src/ stands in a list, and a room has 26 files at most;
 - device code, src/cuda, stands in the list of cmake/Cuda.cmake by the same rule, and sees of the
   rest only headers that are C and C++ at once: those with KB_BOTH and device/table.h, which
   include only headers like them.

Prints every violation as one line, "file includes header: why", and fails if there is one.
"""
import os
import re
import sys

MOST_FILES = 26
PUBLIC = "kerbin.h"
PROGRAM_MAY_ALSO = ["../src/core/try.h"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def includes_of(path):
    """What a file includes with quotes, in its own order."""
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', read(path), re.MULTILINE)


def listed_sources(cmake):
    """The .c files of CMakeLists.txt, room/name.c: those compiled once for each CPU level, in the
    order of their list, and all others in the order of KERBIN_SOURCES."""
    text = re.sub(r"#.*", "", cmake)

    def files(pattern):
        found = re.search(pattern, text)
        if not found:
            sys.exit(f"CMakeLists.txt: no {pattern}")
        return re.findall(r"\bsrc/(\S+?\.c)\b", found.group(1))

    return (files(r"add_library\(simd_\$\{level\} OBJECT([^)]*)\)"),
            files(r"set\(KERBIN_SOURCES([^)]*)\)"))


def room_of(file):
    return file.split("/")[0]


def in_order(levels, others):
    """All listed files, and the rooms in the order of their first file."""
    rooms = list(dict.fromkeys(room_of(file) for file in others))
    for room in dict.fromkeys(room_of(file) for file in levels):
        if room not in rooms:
            sys.exit(f"CMakeLists.txt: {room} has no file in KERBIN_SOURCES")
    order = [file for room in rooms for file in levels + others if room_of(file) == room]
    return order, rooms


def reached_from(file, includes):
    """The headers of the same room that a file includes, directly or through one another."""
    reached, waiting = set(), [file]
    while waiting:
        for header in includes.get(waiting.pop(), []):
            if header not in reached and room_of(header) == room_of(file):
                reached.add(header)
                waiting.append(header)
    return reached


def places_of(order, headers, includes):
    """The place of every .c and header in the whole list.  A header that no .c of its room
    includes has none."""
    place = {file: i for i, file in enumerate(order)}
    for header in headers:
        own = header[:-2] + ".c"
        if own in place:
            place[header] = place[own]
    for file in order:
        for header in reached_from(file, includes):
            place.setdefault(header, place[file])
    return place


def check_source(root):
    levels, others = listed_sources(read(os.path.join(root, "CMakeLists.txt")))
    order, rooms = in_order(levels, others)
    source = os.path.join(root, "src")
    present = sorted(os.path.relpath(os.path.join(folder, name), source)
                     for folder, _, names in os.walk(source)
                     for name in names if name.endswith((".c", ".h")))
    includes = {file: includes_of(os.path.join(source, file)) for file in present}
    headers = [file for file in present if file.endswith(".h")]
    place = places_of(order, headers, includes)

    for room in rooms:
        count = sum(room_of(file) == room for file in present)
        if count > MOST_FILES:
            yield f"src/{room} has {count} files: {MOST_FILES} is the most"
    for file in sorted(set(present) - set(order)):
        if file.endswith(".c"):
            yield f"src/{file} is not in CMakeLists.txt"
    for file in [file for file in order if file not in includes]:
        yield f"src/{file} is in CMakeLists.txt, but there is no such file"
    for file in sorted({file for file in order if (levels + others).count(file) > 1}):
        yield f"src/{file} is in CMakeLists.txt more than once"
    at = -1
    for file in others:
        if rooms.index(room_of(file)) < at:
            yield f"src/{file} stands outside its room's part of the list"
        at = max(at, rooms.index(room_of(file)))

    for file in present:
        room = room_of(file)
        if room not in rooms:
            yield f"src/{file}: {room} is not in CMakeLists.txt"
            continue
        for header in includes[file]:
            if header == PUBLIC:
                continue
            if header not in includes:
                yield f"src/{file} includes {header}: not there, or not by its path in src/"
            elif room_of(header) not in rooms:
                yield f"src/{file} includes {header}: {room_of(header)} is not in CMakeLists.txt"
            elif rooms.index(room_of(header)) > rooms.index(room):
                yield f"src/{file} includes {header}: {room_of(header)} is to the right of {room}"
            elif room_of(header) == room and place.get(header, -1) > place.get(file, len(order)):
                yield (f"src/{file} includes {header}: {order[place[header]]} stands behind "
                       f"{order[place[file]]}")


def headers_for_both(source):
    """The headers of src/ that device code may include."""
    both = {}
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".h") and "KB_BOTH" in read(path):
                both[os.path.relpath(path, source)] = includes_of(path)
    both["device/table.h"] = includes_of(os.path.join(source, "device/table.h"))
    while wrong := [h for h, seen in both.items() if not all(other in both for other in seen)]:
        for header in wrong:
            del both[header]
    return set(both)


def check_device(root):
    source = os.path.join(root, "src")
    listed = re.search(r"set\(KERBIN_CUDA_SOURCES([^)]*)\)",
                       read(os.path.join(root, "cmake", "Cuda.cmake")))
    order = re.findall(r"\bsrc/(\S+\.cu)\b", listed.group(1) if listed else "")
    files = sorted(f"cuda/{name}" for name in os.listdir(os.path.join(source, "cuda")))
    includes = {file: includes_of(os.path.join(source, file)) for file in files}
    place = {file: i for i, file in enumerate(order)}
    place.update({header: place[header[:-1]] for header in files
                  if header.endswith(".cuh") and header[:-1] in place})
    both = headers_for_both(source)
    if len(files) > MOST_FILES:
        yield f"src/cuda has {len(files)} files: {MOST_FILES} is the most"
    for file in sorted(set(files) ^ set(order)):
        if file not in place:
            yield f"src/{file} is not in cmake/Cuda.cmake"
        elif file not in files:
            yield f"src/{file} is in cmake/Cuda.cmake, but there is no such file"
    for file in files:
        for header in includes[file]:
            full = header if "/" in header else f"cuda/{header}"
            if room_of(full) == "cuda" and place.get(full, len(order)) > place.get(file, -1):
                yield f"src/{file} includes {full}: it stands behind or is not there"
            elif room_of(full) != "cuda" and full not in both:
                yield f"src/{file} includes {full}: it is not for device code"


def check_outside(root, folder, also):
    """Files that see the public header and those beside them."""
    names = sorted(os.listdir(os.path.join(root, folder)))
    for name in names:
        if name.endswith((".c", ".h")):
            for header in includes_of(os.path.join(root, folder, name)):
                if header != PUBLIC and header not in also and header not in names:
                    yield f"{folder}/{name} includes {header}: only {PUBLIC} is open to {folder}"


def main():
    root = sys.argv[1]
    wrong = [*check_source(root), *check_device(root), *check_outside(root, "cli", PROGRAM_MAY_ALSO),
             *check_outside(root, "examples", [])]
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong)} violations; the rules stand in tests/layout/includes.py")


if __name__ == "__main__":
    main()
