"""Makes goldens of the loss and its gradients from transformers in float64.

  python3 tests/oracle/language_training.py tests/lm/goldens [--check]

Made with transformers 5.23.0, torch 2.11.0, safetensors 0.8.0 on the CPU. For some of the models
that language_models.py wrote, TARGET/training/CASE.safetensors holds

  ids, counts    [N], [S] int64: concatenated sequences, and their lengths
  targets        [N] int64: the next token, or -100 if it is not trained on
  loss           [] float64: mean over the targets that are trained on
  NAME           float32: gradient of that loss, rounded once from float64

With --check nothing is written; the exit code is 1 if transformers disagrees. Each sequence goes
through the model alone, so that it cannot attend to another.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

CASES = ("gpt2", "llama", "llama_biases", "llama_stored_head", "llama_yarn", "mistral", "qwen2_window",
         "qwen3_switches", "gpt_oss")
VOCAB = 67
SEQUENCES = [[1, 5, 9, 66, 0, 33, 7],
             [3],
             [(i * i * 7 + 3 * i + 1) % VOCAB for i in range(23)],
             [(i * 11 + 5) % VOCAB for i in range(11)]]
LEARNED_FROM = [3, 1, 0, 6]  # a completion begins there


def targets_of(ids, learned_from):
    following = ids[1:] + [-100]
    return [target if i + 1 >= learned_from else -100 for i, target in enumerate(following)]


def golden_of(folder):
    targets = [targets_of(ids, first) for ids, first in zip(SEQUENCES, LEARNED_FROM)]
    count = sum(t != -100 for line in targets for t in line)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager",
        experts_implementation="eager").double().eval()
    loss = 0
    for ids, line in zip(SEQUENCES, targets):
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
        loss = loss + torch.nn.functional.cross_entropy(
            logits, torch.tensor(line), ignore_index=-100, reduction="sum") / count
    loss.backward()
    golden = {name: parameter.grad.float().contiguous()
              for name, parameter in model.named_parameters()}
    return golden | {"ids": torch.tensor(sum(SEQUENCES, [])),
                     "counts": torch.tensor([len(ids) for ids in SEQUENCES]),
                     "targets": torch.tensor(sum(targets, [])),
                     "loss": loss.detach()}


def is_same(ours, theirs):
    return ours.keys() == theirs.keys() and all(
        torch.allclose(ours[name].double(), theirs[name].double(), rtol=1e-5, atol=1e-6)
        for name in ours)


def main():
    target = pathlib.Path(sys.argv[1])
    (target / "training").mkdir(exist_ok=True)
    different = []
    for case in CASES:
        path = target / "training" / f"{case}.safetensors"
        golden = golden_of(target / case)
        if "--check" not in sys.argv:
            save_file(golden, path)
        elif not is_same(load_file(path), golden):
            different.append(case)
    if different:
        sys.exit(f"language_training.py: other values now: {', '.join(different)}")


if __name__ == "__main__":
    main()
