#!/usr/bin/env python3
"""Tests whether a new program is as fast as an old one. Runs both in turn.

  interleaved.py OLD_PROGRAM NEW_PROGRAM [--rounds 9] [--case NAME]

Each round runs every case with both programs, on one rank and one thread, as whole runs with
start-up and report; the order alternates. It prints for each case the median ratio old / new of CPU
seconds, the relative speed of the new program, with its 95 % interval. It ends with 1 if an
interval lies wholly below 0.97. Needs numpy and safetensors.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

import ratio
from cpu_time import run_timed
from made_llama import VOCAB, make_llama

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
from spelling import Words, spelling_of  # noqa: E402

LIMIT = 0.97
LEAST_ROUNDS = 9  # with fewer, the smallest and the largest ratio are the ends of the interval
QUIET = """
schema: 1
run: {name: bench}
report: {html: false}
log: {tensorboard: false}
"""
CASES = {
    "ad": """
job: train
model: {arch: algorithm_distillation, tf_n_embd: 64, tf_n_layer: 2, tf_n_head: 4, n_transit: 160}
data: {env: darkroom, source: explorer, streams: 3, episodes: 8}
train: {max_steps: 50, global_batch_size: 32, lanes: 4, learning_rate: 2e-3, eval_every: 50}
evaluate: {runs: 1, episodes: 2}
checkpoint: {every: 50}
""",
    "sft": """
job: train
model: {path: LLAMA}
data: {path: TEXTS}
train: {seq_len: 256, global_batch_size: 4, lanes: 4, max_steps: 3, learning_rate: 1e-4}
checkpoint: {every: 3}
""",
    "generate": """
job: generate
model: {path: LLAMA}
data: {path: PROMPTS}
generate: {max_new_tokens: 96, do_sample: "true", temperature: 0.9, batch_size: 16}
""",
    "teacher": """
job: teacher
model: {path: LLAMA}
data: {path: TEXTS}
teacher: {top_k: 64, batch_size: 8}
""",
    "rows": """
job: teacher
model: {path: NARROW}
data: {path: SHORT}
teacher: {top_k: 4, batch_size: 256}
""",
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=number_of_rounds, default=LEAST_ROUNDS)
    parser.add_argument("--case", choices=CASES, action="append", help="only this one")
    parser.add_argument("--new-keys", metavar="OLD=NEW", action="append", default=[],
                        help="a key that NEW_PROGRAM spells otherwise")
    return parser.parse_args()


def number_of_rounds(text):
    if int(text) < LEAST_ROUNDS:
        raise argparse.ArgumentTypeError(f"at least {LEAST_ROUNDS}")
    return int(text)


def make_files(folder):
    """Makes models and rows. Returns their paths by their placeholders in CASES."""
    rows = {
        "TEXTS": [[3 + (7 * j * j + 29 * j + 131 * i) % (VOCAB - 3) for j in range(256)]
                  for i in range(48)],
        "PROMPTS": [[3 + (7 * j * j + 31 * j + 137 * i) % (VOCAB - 3) for j in range(64)]
                    for i in range(32)],
        "SHORT": [[3 + i % 500, 3 + i % 7, 3 + i % 11] for i in range(120_000)]}
    for name, lines in rows.items():
        (folder / name).with_suffix(".jsonl").write_text(
            "".join(json.dumps({"token_ids": ids}) + "\n" for ids in lines))
    files = {name: (folder / name).with_suffix(".jsonl") for name in rows}
    return files | {"LLAMA": make_llama(folder / "llama"),
                    "NARROW": make_llama(folder / "narrow", width=32, layers=1, heads=2, inner=64,
                                         vocab=528)}


class Program:
    """One of the two programs, with configurations that have the program's names of keys."""

    def __init__(self, path, words, folder):
        self._path = path.resolve(strict=True)
        self._words = words
        self._folder = folder
        folder.mkdir()

    def write(self, case, files):
        text = QUIET + CASES[case]
        for name, path in files.items():
            text = text.replace(f": {name}", f": {path}")
        (self._folder / f"{case}.yaml").write_text(self._words.config(text))

    def run(self, case):
        """Returns CPU seconds, and the number of samples or steps."""
        output = self._folder / "outputs"
        seconds = run_timed([self._path, self._folder / f"{case}.yaml", f"run.output={output}"])
        summary = json.loads((output / "bench" / "latest" / "summary.json").read_text())
        shutil.rmtree(output)
        return seconds, summary["done"]


def run_round(number, programs, case):
    """Returns CPU seconds of both. The order alternates, because the machine's state may change."""
    order = programs if number % 2 == 0 else programs[::-1]
    (first_s, first_done), (second_s, second_done) = [one.run(case) for one in order]
    if first_done != second_done:
        sys.exit(f"{case}: {first_done} and {second_done} done: this is not the same work")
    return (first_s, second_s) if number % 2 == 0 else (second_s, first_s)


def verdict(ratios):
    """Returns median, interval, and whether the new program is significantly slower."""
    median, low, high = ratio.summary(ratios)
    return median, low, high, high < LIMIT


def print_case(case, rounds):
    """Prints the line of a case. Returns whether the case is fast enough."""
    median, low, high, is_slower = verdict([old / new for old, new in rounds])
    old_s, new_s = (statistics.median(seconds) for seconds in zip(*rounds))
    print(f"{case:<10} {len(rounds):>6} {old_s:>9.2f} {new_s:>9.2f}   {median:.3f}   "
          f"{low:.3f} .. {high:.3f}   {'SLOWER' if is_slower else 'ok'}", flush=True)
    return not is_slower


def main():
    args = parse()
    cases = args.case or list(CASES)
    with tempfile.TemporaryDirectory(prefix="mgpu_bench.") as folder:
        folder = pathlib.Path(folder)
        files = make_files(folder)
        programs = [Program(path, Words(spelling_of(args.new_keys, is_new)), folder / name)
                    for path, is_new, name in ((args.old, False, "old"), (args.new, True, "new"))]
        for program in programs:
            for case in cases:
                program.write(case, files)
        measured = {case: [] for case in cases}
        for number in range(args.rounds):
            for case in cases:
                measured[case].append(run_round(number, programs, case))
            print(f"# round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
    print("case       rounds old CPU s new CPU s   new speed / old speed, 95 % interval")
    are_fast = [print_case(case, rounds) for case, rounds in measured.items()]
    sys.exit(0 if all(are_fast) else 1)


if __name__ == "__main__":
    main()
