"""The names in the files of runs, for the tables of docs/formats.md."""
import csv
import json
import re
import struct

import h5py

from pages import TOP

# These files exist only after a death, a hang, or while a process works.
RARE = {"hang_report.txt", "crash/", "working/", "lease.json", "quarantine.jsonl"}
# These groups of results.h5 have attributes of the run instead of a table.
FACTS = {"run", "teacher", "classify", "collect"}


def is_in_source(name):
    """Returns whether a source file of the program has this text, or a path that ends so."""
    pattern = re.compile(rf'["/]{re.escape(name.rstrip("/"))}[./"]')
    return any(pattern.search(path.read_text()) for folder in ("include", "src")
               for path in (TOP / folder).rglob("*.?pp"))


def objects_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def tensors_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return set(json.loads(data[8:8 + size])) - {"__metadata__"}


def members(objects):
    return {name for one in objects for name in one}


def files(runs):
    return {path.name + ("/" if path.is_dir() else "") for run in runs for path in run.iterdir()}


def attributes(paths, group="/"):
    found = set()
    for path in paths:
        with h5py.File(path) as file:
            if group in file:
                found |= set(file[group].attrs)
    return found


def object_attributes(paths):
    """Returns the names of the attributes of all tables, columns and groups of lists."""
    found = set()

    def visit(name, item):
        if name not in FACTS:
            found.update(item.attrs)

    for path in paths:
        with h5py.File(path) as file:
            file.visititems(visit)
    return found


def event_fields(runs):
    """Returns the members that all events have, and {event: other members}.

    Both leave out `session`, which only events of sessions have."""
    events = [event for run in runs for event in objects_of(run / "events.jsonl")]
    common = set.intersection(*map(set, events))
    fields = {}
    for event in events:
        fields.setdefault(event["event"], set()).update(set(event) - common - {"session"})
    return common, fields


def summaries(runs):
    return [json.loads((run / "summary.json").read_text()) for run in runs]


def summary_items(runs):
    """Returns {member: names in its items}.

    No run on the CPU has GPUs, so the names of theirs are from the source."""
    found = {"results": members(result for one in summaries(runs)
                                for result in one["results"].values())}
    for name in ("phases", "notes"):
        found[name] = members(item for one in summaries(runs) for item in one[name])
    source = (TOP / "src/report/summary.cpp").read_text()
    found["gpus"] = set(re.findall(r'\{"(\w+)", gpu\.', source))
    return found


def of_checkpoint(run):
    folder = run / "ckpt/last"
    state = json.loads((folder / "state.json").read_text())
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    return {"checkpoint_files": {path.name for path in folder.iterdir()},
            "trainer_tensors": tensors_of(folder / "trainer.safetensors"),
            "state": set(state),
            "state_values": set(state["values"]),
            "manifest": set(manifest)}, members(manifest["files"].values())


def of_exports(teacher, classify, roll_in):
    with h5py.File(teacher / "teacher_logits.h5") as file:
        padded = set(file)
    with open(classify / "results.csv", newline="") as file:
        header = next(csv.reader(file))
    return {"padded_h5": padded,
            "metadata": set(json.loads((teacher / "metadata.json").read_text())),
            "csv": header,
            "pairs": members(objects_of(roll_in / "pairs.jsonl"))}
