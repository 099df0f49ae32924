"""Makes goldens of sequence classifiers with one output from transformers in float64.

  python3 tests/oracle/classifier_models.py tests/lm/classifier_goldens

Made with transformers 5.23.0, torch 2.11.0, safetensors 0.8.0 on the CPU. Writes a folder per case as
save_pretrained does, with random weights (seed 0) in bfloat16. golden.safetensors has:

  ids       [S, T] int64, sequences padded at the end to one length
  lengths   [S] int64, lengths before this padding
  rewards   [S] float64, outputs of the model in float64 (rotary angles in float32). Without a
            pad_token_id, or with a sliding window, each sequence is computed alone and without
            padding. (With both, transformers 5.23 gives NaN for padded sequences.)

Some sequences have padding tokens at their end, in the middle, or everywhere.
"""
import pathlib
import shutil
import sys

import torch
from language_models import COMMON, VOCAB, gpt2, llama, perturb
from safetensors.torch import save_file
from transformers import (AutoModelForSequenceClassification, MistralConfig, Qwen2Config,
                          Qwen3Config)

PAD = 2
SEQUENCES = [[1], [1, 5, 9, 66, 0, 33, 7], [(i * i * 7 + 3 * i + 1) % VOCAB for i in range(23)],
             [4, 8, PAD, 3, 9], [4, 8, 15, PAD, PAD], [PAD, PAD, PAD], [PAD, 6], [6, PAD]]
ONE = dict(num_labels=1, pad_token_id=PAD)
CASES = {
    "gpt2": gpt2(**ONE),
    "llama": llama(**ONE),
    "llama_tied": llama(**ONE, tie_word_embeddings=True),
    "mistral": MistralConfig(**COMMON, **ONE, sliding_window=8),
    "mistral_no_padding": MistralConfig(**COMMON, num_labels=1, sliding_window=8),
    "qwen2": Qwen2Config(**COMMON, **ONE),
    "qwen3": Qwen3Config(**COMMON, **ONE, head_dim=16),
}


def rewards_of(model):
    longest = max(map(len, SEQUENCES))
    ids = torch.tensor([s + [PAD] * (longest - len(s)) for s in SEQUENCES])
    has_window = getattr(model.config, "sliding_window", None) is not None
    if model.config.pad_token_id is None or has_window:
        rows = [model(torch.tensor([s]), use_cache=False).logits[0, 0] for s in SEQUENCES]
        return ids, torch.stack(rows)
    lengths = torch.tensor([len(s) for s in SEQUENCES])
    mask = (torch.arange(longest)[None] < lengths[:, None]).long()
    return ids, model(ids, attention_mask=mask, use_cache=False).logits[:, 0]


def write(folder, config):
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config)
    perturb(model)
    model.to(torch.bfloat16).save_pretrained(folder)
    again = AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").double().eval()
    with torch.no_grad():
        ids, rewards = rewards_of(again)
    print(folder.name, [round(x, 4) for x in rewards.tolist()])
    save_file({"ids": ids, "rewards": rewards.contiguous(),
               "lengths": torch.tensor([len(s) for s in SEQUENCES])},
              folder / "golden.safetensors")


def main():
    out = pathlib.Path(sys.argv[1])
    for name, config in CASES.items():
        write(out / name, config)


if __name__ == "__main__":
    main()
