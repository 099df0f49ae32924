#!/usr/bin/env python3
"""Compares agents with latent steps (job collect) with transformers, on one thread, in CPU seconds.

  latent_peer.py PROGRAM [--rounds 6] [--questions 3]

The model is a random Llama of 15 million parameters. Three agents make 5 latent steps on each of 8
paths, and the judger draws 64 tokens for each path. Paths continue all parents, and no state is
stored. The peers do the same work with transformers. The first peer runs path by path, and each
path copies the cache of its parent. The second one runs all paths of a question in one batch with a
DynamicCache. They continue the path with the same number, so that they need not reorder caches.

Our time per question is the difference of runs with 1 and 1 + QUESTIONS questions. The start of the
program and the map of states to embeddings do not count. The last two lines compare 16 paths with
one path at a time, with a float32 and a bfloat16 cache. They count latent steps and drawn tokens
only: runs with one step and one token are subtracted.

Needs torch, transformers, numpy and safetensors. The peers run in this process.
"""
import argparse
import copy
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch
from transformers import AutoTokenizer, DynamicCache, LlamaForCausalLM

import cpu_time
import made_llama
import ratio

PATHS, STEPS, NEW_TOKENS = 8, 5, 64
CACHES = ("float32", "bfloat16")
QUESTION = "tom has three boxes of seven pens, and gives nine pens to a friend. how many are left?"
AGENTS = [{"name": name, "prompt": "question: {question}\n" + text + "\n"} for name, text in (
    ("planner", "plan the steps that lead to the answer."),
    ("critic", "look for mistakes in the plan, and name them."),
    ("refiner", "write a better plan."), ("judger", "follow the plan, and end with the answer."))]
CONFIG = """schema: 1
job: collect
run: {{name: bench, output: {folder}/outputs}}
model: {{path: {folder}/llama}}
data: {{path: {folder}/questions.jsonl, chat_template: none, max_samples: {questions}}}
collect:
  steps: latent
  num_paths: {paths}
  num_parent_paths: {paths}
  max_new_tokens: {new_tokens}
  batch_size: {batch}
  kv_cache_dtype: {cache}
  agents: {{path: {folder}/agents.json}}
  latent: {{steps: {steps}, store: none}}
"""


def run_ours(program, folder, questions, paths=PATHS, steps=STEPS, new_tokens=NEW_TOKENS,
             cache=CACHES[0]):
    """Returns the CPU seconds of a whole run, which works on one question at a time."""
    config = folder / "bench.yaml"
    config.write_text(CONFIG.format(folder=folder, questions=questions, paths=paths, steps=steps,
                                    new_tokens=new_tokens, batch=paths, cache=cache))
    return cpu_time.run_timed([program, config, "--resume=never", "-q"])


def ours(program, folder, questions, **sizes):
    """Returns CPU seconds per question."""
    return (run_ours(program, folder, 1 + questions, **sizes) -
            run_ours(program, folder, 1, **sizes)) / questions


class Peer:
    """Agents with transformers. All prompts of a question are the same for each path."""

    def __init__(self, folder):
        self.model = LlamaForCausalLM.from_pretrained(folder / "llama", dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder / "llama")
        self.prompts = [tokenizer(agent["prompt"].replace("{question}", QUESTION),
                                  return_tensors="pt")["input_ids"] for agent in AGENTS]
        embedding = self.model.get_input_embeddings().weight.detach()
        self.map = torch.eye(embedding.shape[1])  # its values do not change the time
        self.norm = embedding.norm(dim=1).mean()

    def think(self, cache, prompt, rows):
        """Runs a prompt and the latent steps of an agent. Returns the extended cache."""
        out = self.model.model(input_ids=prompt.expand(rows, -1), past_key_values=cache)
        for _ in range(STEPS):
            state = out.last_hidden_state[:, -1]
            state = state + torch.randn_like(state) * 0.1
            state = state @ self.map
            state = state * (self.norm / state.norm(dim=1, keepdim=True))
            out = self.model.model(inputs_embeds=state[:, None], past_key_values=cache)
        return cache

    def answer(self, cache, rows):
        """Draws the judger's tokens."""
        ids = self.prompts[-1].expand(rows, -1)
        for _ in range(NEW_TOKENS):
            hidden = self.model.model(input_ids=ids, past_key_values=cache).last_hidden_state
            logits = self.model.lm_head(hidden[:, -1])
            ids = torch.multinomial(torch.softmax(logits, dim=-1), 1)

    @torch.no_grad()
    def path_by_path(self):
        caches = [DynamicCache() for _ in range(PATHS)]
        for prompt in self.prompts[:-1]:
            caches = [self.think(copy.deepcopy(cache), prompt, 1) for cache in caches]
        for cache in caches:
            self.answer(copy.deepcopy(cache), 1)

    @torch.no_grad()
    def in_one_batch(self):
        cache = DynamicCache()
        for prompt in self.prompts[:-1]:
            cache = self.think(cache, prompt, PATHS)
        self.answer(cache, PATHS)


def cpu_seconds(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


def drawn_seconds(program, folder, questions, paths, cache):
    """Returns CPU seconds of latent steps and drawn tokens per question."""
    whole = ours(program, folder, questions, paths=paths, cache=cache)
    return whole - ours(program, folder, questions, paths=paths, steps=1, new_tokens=1, cache=cache)


def print_ratios(name, ratios):
    enough = len(ratios) >= ratio.LEAST_ROUNDS
    ends = [round(end, 2) for end in ratio.interval(ratios)] if enough else None
    print(json.dumps({"name": name, "value": round(statistics.median(ratios), 2),
                      "unit": "ratio of speeds", "rounds": len(ratios), "interval": ends}))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=ratio.LEAST_ROUNDS)
    parser.add_argument("--questions", type=int, default=3)
    args = parser.parse_args()
    args.program = args.program.resolve()
    torch.set_num_threads(1)
    ratios = {"path by path": [], "in one batch": []}
    ratios |= {f"16 paths / one at a time, {cache} cache": [] for cache in CACHES}
    with tempfile.TemporaryDirectory(prefix="mgpu_bench.") as name:
        folder = pathlib.Path(name)
        made_llama.make_llama(folder / "llama")
        (folder / "agents.json").write_text(json.dumps({"agents": AGENTS}))
        row = json.dumps({"prompt": QUESTION, "answer": "12"}) + "\n"
        (folder / "questions.jsonl").write_text(row * (1 + 8 * args.questions))
        peer = Peer(folder)
        peer.in_one_batch()  # allocates
        for number in range(args.rounds):
            mine = ours(args.program, folder, args.questions)
            apart, together = cpu_seconds(peer.path_by_path), cpu_seconds(peer.in_one_batch)
            many = [drawn_seconds(args.program, folder, args.questions, 16, cache)
                    for cache in CACHES]
            one = [drawn_seconds(args.program, folder, 8 * args.questions, 1, cache)
                   for cache in CACHES]
            found = (apart / mine, together / mine, *(16 * a / b for a, b in zip(one, many)))
            for key, value in zip(ratios, found):
                ratios[key].append(value)
            print(f"# round {number + 1}: ours {mine:.2f}, path by path {apart:.2f}, in one batch "
                  f"{together:.2f} CPU-s; 16 paths {many[0]:.2f} and {many[1]:.2f}, "
                  f"one {one[0]:.2f} and {one[1]:.2f}", file=sys.stderr, flush=True)
    for name, values in ratios.items():
        print_ratios(name, values)


if __name__ == "__main__":
    main()
