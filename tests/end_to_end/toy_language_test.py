"""A toy language of 4^6 strings: the rewards and KL of a learned guide against exact sums over all
strings."""
import itertools
import json
import math
import random
import sys

import program
import tiny_lm

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

TABLE = pages.table("toy language", program.TOP / "docs/value.md")
CONFIG = program.TOP / "conf/examples/star_graph/model/config.json"
LENGTH = 6
TRAIN = """
schema: 1
job: train
run: {name: NAME, deterministic: layout}
train: {seq_len: 8, global_batch_size: 128, lanes: 2, warmup_steps: 20}
checkpoint: {every: 0, keep: 1}
"""
GENERATE = """
schema: 1
job: generate
run: {chunk_size: 10}
generate: {max_new_tokens: 6, num_samples: 200, do_sample: "true", temperature: 1, top_k: 0,
           top_p: 1, batch_size: 500}
"""


def is_success(ids):
    return float(sum(ids) >= 11)


def best_value(success, eta):
    """Returns max E[R] - eta KL over all policies, where the reference succeeds this often."""
    return eta * math.log(success * math.exp(1 / eta) + 1 - success)


class ToyLanguage(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py is not installed")
        (self.folder / "model").mkdir()
        config = json.loads(CONFIG.read_text()) | {"vocab_size": 4, "n_embd": 32, "n_layer": 2}
        (self.folder / "model" / "config.json").write_text(json.dumps(config))
        tokenizer = tiny_lm.tokenizer_of_characters() | {"added_tokens": [], "post_processor": None}
        tokenizer["model"]["vocab"] = {letter: i for i, letter in enumerate("abcd")}
        (self.folder / "model" / "tokenizer.json").write_text(json.dumps(tokenizer))
        (self.folder / "model" / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
        self.generate_config = self.folder / "generate.yaml"
        self.generate_config.write_text(GENERATE)

    def model(self, name):
        return f"{self.output}/{name}/latest/ckpt/last"

    def train(self, name, rows, *more):
        config = self.folder / f"{name}.yaml"
        config.write_text(TRAIN.replace("NAME", name))
        data = tiny_lm.write_rows(self.folder / f"{name}.jsonl", rows)
        self.run_to(0, 2, f"data.path={data}", *more, config=config)

    def generate(self, name, rows, *more):
        """Returns the table of samples of a run with these prompts, by column."""
        data = tiny_lm.write_rows(self.folder / f"{name}.jsonl", rows)
        self.run_to(0, 2, f"run.name={name}", f"data.path={data}",
                    f"model.path={self.model('reference')}", *more, config=self.generate_config)
        with h5py.File(self.run_folder(name) / "results.h5") as file:
            return {key: column[:] for key, column in file["samples"].items()
                    if isinstance(column, h5py.Dataset)}

    def draw(self, name, *more):
        """Draws strings. Returns their ids, and the KL of each string if there is a guide."""
        samples = self.generate(name, [{"token_ids": [0]}] * 50, *more)
        self.run_to(0, 1, "--export", "jsonl", str(self.run_folder(name)), config=None)
        lines = (self.run_folder(name) / "results.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        kl = [sum(row["output_kl"]) for row in rows] if "output_kl" in rows[0] else None
        self.assertEqual(len(rows), len(samples["finish"]))
        return [row["output_ids"] for row in rows], kl

    def success_of_reference(self):
        """Returns the exact probability of success: a sum over all strings."""
        strings = list(itertools.product(range(4), repeat=LENGTH))
        samples = self.generate("strings", [{"token_ids": [0, *ids]} for ids in strings],
                                "generate.max_new_tokens=0", "generate.num_samples=1",
                                "run.chunk_size=1024")
        probabilities = np.exp(samples["prompt_log_prob"])
        self.assertAlmostEqual(probabilities.sum(), 1, delta=1e-4)
        return float(sum(p for p, ids in zip(probabilities, strings) if is_success(ids)))

    def test_a_learned_guide_has_nearly_the_best_value(self):
        draws = random.Random(1)
        bigram = [[math.exp(math.sin(2.3 * (5 * last + token))) for token in range(4)]
                  for last in range(4)]
        rows = []
        for _ in range(2000):
            ids = [0]
            for _ in range(LENGTH):
                ids += draws.choices(range(4), bigram[ids[-1]])
            text = "".join("abcd"[token] for token in ids)
            rows.append({"prompt": text[0], "completion": text[1:]})
        self.train("reference", rows, f"model.init={self.folder}/model", "train.max_steps=60",
                   "train.learning_rate=3e-3")
        success = self.success_of_reference()
        strings, _ = self.draw("rollouts")
        self.train("value", [{"token_ids": [0], "completion_ids": ids, "label": is_success(ids)}
                             for ids in strings],
                   "train.recipe=value", f"model.path={self.model('reference')}",
                   "train.max_steps=300", "train.learning_rate=2e-3")
        for eta in (0.3, 1):
            value = {}
            for algorithm in ("qsharp", "cd"):
                guided, kl = self.draw(f"{algorithm}_{eta}", f"generate.guide.eta={eta}",
                                       f"generate.guide.path={self.model('value')}",
                                       f"generate.guide.algorithm={algorithm}",
                                       "generate.guide.top_k=4")
                value[algorithm] = np.mean([is_success(ids) for ids in guided]) - eta * np.mean(kl)
            best = best_value(success, eta)
            shown = {row[0]: [float(cell) for cell in row[1:]] for row in TABLE}[str(eta)]
            for mine, other in zip((best, value["qsharp"], value["cd"]), shown, strict=True):
                self.assertAlmostEqual(mine, other, delta=0.02)
            self.assertAlmostEqual(value["qsharp"] / best, 1, delta=0.02)
            self.assertLess(value["cd"], value["qsharp"] - (0.02 if eta == 0.3 else 0))


if __name__ == "__main__":
    program.main()
