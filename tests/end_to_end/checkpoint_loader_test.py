"""From a checkpoint of the program, the PyTorch code of docs/train.md computes the same."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import program

try:
    import safetensors  # noqa: F401: what that code imports
    import torch
except ImportError as error:
    torch = None
    REASON = f"no PyTorch here: {error}"


def page_code():
    """Returns the names that the block with logits() defines for a reader who pastes it."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/train.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    scope = {}
    exec(next(block for block in blocks if "def logits(" in block), scope)
    return scope


@unittest.skipIf(torch is None, REASON if torch is None else "")
class CheckpointLoader(program.ProgramTest):

    def test_logits_are_those_of_the_program(self):
        self.run_to(0, 2)
        checkpoint = self.run_folder() / "ckpt" / "last"
        printed = subprocess.run([os.environ["MGPU_PRINT_LOGITS"],
                                  checkpoint / "model.safetensors", "2"],
                                 check=True, capture_output=True, text=True).stdout
        ours = json.loads(printed)
        code = page_code()
        tokens = torch.tensor(ours["tokens"]).permute(1, 2, 0)  # [B, T, 6]
        logits = code["logits"](code["load"](str(checkpoint)), tokens, 2)
        expected = torch.tensor(ours["logits"])
        self.assertEqual(logits.shape, expected.shape)
        self.assertLess((logits - expected).abs().max().item(), 1e-5)
        self.assertGreater(expected.std().item(), 1e-2)  # weights that were trained


if __name__ == "__main__":
    program.main()
