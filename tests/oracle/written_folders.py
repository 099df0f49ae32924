"""Checks that transformers opens the checkpoints of model_checkpoint_mpi_test.

Their logits must be those of the goldens.

  python3 tests/oracle/written_folders.py build/tests/recipes/written tests/lm/goldens

Exits with 1 if one differs, or if there are no checkpoints.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM


def problem_of(folder, golden):
    model, report = AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True)
    if any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")):
        return f"tensors do not fit: {report}"
    if model.dtype != torch.float32:
        return f"weights are {model.dtype}"
    for prompt in ("one", "short", "long"):
        with torch.no_grad():
            logits = model.eval()(golden[f"{prompt}.ids"][None], use_cache=False).logits[0]
        difference = (logits.double() - golden[f"{prompt}.logits"]).abs().max().item()
        if not difference < 1e-4:
            return f"logits of `{prompt}` differ by {difference}"
    return None


def main():
    written, goldens = map(pathlib.Path, sys.argv[1:3])
    folders = sorted(path for path in written.iterdir() if path.is_dir())
    problems = {}
    for folder in folders:
        golden = load_file(goldens / folder.name / "golden.safetensors")
        problem = problem_of(folder / "ckpt" / "last", golden)
        if problem is not None:
            problems[folder.name] = problem
    for name, problem in problems.items():
        print(f"written_folders.py: {name}: {problem}", file=sys.stderr)
    print(f"{len(folders) - len(problems)} of {len(folders)} folders open with equal logits")
    sys.exit(0 if folders and not problems else 1)


if __name__ == "__main__":
    main()
