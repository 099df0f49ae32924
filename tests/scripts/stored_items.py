"""Reads a file of a run as named items that can be compared one by one.

`items_of(path)` returns a dictionary from name to Item. The names depend on the kind of file:

  HDF5         GROUP/DATASET, OBJECT@ATTRIBUTE; lines `key: value` of an attribute are
               OBJECT@ATTRIBUTE:KEY; a group is an item too
  safetensors  TENSOR, and __metadata__@KEY
  .jsonl       one item per field, with its values in all lines; .csv: one item per column
  .json        KEY, or OUTER.INNER
  others       only the bytes

Numbers of text files are compared as text: 0.50 differs from 0.5.
"""
import csv
import dataclasses
import json
import re
import struct

import h5py
import numpy

GROUP = "group"
NAMES = "list of names"  # of an attribute that lists columns
VALUE = "text"  # kind of a key's value
CLOCKED = "measured by a clock"
CLOCK_COLUMNS = {"response_time"}  # of .csv
SHORT = 40  # messages show up to this many bytes in full
_KEY_LINE = re.compile(r"([\w.]+): (.*)")


@dataclasses.dataclass(frozen=True)
class Item:
    """One stored item: `data` is bytes, or a tuple of texts if kind is NAMES."""
    kind: str
    shape: tuple
    data: object

    def difference(self, new):
        """Describes how it differs from `new`; returns "" if it does not."""
        if self.kind != new.kind:
            return f"type {self.kind} -> {new.kind}"
        if self.shape != new.shape:
            return f"shape {self.shape} -> {new.shape}"
        if self.data == new.data:
            return ""
        if self.kind == NAMES or max(len(self.data), len(new.data)) <= SHORT:
            return f"{self.data!r} -> {new.data!r}"
        return bytes_that_differ(self.data, new.data)


def bytes_that_differ(old, new):
    if len(old) != len(new):
        return f"{len(old)} -> {len(new)} bytes"
    count = sum(a != b for a, b in zip(old, new))
    return f"{count} of {len(old)} bytes differ"


def items_of(path):
    """Returns all items of a file. Raises ValueError or OSError if the file cannot be read."""
    readers = {".h5": _hdf5_items, ".safetensors": _safetensors_items, ".json": _json_items,
               ".jsonl": _jsonl_items, ".csv": _csv_items}
    reader = readers.get(path.suffix)
    return reader(path) if reader else {}


def _hdf5_items(path):
    items = {}
    with h5py.File(path) as file:
        _add_attributes(items, "", file)

        def add(name, thing):
            if isinstance(thing, h5py.Dataset):
                items[name] = _array_item(thing.dtype, thing.shape, thing[()])
            else:
                items[name] = Item(GROUP, (), b"")
            _add_attributes(items, name, thing)

        file.visititems(add)
    return items


def _add_attributes(items, owner, thing):
    for name in thing.attrs:
        attribute = thing.attrs.get_id(name)
        value = thing.attrs[name]
        keys = _key_lines(value) if isinstance(value, str) else None
        if name == "column-order":
            texts = tuple(str(text) for text in value)
            items[f"{owner}@{name}"] = Item(NAMES, (), texts)
        elif keys is not None:
            items |= {f"{owner}@{name}:{key}": text_item(text) for key, text in keys.items()}
        else:
            items[f"{owner}@{name}"] = _array_item(attribute.dtype, attribute.shape, value)


def _key_lines(text):
    """Returns the keys of a text of sorted lines `key: value`; None for any other text."""
    matches = [_KEY_LINE.fullmatch(line) for line in text.splitlines()]
    if not matches or not all(matches):
        return None
    keys = dict(match.groups() for match in matches)
    lines = [f"{key}: {keys[key]}\n" for key in sorted(keys)]
    return keys if "".join(lines) == text else None


def _array_item(dtype, shape, value):
    if isinstance(value, h5py.Empty):
        return Item(f"empty {dtype}", (), b"")
    text = h5py.check_string_dtype(dtype)
    if text is None:
        return Item(dtype.str if dtype.names is None else str(dtype), shape,
                    numpy.asarray(value, dtype).tobytes())
    kind = f"text, {text.encoding}, length {text.length or 'variable'}"
    values = numpy.asarray(value, object).ravel()
    return Item(kind, shape, b"".join(_counted(one) for one in values))


def _counted(text):
    """Prefixes a text with its length, so that "ab", "c" differs from "a", "bc"."""
    data = text.encode() if isinstance(text, str) else bytes(text)
    return struct.pack("<q", len(data)) + data


def text_item(text):
    return Item(VALUE, (), text.encode())


def _safetensors_items(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if size > len(data) - 8:
        raise ValueError(f"{path}: its header is cut off")
    header = json.loads(data[8:8 + size])
    items = {f"__metadata__@{key}": text_item(value)
             for key, value in header.pop("__metadata__", {}).items()}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        items[name] = Item(entry["dtype"], tuple(entry["shape"]), data[begin:end])
    return items


def _parse_json(text):
    return json.loads(text, parse_float=str, parse_int=str)


def _json_items(path):
    return dict(_flattened("", _parse_json(path.read_text())))


def _flattened(name, value):
    if not isinstance(value, dict):
        yield name, text_item(json.dumps(value))
        return
    for key, inner in value.items():
        yield from _flattened(f"{name}.{key}" if name else key, inner)


def _jsonl_items(path):
    rows = [_parse_json(line) for line in path.read_text().splitlines()]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column_item([json.dumps(row[name]) if name in row else None for row in rows])
            for name in names}


def _csv_items(path):
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    header, rows = rows[0], rows[1:]
    items = {}
    for index, name in enumerate(header):
        values = [row[index] if index < len(row) else None for row in rows]
        items[name] = (Item(CLOCKED, (len(values),), b"") if name in CLOCK_COLUMNS
                       else _column_item(values))
    return items


def _column_item(values):
    data = b"".join(struct.pack("<q", -1) if value is None else _counted(value)
                    for value in values)
    return Item("column", (len(values),), data)
