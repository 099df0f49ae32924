#!/usr/bin/env python3
"""Compares steps of recipe grpo with TRL's GRPOTrainer, on one thread, in CPU seconds.

  grpo_step.py PROGRAM --peer-python PYTHON [--rounds 6] [--steps 2] [--pass-rows 16] [--ours-rows 4]

The model is a random Llama of 15 million parameters in float32. A step samples 8 completions of
each of 8 prompts (64 + 64 tokens), and judges them with a regular expression. The start model
scores them (beta 0.04), and AdamW updates the weights. TRL samples with transformers' generate.

Both run in turn. A round of ours is a run of `--steps` + 1 steps less a run of one step, so that
start-up and report do not count. The peer measures its steps after the first. --pass-rows are the
rows of TRL in a training pass (per_device_train_batch_size), and --ours-rows those of ours
(train.micro_batch_size). The script fails if the two did not do the same work: it compares lengths,
and the entropies of the first step.

Needs numpy, safetensors and h5py; PYTHON also needs torch, transformers and TRL 1.16.
"""
import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import ratio
from cpu_time import run_timed
from made_llama import make_llama

PROMPTS, MEMBERS, PROMPT_TOKENS, NEW_TOKENS, BETA, RATE = 8, 8, 64, 64, 0.04, 1e-6
ROWS = PROMPTS * MEMBERS
PATTERN = "e"
END = "<|endoftext|>"  # TRL needs such a token, but never samples it
CONFIG = """
schema: 1
job: train
run: {name: bench, deterministic: layout}
model: {path: %s}
data: {path: %s}
reward: {functions: [regex], regex: %s}
grpo: {group_size: %d, max_new_tokens: %d, beta: %s, batch_size: %d}
train: {recipe: grpo, seq_len: %d, global_batch_size: %d, micro_batch_size: %d, lanes: 1,
        max_steps: %d, learning_rate: %s, weight_decay: 0.0, lr_schedule: constant}
checkpoint: {every: 0}
report: {html: false}
log: {tensorboard: false}
"""


def prompts():
    """Returns 8 * PROMPTS texts of digits. The tokenizer makes a token of each digit."""
    draw = random.Random(0)
    return ["".join(draw.choice("0123456789") for _ in range(PROMPT_TOKENS))
            for _ in range(8 * PROMPTS)]


def make_model(folder):
    """Makes the model. Its tokenizer has no token that ends a completion."""
    make_llama(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in config.items()
                                if name not in ("eos_token", "pad_token")}))


def read_metrics(results):
    """Returns the columns of table metrics/train of a result file."""
    import h5py
    with h5py.File(results) as file:
        return {name: column[:] for name, column in file["metrics/train"].items()}


def run_ours(args, folder, steps):
    """Returns the CPU seconds of a run, and its metrics."""
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts()))
    config = folder / "grpo.yaml"
    config.write_text(CONFIG % (folder / "llama", rows, PATTERN, MEMBERS, NEW_TOKENS, BETA, ROWS,
                                PROMPT_TOKENS + NEW_TOKENS, ROWS, args.ours_rows, steps, RATE))
    output = folder / "outputs"
    seconds = run_timed([args.program.resolve(), config, f"run.output={output}"])
    metrics = read_metrics(output / "bench" / "latest" / "results.h5")
    shutil.rmtree(output)
    return seconds, metrics


def ours(args, folder):
    """Returns CPU seconds per step, mean length and entropy of the first step."""
    one_s, _ = run_ours(args, folder, 1)
    all_s, metrics = run_ours(args, folder, 1 + args.steps)
    return ((all_s - one_s) / args.steps, float(metrics["completion_length"][0]),
            float(metrics["entropy"][0]))


