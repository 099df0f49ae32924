"""Compares what two programs stored: items, files, and all files of a run folder."""
import dataclasses
import re

from expected_differences import WHOLE_FILE, FileExpectations
from stored_items import CLOCKED, GROUP, NAMES, VALUE, Item, bytes_that_differ, items_of

# Records of a run's progress, which differ between two runs of one program.
RECORDS = {"LOCK", "run.h5", "run.json", "report.html", "summary.json", "events.jsonl", "run.log",
           "hang_report.txt", "job_states.json", "outcome.json"}

CHECKSUM = "@crc32c"


@dataclasses.dataclass
class Comparison:
    """The result for a file or run. `differences` are texts about unexpected differences."""
    files: int = 0
    data_sets: int = 0  # includes tensors and columns of exported tables
    attributes: int = 0  # includes JSON values
    differences: list = dataclasses.field(default_factory=list)
    excused: int = 0

    def add(self, other, file):
        self.files += other.files
        self.data_sets += other.data_sets
        self.attributes += other.attributes
        self.excused += other.excused
        self.differences += [f"{file}: {text}" for text in other.differences]

    def count(self, items):
        """Counts the compared items."""
        attributes = sum("@" in name or item.kind == VALUE for name, item in items.items())
        self.attributes += attributes
        self.data_sets += sum(item.kind != GROUP for item in items.values()) - attributes


def compare_items(old, new, expected):
    """Compares two dictionaries of items. `expected` is FileExpectations."""
    result = Comparison()
    result.count(old)
    old, result.excused = expected.renamed(_with_columns_of_new(old, new, expected), new)
    new = _without_new_columns(new, old, expected)
    reported = set()
    for name in sorted(old.keys() | new.keys()):
        kind, text = _judge(old.get(name), new.get(name))
        if not text:
            continue
        if expected.excuse(kind, name):
            result.excused += 1
        elif name.removesuffix(CHECKSUM) not in reported:  # its difference is reported already
            reported.add(name)
            result.differences.append(f"{name}: {text}")
    return result


def _judge(old, new):
    """Returns the kind of the difference and its text; the text is "" if there is no difference."""
    if new is None:
        return "old-only", "in the old file only"
    if old is None:
        return "new-only", "in the new file only"
    return "differs", old.difference(new)


def _with_columns_of_new(old, new, expected):
    """Returns `old` with lists of columns in which expected new names and removals are applied."""
    def adjusted(group, names):
        for name in names:
            path = f"{group}/{name}"
            if path in new:
                yield name
            elif not expected.is_expected("old-only", path):
                yield expected.new_name(path).rpartition("/")[2]

    return _with_columns(old, adjusted)


def _without_new_columns(new, old, expected):
    """Returns lists of columns without those that are expected to be new."""
    def adjusted(group, names):
        for name in names:
            path = f"{group}/{name}"
            if path in old or not expected.is_expected("new-only", path):
                yield name

    return _with_columns(new, adjusted)


def _with_columns(items, adjusted):
    return {name: item if item.kind != NAMES else
            Item(NAMES, (), tuple(adjusted(name.rpartition("@")[0], item.data)))
            for name, item in items.items()}


def compare_files(old_path, new_path, expected, outputs=()):
    """Compares two files by their items, and by their bytes if no item differs. `outputs` are the
    run.output of both programs, if the files name it: keys of an experiment's stages do."""
    old, new = items_of(old_path), items_of(new_path)
    old_bytes, new_bytes = old_path.read_bytes(), new_path.read_bytes()
    result = compare_items(_anywhere(old, outputs[:1]), _anywhere(new, outputs[1:]), expected)
    result.files = 1
    if any(str(output).encode() in old_bytes + new_bytes for output in outputs):
        return result
    if old_bytes == new_bytes:
        return result
    is_clocked = any(item.kind == CLOCKED for item in old.values())
    if not result.differences and not result.excused and not is_clocked:
        _compare_bytes(result, old_bytes, new_bytes, expected)
    return result


def _anywhere(items, outputs):
    """Replaces paths of run folders below `outputs` in all items that are bytes."""
    def in_outputs(data):
        for output in outputs:
            data = re.sub(re.escape(str(output).encode()) + rb"(/[\w/.-]+)", _without_date, data)
        return data

    return {name: item if item.kind == NAMES else dataclasses.replace(
        item, data=in_outputs(item.data)) for name, item in items.items()}


def _without_date(match):
    return b"outputs" + re.sub(rb"/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", b"/DATE", match[1])


def _compare_bytes(result, old, new, expected):
    if expected.excuse("differs", "(bytes)"):
        result.excused += 1
    else:
        result.differences.append(f"(bytes): {bytes_that_differ(old, new)}")


def compare_runs(case, old_folder, new_folder, expectations):
    """Compares all files of two run folders."""
    result = Comparison()
    old_files, new_files = files_of(old_folder), files_of(new_folder)
    for file in sorted(old_files | new_files):
        expected = FileExpectations(expectations, case, file)
        if file in old_files and file in new_files:
            outputs = [folder.parents[1] for folder in (old_folder, new_folder)
                       if file.startswith("../stages")]
            result.add(compare_files(old_folder / file, new_folder / file, expected, outputs), file)
        else:
            result.add(_one_sided(file in old_files, expected), file)
    return result


def _one_sided(is_old, expected):
    kind, text = _judge(is_old or None, not is_old or None)
    if expected.excuse(kind, WHOLE_FILE):
        return Comparison(files=1, excused=1)
    return Comparison(files=1, differences=[text.replace("file", "run")])


def files_of(folder):
    """Returns results, weights and exports, by their paths in the run folder. Those of an
    experiment's stages are in folder ../stages."""
    names = {path.name for path in folder.iterdir() if path.is_file()} - RECORDS
    for inner in ("ckpt/last", "ckpt/best", "prm_data"):
        names |= {f"{inner}/{path.name}" for path in (folder / inner).glob("*")}
    for stage in (folder.parent / "stages").glob("*/latest"):
        names |= {f"../{stage.relative_to(folder.parent)}/{name}" for name in files_of(stage)}
    return names
