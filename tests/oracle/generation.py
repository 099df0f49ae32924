"""Makes goldens of generation from transformers.

  python3 tests/oracle/generation.py tests/lm/goldens [--check]

Made with transformers 5.23.0, torch 2.11.0, safetensors 0.8.0 on the CPU. Writes two files.

  generation.safetensors: for each of FOLDERS, made by language_models.py, and each PROMPT
    FOLDER.PROMPT.ids      [T] int64
    FOLDER.PROMPT.greedy   [G] int64, model.generate(do_sample=False) in float64, at most 16 new
                           tokens; ends before a step whose two best scores differ by less than
                           1e-3, so that rounding cannot decide
    FOLDER.PROMPT.penalty  [G] int64, the same with repetition_penalty=1.3
  sampling.safetensors: logits processors in the order of generate()
    logits [R, V], context [R, C], settings [S, 4] (penalty, temperature, top_k, top_p),
    probabilities [S, R, V] float32

With --check nothing is written: the values are computed again from the existing weights, logits and
context. The exit code is 1 if transformers disagrees.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers.generation.logits_process import (LogitsProcessorList,
                                                    RepetitionPenaltyLogitsProcessor,
                                                    TemperatureLogitsWarper, TopKLogitsWarper,
                                                    TopPLogitsWarper)
from transformers.utils import logging

from language_models import BEYOND, is_same, open_model

FOLDERS = ["gpt2", "gpt2_switches", "gpt_oss", "gpt_oss_switches", "llama", "llama_biases",
           "llama_dynamic", "llama_linear", "llama_llama3", "llama_yarn", "llama_yarn_switches",
           "mistral", "mistral_no_window", "qwen2", "qwen2_window", "qwen3", "qwen3_switches"]
PROMPTS = {"one": [1], "five": [1, 40, 3, 22, 9], "twenty": [(i * 17 + 4) % 67 for i in range(20)]}
# `across` passes the context of 32 during decoding, and BEYOND exceeds it from the first token on.
FURTHER = {"llama_dynamic": {"across": [(i * 17 + 4) % 67 for i in range(29)], **BEYOND}}
# penalty, temperature, top k, top p
SETTINGS = [(1.0, 0.7, 0, 1.0), (1.0, 1.0, 5, 1.0), (1.0, 1.0, 0, 0.6), (1.0, 1.5, 0, 0.97),
            (1.0, 4.0, 0, 0.99), (1.3, 0.8, 40, 0.9), (0.8, 1.0, 0, 0.5), (1.2, 2.0, 1100, 0.999)]


def greedy(folder, ids, **options):
    model = open_model(folder)  # not reused: dynamic rotary positions remember longer sequences
    out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)),
                         max_new_tokens=16, do_sample=False, return_dict_in_generate=True,
                         output_scores=True, pad_token_id=0, **options)
    new = []
    for token, scores in zip(out.sequences[0, len(ids):], out.scores):
        best = scores[0].topk(2).values
        if best[0] - best[1] < 1e-3:
            break
        new.append(int(token))
    return torch.tensor(new, dtype=torch.int64)


def generation(target):
    golden = {}
    for name in FOLDERS:
        for prompt, ids in {**PROMPTS, **FURTHER.get(name, {})}.items():
            key = f"{name}.{prompt}."
            golden[key + "ids"] = torch.tensor(ids)
            golden[key + "greedy"] = greedy(target / name, ids)
            golden[key + "penalty"] = greedy(target / name, ids, repetition_penalty=1.3)
    return golden


def make_sampling_inputs():
    generator = torch.Generator().manual_seed(3)
    logits = 2.0 * torch.randn(2, 1300, generator=generator)
    logits[1] *= 0.1  # flat: its nucleus is most of the vocabulary
    return {"logits": logits, "context": torch.randint(0, 1300, (2, 300), generator=generator)}


def sampling(logits, context):
    probabilities = []
    for penalty, temperature, top_k, top_p in SETTINGS:
        steps = LogitsProcessorList()
        if penalty != 1.0:
            steps.append(RepetitionPenaltyLogitsProcessor(penalty))
        if temperature != 1.0:
            steps.append(TemperatureLogitsWarper(temperature))
        if top_k > 0:
            steps.append(TopKLogitsWarper(top_k))
        if top_p < 1.0:
            steps.append(TopPLogitsWarper(top_p))
        probabilities.append(steps(context, logits).softmax(-1))
    return {"logits": logits, "context": context,
            "settings": torch.tensor(SETTINGS, dtype=torch.float64),
            "probabilities": torch.stack(probabilities)}


def write(generated, sampled):
    save_file(generation(generated.parent), generated)
    save_file(sampling(**make_sampling_inputs()), sampled)


def check(generated, sampled):
    old = load_file(sampled)
    pairs = {generated: (load_file(generated), generation(generated.parent)),
             sampled: (old, sampling(old["logits"], old["context"]))}
    different = [path.name for path, (ours, theirs) in pairs.items()
                 if not is_same(ours, theirs, atol=1e-8)]
    if different:
        sys.exit(f"generation.py: other values now: {', '.join(different)}")


def main():
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # for many small operations threads only cost time
    target = pathlib.Path(sys.argv[1])
    run = check if "--check" in sys.argv else write
    run(target / "generation.safetensors", target / "sampling.safetensors")


if __name__ == "__main__":
    main()
