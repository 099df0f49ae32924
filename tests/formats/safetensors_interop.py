"""Opens OURS with Python's safetensors and writes the same tensors to THEIRS.

Usage: safetensors_interop.py OURS THEIRS. Needs safetensors 0.8, no numpy.
"""
import ctypes
import sys

import safetensors

DTYPE_OF = {
    "F32": "float32", "F64": "float64", "F16": "float16", "BF16": "bfloat16", "I32": "int32",
    "I64": "int64", "U8": "uint8", "U32": "uint32", "U64": "uint64",
}

ours, theirs = sys.argv[1:3]
with open(ours, "rb") as file:
    entries = safetensors.deserialize(file.read())
buffers = []  # TensorSpec keeps addresses only
tensors = {}
for name, entry in entries:
    data = bytes(entry["data"])
    assert data == bytes((7 * i + len(name)) % 251 for i in range(len(data))), name
    buffers.append(ctypes.create_string_buffer(data, max(len(data), 1)))
    tensors[name] = safetensors.TensorSpec(
        dtype=DTYPE_OF[entry["dtype"]], shape=entry["shape"],
        data_ptr=ctypes.addressof(buffers[-1]), data_len=len(data))
safetensors.serialize_file(tensors, theirs, {"format": "pt"})
