#!/usr/bin/env python3
"""Measures what train.share_prompts saves in steps of recipe grpo, on one thread, in CPU seconds.

  shared_prompts.py PROGRAM [--rounds 6] [--steps 1] [--prompts 1] [--prompt-tokens 256]

The model and a step are those of grpo_step.py: a random Llama of 15 million parameters, 8 completions of
64 tokens of each prompt, and the start model scores them. A pass has all completions of a prompt.
Runs with and without sharing take turns. The script fails if the entropies of the
first steps differ, or if log_prob_difference is not 0.

Needs numpy, safetensors and h5py.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile

import grpo_step
import ratio


def measure(args, folder, shares):
    """Returns CPU seconds per step, and the entropy of the first step."""
    plain = grpo_step.CONFIG
    flag = "true" if shares else "false"
    grpo_step.CONFIG = plain.replace("lanes: 1,", f"lanes: 1, share_prompts: {flag},")
    try:
        one_s, _ = grpo_step.run_ours(args, folder, 1)
        all_s, metrics = grpo_step.run_ours(args, folder, 1 + args.steps)
    finally:
        grpo_step.CONFIG = plain
    if metrics["log_prob_difference"].any():
        sys.exit("sampler and training differ")
    return (all_s - one_s) / args.steps, float(metrics["entropy"][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=ratio.LEAST_ROUNDS)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--prompts", type=int, default=1)
    parser.add_argument("--prompt-tokens", type=int, default=256)
    args = parser.parse_args()
    args.ours_rows = grpo_step.MEMBERS
    grpo_step.PROMPTS = args.prompts
    grpo_step.ROWS = args.prompts * grpo_step.MEMBERS
    grpo_step.PROMPT_TOKENS = args.prompt_tokens
    rounds = []
    with tempfile.TemporaryDirectory(prefix="mgpu_bench.") as folder:
        folder = pathlib.Path(folder)
        grpo_step.make_model(folder / "llama")
        for number in range(args.rounds):
            results = {shares: measure(args, folder, shares)
                       for shares in ((True, False) if number % 2 == 0 else (False, True))}
            if results[True][1] != results[False][1]:
                sys.exit("the entropies of the first step differ")
            rounds.append((results[True][0], results[False][0]))
            print(f"# round {number + 1}: {rounds[-1][0]:.2f} and {rounds[-1][1]:.2f} s",
                  file=sys.stderr, flush=True)
    for name, seconds in zip(("shared prompts", "separate prompts"), zip(*rounds)):
        grpo_step.print_result(name, statistics.median(seconds), "CPU-s/step")
    ratios = [separate / shared for shared, separate in rounds]
    ends = ([round(end, 2) for end in ratio.interval(ratios)]
            if len(ratios) >= ratio.LEAST_ROUNDS else None)
    grpo_step.print_result("shared / separate", statistics.median(ratios), "ratio of speeds",
                           rounds=args.rounds, interval=ends)


if __name__ == "__main__":
    main()
