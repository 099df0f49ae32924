"""Reads a ledger by the tables of docs/formats.md."""
import re
import struct

import pages

KINDS = {"u32": "I", "u64": "Q", "i64": "q"}


def crc32c(data):
    """Returns the CRC-32C of `data`."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _entry(value):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


TABLE = [_entry(value) for value in range(256)]


def fields_of_frame():
    """Returns {field: slice of the frame's bytes}."""
    places = {}
    for place, field in pages.table("bytes: frame"):
        begin, end = re.fullmatch(r"(\d+)-(\d*)", place).groups()
        places[field.split(",")[0]] = slice(int(begin), int(end) + 1 if end else None)
    return places


def number(data):
    return int.from_bytes(data, "little")


def frames(data):
    """Yields (attempt, phase, chunk, payload) of each frame; AssertionError at other bytes."""
    assert data[:8] == b"mgpuledg" and number(data[8:12]) == 1, "the head of the file"
    assert number(data[12:16]) == crc32c(data[:12]), "the checksum of the file's head"
    place = fields_of_frame()
    payload_at = place["payload"].start
    at = 16
    while at < len(data):
        head = data[at:at + payload_at]
        checked = head[place["checksum of the next 32 bytes"].stop:]
        assert head[place["magic `MGLF`"]] == b"MGLF", "magic"
        assert len(checked) == 32 and not any(head[place["zero"]]), "zero"
        assert number(head[place["checksum of the next 32 bytes"]]) == crc32c(checked), "head"
        length = number(head[place["length of the payload"]])
        payload = data[at + payload_at:at + payload_at + length]
        assert number(head[place["checksum of the payload"]]) == crc32c(payload), "payload"
        yield (*(number(head[place[name]]) for name in ("attempt", "phase", "chunk")), payload)
        at += payload_at + length


def format_of(kinds):
    """Returns the format of struct for "u64, u32" or "2 x i64"."""
    text = re.sub(r"(\d+) x (\w+)", lambda m: ", ".join([m[2]] * int(m[1])), kinds)
    return "<" + "".join(KINDS[kind] for kind in text.split(", "))


def columns(payload):
    """Returns first row, number of rows, and bytes of each column; AssertionError at other bytes."""
    *head, per_column, values = pages.table("bytes: payload")
    assert [field for field, _ in head][1:] == ["number of columns", "first row, number of rows"]
    fixed = "<" + "".join(format_of(kinds)[1:] for _, kinds in head)
    _, count, first, rows = struct.unpack_from(fixed, payload)
    entry = format_of(per_column[1])
    assert per_column[0] == "per column: bytes, checksum, zero" and values[0] == "the columns"
    at = struct.calcsize(fixed) + count * struct.calcsize(entry)
    found = []
    for i in range(count):
        offset = struct.calcsize(fixed) + i * struct.calcsize(entry)
        size, checksum, zero = struct.unpack_from(entry, payload, offset)
        found.append(payload[at:at + size])
        assert checksum == crc32c(found[-1]) and zero == 0, f"column {i}"
        at += size
    assert at == len(payload), "bytes after the columns"
    return first, rows, found
