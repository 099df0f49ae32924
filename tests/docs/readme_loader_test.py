#!/usr/bin/env python3
"""The PyTorch loader printed in docs/train.md, against the goldens that the C++ model is held to.

Exit 77 without PyTorch and safetensors.
"""
import pathlib
import re
import struct
import sys
import tempfile

try:
    import torch
    from safetensors.torch import save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/oracle"))
sys.dont_write_bytecode = True
import ad_transformer as oracle  # noqa: E402


def page_code():
    """Runs the block that defines logits(), and returns its names."""
    blocks = re.findall(r"^```python\n(.*?)^```", (TOP / "docs/train.md").read_text(), re.M | re.S)
    scope = {}
    exec(next(block for block in blocks if "def logits(" in block), scope)
    return scope


def golden_logits(rows, tokens, actions):
    """Returns the logits of the goldens, which follow the loss in the file."""
    count = rows * tokens * actions
    data = (TOP / "tests/ad/goldens/ad_step.bin").read_bytes()
    return torch.tensor(struct.unpack(f"<{count}f", data[4:4 + 4 * count])).view(
        rows, tokens, actions)


def main():
    code = page_code()
    weights = {name: value.detach().float() for name, value in oracle.parameters("step").items()}
    tokens = torch.stack([oracle.numbers(size, field, oracle.B, oracle.T)
                          for field, size in enumerate(oracle.FIELDS)], 2)
    with tempfile.TemporaryDirectory() as folder:
        save_file(weights, f"{folder}/model.safetensors")
        found = code["logits"](code["load"](folder), tokens, oracle.H)
    golden = golden_logits(oracle.B, oracle.T, oracle.ACTIONS)
    difference = ((found - golden).abs().max() / golden.abs().max()).item()
    print(f"largest difference: {difference:.1e} of the largest logit")
    if not difference < 1e-5:
        sys.exit("the loader of docs/train.md gives other logits than the model")


if __name__ == "__main__":
    main()
