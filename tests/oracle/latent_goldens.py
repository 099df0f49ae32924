"""Makes goldens of latent steps from transformers.

  python3 tests/oracle/latent_goldens.py tests/lm/goldens [--check]

Made with transformers 5.23.0, torch 2.11.0, safetensors 0.8.0 on the CPU, in float64. Writes
latent.safetensors: for each of FOLDERS, made by language_models.py,

  FOLDER.matrix           [D, D] float32, the solution A of (W_out' W_out + 1e-5 I) A = W_out' W_in
  FOLDER.norm             [1] float64, mean norm of the rows of W_in
  FOLDER.CARRY.states     [2, M, D] float32, the states from which the inputs of latent steps are made,
                          of two agents
  FOLDER.CARRY.greedy     [G] int64, greedy tokens after the prompt of a third agent; ends before a
                          step whose two best logits differ by less than 1e-3

CARRY says which keys and values an agent gets: all, latent_only or last_agent. After a shorter
cache, positions continue with its number of tokens.

With --check nothing is written: the exit code is 1 if transformers disagrees with the file.
"""
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import DynamicCache
from transformers.utils import logging

from language_models import is_same, open_model

FOLDERS = ["gpt2", "llama", "qwen3"]
PROMPTS = [[1, 40, 3, 22, 9, 5, 61], [17, 2, 30, 44, 8], [50, 12, 7, 33]]
STEPS = 3
TOKENS = 8


def realignment(model):
    out, into = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    normal = out.T @ out + 1e-5 * torch.eye(out.shape[1], dtype=out.dtype)
    return torch.linalg.solve(normal, out.T @ into), into.norm(dim=1).mean()


def forward(model, cache, **inputs):
    out = model.model if hasattr(model, "model") else model.transformer
    return out(past_key_values=cache, use_cache=True, **inputs).last_hidden_state[0]


def part_of(cache, kept):
    """Returns a cache with the keys and values of the tokens `kept`."""
    part = DynamicCache()
    for number, layer in enumerate(cache.layers):
        part.update(layer.keys[:, :, kept], layer.values[:, :, kept], number)
    return part


def greedy(model, cache, hidden):
    ids = []
    while len(ids) < TOKENS:
        best = model.get_output_embeddings()(hidden[-1]).topk(2)
        if best.values[0] - best.values[1] < 1e-3:
            break
        ids.append(int(best.indices[0]))
        hidden = forward(model, cache, input_ids=torch.tensor([ids[-1:]]))
    return torch.tensor(ids, dtype=torch.int64)


def think(model, cache, hidden, matrix, norm):
    """Makes latent steps. Returns the states from which their inputs were made."""
    states = []
    for _ in range(STEPS):
        states.append(hidden[-1])
        step = hidden[-1] @ matrix
        hidden = forward(model, cache, inputs_embeds=(step * norm / step.norm())[None, None])
    return torch.stack(states)


def carried(cache, carry, latents, own):
    """Returns the cache of the next agent, and the places in it that count as latent steps.
    `latents` are these places in `cache`, and the agent's tokens begin at place `own`."""
    if carry == "all":
        return cache, latents
    kept = latents if carry == "latent_only" else list(range(own, cache.get_seq_length()))
    return part_of(cache, kept), list(range(len(kept)))


@torch.no_grad()
def chain(model, carry, matrix, norm):
    cache, latents, states = DynamicCache(), [], []
    for ids in PROMPTS[:-1]:
        own = cache.get_seq_length()
        hidden = forward(model, cache, input_ids=torch.tensor([ids]))
        first = cache.get_seq_length()
        states.append(think(model, cache, hidden, matrix, norm))
        latents = latents + list(range(first, first + STEPS))
        cache, latents = carried(cache, carry, latents, own)
    hidden = forward(model, cache, input_ids=torch.tensor([PROMPTS[-1]]))
    return torch.stack(states), greedy(model, cache, hidden)


def goldens(target):
    golden = {}
    for name in FOLDERS:
        model = open_model(target / name)
        with torch.no_grad():
            matrix, norm = realignment(model)
        golden[f"{name}.matrix"] = matrix.float().contiguous()
        golden[f"{name}.norm"] = norm.reshape(1)
        for carry in ("all", "latent_only", "last_agent"):
            states, ids = chain(model, carry, matrix, norm)
            golden[f"{name}.{carry}.states"] = states.float().contiguous()
            golden[f"{name}.{carry}.greedy"] = ids
    return golden


def main():
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # for many small operations threads only cost time
    target = pathlib.Path(sys.argv[1])
    path = target / "latent.safetensors"
    if "--check" not in sys.argv:
        save_file(goldens(target), path)
    elif not is_same(load_file(path), goldens(target), atol=1e-5):
        sys.exit("latent_goldens.py: other values now")


if __name__ == "__main__":
    main()
