"""Writes files of expected tensors, or compares them with tensors that were computed again."""
import sys

import torch
from safetensors.torch import load_file, save_file

TOLERANCE = 1e-9  # of numbers in float64, relative to 1 + |number|


def save_or_check(tensors, path, versions):
    """Saves the tensors to `path`. With --check, compares them with that file instead."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    if "--check" not in sys.argv:
        path.parent.mkdir(exist_ok=True)
        save_file(tensors, path, versions)
        return
    stored = load_file(path)
    different = sorted(stored.keys() ^ tensors.keys())
    for name in stored.keys() & tensors.keys():
        if not is_same(stored[name], tensors[name]):
            different.append(name)
    if different:
        raise SystemExit(f"{path.name} differs: {', '.join(different)}")
    print(f"{path.name}: {len(stored)} tensors are the same")


def is_same(one, other):
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    return torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
