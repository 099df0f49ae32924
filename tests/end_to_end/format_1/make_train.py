#!/usr/bin/env python3
"""make_train.py RUN OUT: writes a finished run of recipe ad in the format of mgpu_spmd 0.1.

RUN is a run directory of the current program. Its files differ from format 1 in four places. The
column `control` was a plain number, and list columns had no folder per table. Result file and run
directory named all keys of the program, and both had format number 1. All else is copied.
"""
import hashlib
import json
import pathlib
import re
import sys

import h5py
import numpy

STORED = pathlib.Path(__file__).resolve().parent / "teacher_whole"  # written by mgpu_spmd 0.1
DEFAULTS = {"data.max_length": "2048", "data.on_bad_row": "stop", "data.path": "null",
            "model.path": "null", "teacher.top_k": "64"}  # of keys that STORED had changed
CONTROL = ("0 none, 1 hide_rewards (the agent sees no reward), 2 clear_context (its context is "
           "emptied at each episode)")


def create(path):
    return h5py.File(path, "w", libver=("v108", "v108"), track_order=True)


def copy_attributes(source, target):
    for name, value in source.attrs.items():
        kind = source.attrs.get_id(name).dtype
        target.attrs.create(name, value,
                            dtype=h5py.string_dtype() if kind.kind in "OS" else kind)


def in_order(group):
    names = []
    group.id.links.iterate(lambda name: names.append(name.decode()),
                           idx_type=h5py.h5.INDEX_CRT_ORDER)
    return names


def copy_group(source, target):
    """Copies a group in the order of its creation, and column `control` as a number."""
    copy_attributes(source, target)
    for name in in_order(source):
        if isinstance(source[name], h5py.Group):
            copy_group(source[name], target.create_group(name, track_order=True))
        elif name == "control":
            column = target.create_dataset(name, data=source[name][...].astype(numpy.uint8))
            copy_attributes(source[name], column)
            column.attrs.create("description", CONTROL, dtype=h5py.string_dtype())
        else:
            source.copy(name, target)


def write_file(source, target, keys=None):
    with h5py.File(source) as new, create(target) as old:
        copy_group(new, old)
        old.attrs.create("format_version", 1, dtype=numpy.int64)
        if keys is None:
            return
        old["run"].attrs.create("keys", "".join(f"{key}: {keys[key]}\n" for key in sorted(keys)),
                                dtype=h5py.string_dtype())
        old.move("arrays/samples/path", "arrays/path")
        del old["arrays/samples"]


def values_of(resolved):
    """The value of each key of a resolved configuration, by line."""
    section = []
    for line in resolved.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name, _, value = line.strip().partition(": ")
        section = section[:depth] + [name.rstrip(":")]
        yield line, ".".join(section), value


def main(run, out):
    for folder in (out, out / "repro"):
        folder.mkdir()
    given = {key: value for _, key, value in
             values_of((run / "repro/config.resolved.yaml").read_text()) if value}
    given = {**DEFAULTS, **given, "run.name": out.name, "run.output": "@FOLDER@/out"}
    lines = []
    for line, key, value in values_of((STORED / "repro/config.resolved.yaml").read_text()):
        changes = value and key in given
        lines.append(re.sub(r": .*", lambda _, new=given.get(key): f": {new}", line)
                     if changes else line)
    (out / "repro/config.resolved.yaml").write_text("\n".join(lines) + "\n")

    record = json.loads((STORED / "run.json").read_text())
    keys = {key: given.get(key, value).strip('"') for key, value in record["keys"].items()}
    ordered = [key for _, key, value in
               values_of("\n".join(lines)) if value and key in keys]
    identity = "".join(f"{key}={keys[key]}\n" for key in ordered)
    record.update(identity=hashlib.sha256(identity.encode()).hexdigest(), job="train", keys=keys,
                  name=out.name)
    (out / "run.json").write_text(json.dumps(record, indent=2) + "\n")
    write_file(run / "results.h5", out / "results.h5", keys)
    write_file(run / "histories.h5", out / "histories.h5")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
