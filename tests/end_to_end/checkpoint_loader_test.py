"""load_checkpoint.py, which the README shows, computes what the program computes."""
import json
import os
import subprocess
import unittest

import program

try:
    import torch
    import load_checkpoint
except ImportError as error:
    torch = None
    REASON = f"no PyTorch here: {error}"


@unittest.skipIf(torch is None, REASON if torch is None else "")
class CheckpointLoader(program.ProgramTest):

    def test_logits_are_those_of_the_program(self):
        self.run_to(0, 2)
        weights = self.run_folder() / "ckpt" / "last" / "model.safetensors"
        printed = subprocess.run([os.environ["MGPU_PRINT_LOGITS"], weights, "2"],
                                 check=True, capture_output=True, text=True).stdout
        ours = json.loads(printed)
        logits = load_checkpoint.load(weights, heads=2)(torch.tensor(ours["tokens"]))
        expected = torch.tensor(ours["logits"])
        self.assertEqual(logits.shape, expected.shape)
        self.assertLess((logits - expected).abs().max().item(), 1e-5)
        self.assertGreater(expected.std().item(), 1e-2)  # weights that were trained


if __name__ == "__main__":
    program.main()