def peer(args, folder):
    """Runs TRL in another Python, and returns the same values as ours()."""
    done = subprocess.run([args.peer_python, __file__, str(args.program), "--peer-folder", folder,
                           "--steps", str(args.steps), "--pass-rows", str(args.pass_rows)],
                          check=True, stdout=subprocess.PIPE, text=True,
                          stderr=None if args.verbose else subprocess.DEVNULL)
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_trl(args):
    """Trains with TRL, in the peer's process. Prints the values of ours() as JSON."""
    import re
    import torch
    from datasets import Dataset
    from transformers import AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    torch.set_num_threads(1)
    folder = args.peer_folder
    tokenizer = AutoTokenizer.from_pretrained(folder / "llama", eos_token=END, pad_token=END)
    if any(len(ids) != PROMPT_TOKENS for ids in tokenizer(prompts())["input_ids"]):
        sys.exit("a prompt has another number of tokens")

    class Clock(TrainerCallback):
        seconds = []

        def on_step_begin(self, *_, **__):
            self.begin = time.process_time()

        def on_step_end(self, *_, **__):
            self.seconds.append(time.process_time() - self.begin)

    config = GRPOConfig(
        output_dir=str(folder / "trl"), use_cpu=True, bf16=False, report_to=[],
        per_device_train_batch_size=args.pass_rows,
        gradient_accumulation_steps=ROWS // args.pass_rows, num_generations=MEMBERS,
        max_completion_length=NEW_TOKENS, beta=BETA, loss_type="grpo", temperature=1.0, top_k=0,
        top_p=1.0, learning_rate=RATE, weight_decay=0.0, lr_scheduler_type="constant",
        max_steps=1 + args.steps, gradient_checkpointing=False, save_strategy="no",
        logging_steps=1, optim="adamw_torch_fused", seed=0, disable_tqdm=True,
        dataloader_num_workers=0, model_init_kwargs={"dtype": "float32"},
        generation_kwargs={"min_new_tokens": NEW_TOKENS})

    def reward(completions, **_):
        return [1.0 if re.search(PATTERN, text) else 0.0 for text in completions]

    clock = Clock()
    trainer = GRPOTrainer(model=str(folder / "llama"), reward_funcs=reward, args=config,
                          train_dataset=Dataset.from_list([{"prompt": p} for p in prompts()]),
                          processing_class=tokenizer, callbacks=[clock])
    trainer.train()
    first = trainer.state.log_history[0]
    print(json.dumps([statistics.mean(clock.seconds[1:]), first["completions/mean_length"],
                      first["entropy"]]))


def require_same_work(mine, theirs):
    """Exits unless both sampled all tokens, with about the same mean entropy."""
    if mine[1] != NEW_TOKENS or theirs[1] != NEW_TOKENS:
        sys.exit(f"completions of {mine[1]} and {theirs[1]} tokens: this is not the same work")
    if abs(mine[2] - theirs[2]) > 0.02 * theirs[2]:
        sys.exit(f"entropies of {mine[2]} and {theirs[2]} nats: this is not the same work")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--peer-python", help="a Python that has TRL")
    parser.add_argument("--rounds", type=int, default=ratio.LEAST_ROUNDS)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--pass-rows", type=int, default=16)
    parser.add_argument("--ours-rows", type=int, default=4)
    parser.add_argument("--verbose", action="store_true", help="show the peer's stderr")
    parser.add_argument("--peer-folder", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer_folder is None and args.peer_python is None:
        parser.error("--peer-python is needed")
    if ROWS % args.pass_rows != 0 or ROWS % args.ours_rows != 0:
        parser.error(f"rows of a pass have to divide {ROWS}")
    return args


def print_result(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}))


def main():
    args = parse()
    if args.peer_folder is not None:
        run_trl(args)
        return
    with tempfile.TemporaryDirectory(prefix="mgpu_bench.") as folder:
        folder = pathlib.Path(folder)
        make_model(folder / "llama")
        rounds = []
        for number in range(args.rounds):
            order = (ours, peer) if number % 2 == 0 else (peer, ours)
            results = {side: side(args, folder) for side in order}
            require_same_work(results[ours], results[peer])
            rounds.append((results[ours][0], results[peer][0]))
            print(f"# round {number + 1}: {rounds[-1][0]:.2f} and {rounds[-1][1]:.2f} s",
                  file=sys.stderr, flush=True)
    for name, seconds in zip(("recipe grpo", "TRL"), zip(*rounds)):
        print_result(name, statistics.median(seconds), "CPU-s/step")
    ratios = [theirs / mine for mine, theirs in rounds]
    ends = ([round(end, 2) for end in ratio.interval(ratios)]
            if len(ratios) >= ratio.LEAST_ROUNDS else None)
    print_result("recipe grpo / TRL", statistics.median(ratios), "ratio of speeds",
                 rounds=args.rounds, interval=ends)


if __name__ == "__main__":
    main()
