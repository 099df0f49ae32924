"""Makes goldens of the KL divergence between two models at each token, in float64.

  python3 tests/oracle/divergence_goldens.py tests/lm/goldens [--check]

Made with transformers 5.23.0, torch 2.11.0, safetensors 0.8.0 on the CPU. Writes
divergence.safetensors: for each pair of FOLDERS, made by language_models.py, and each of
TEMPERATURES

    MODEL.REFERENCE.TEMPERATURE   [completion] float64: torch's kl_div of the softmax of all logits
    ids                           [T] int64: PROMPT tokens of the prompt, then the completion

With --check nothing is written; the exit code is 1 if the values differ from the file.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

from language_models import is_same, open_model

FOLDERS = [("llama", "qwen2"), ("qwen2", "llama"), ("gpt2", "mistral"), ("qwen3", "qwen3")]
TEMPERATURES = (1.0, 0.7, 2.5)
PROMPT = 5
IDS = torch.tensor([(i * 13 + 3) % 67 for i in range(21)])


def log_probs(folder, temperature):
    with torch.no_grad():
        logits = open_model(folder)(IDS[None]).logits[0].double()
    return torch.log_softmax(logits / temperature, 1)[PROMPT - 1:-1]


def divergences(target):
    golden = {"ids": IDS}
    for model, reference in FOLDERS:
        for temperature in TEMPERATURES:
            p, q = (log_probs(target / name, temperature) for name in (model, reference))
            kl = torch.nn.functional.kl_div(q, p, reduction="none", log_target=True).sum(1)
            golden[f"{model}.{reference}.{temperature}"] = kl
    return golden


def main():
    target = pathlib.Path(sys.argv[1])
    path = target / "divergence.safetensors"
    golden = divergences(target)
    if "--check" in sys.argv:
        sys.exit(0 if is_same(golden, load_file(path), atol=1e-5) else 1)
    save_file(golden, path)


if __name__ == "__main__":
    main()
