"""Trains process reward models on made rows or on trees of job collect, and searches with them."""
import json
import shutil

import program
import tiny_lm
from collect_case import CONFIG, questions

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

TRAIN = """
schema: 1
job: train
run: {name: prm, deterministic: layout}
train: {recipe: prm, seq_len: 48, global_batch_size: 4, lanes: 4, max_steps: 4, eval_every: 2,
        learning_rate: 0.01, warmup_steps: 1}
"""
SEARCH = """
schema: 1
job: generate
run: {name: search, chunk_size: 4}
reward: {functions: [match]}
generate: {max_new_tokens: 12, num_samples: 4, temperature: 1, batch_size: 8, search: best_of_n}
"""
FILES = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors")


def stepwise_rows(count):
    """Returns `count` solutions, four for each question. A step is right if most of its letters
    come before n in the alphabet."""
    rows = []
    for i in range(count):
        steps = ["".join("abnz"[(i * j + j + k * k) % 4] for k in range(1 + (i + j) % 4))
                 for j in range(1 + i % 4)]
        rows.append({"prompt": f"see {i // 4}", "completions": steps,
                     "labels": [2 * sum(c < "n" for c in step) > len(step) for step in steps]})
    return rows


class PrmCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py is not installed")
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.train_config = self.folder / "train.yaml"
        self.train_config.write_text(TRAIN)
        self.search_config = self.folder / "search.yaml"
        self.search_config.write_text(SEARCH)
        self.rows = tiny_lm.write_rows(self.folder / "rows.jsonl", stepwise_rows(40))

    def train(self, ranks, *more, code=0, **options):
        given = {key.split("=")[0] for key in more}
        keys = {"model.path": self.model, "data.path": self.rows}
        if not any(key.endswith(".h5") for key in more):
            keys["prm.step_separator"] = "."  # the tokenizer has no line breaks
        return self.run_to(code, ranks,
                           *[f"{key}={value}" for key, value in keys.items() if key not in given],
                           *more, config=self.train_config, **options)

    def prm_folder(self):
        return self.run_folder("prm") / "ckpt" / "last"

    def bytes_of(self):
        return {file: (self.run_folder("prm") / file).read_bytes() for file in FILES}

    def summary(self, name="prm"):
        return json.loads((self.run_folder(name) / "summary.json").read_text())

    def start_over(self, name="prm"):
        shutil.rmtree(self.output / name, ignore_errors=True)

    def collect(self, *more):
        """Collects trees of 12 questions. Returns the result file."""
        path = tiny_lm.write_rows(self.folder / "questions.jsonl", questions(12))
        self.run_to(0, 1, f"model.path={self.model}", f"data.path={path}", *more, config=CONFIG)
        return self.run_folder() / "results.h5"

    def search(self, ranks, *more, code=0, reward=None):
        path = tiny_lm.write_rows(self.folder / "asked.jsonl", questions(9))
        keys = [f"model.path={self.model}", f"data.path={path}",
                f"generate.reward.path={reward or self.prm_folder()}"]
        given = {key.split("=")[0] for key in more}
        return self.run_to(code, ranks, *[key for key in keys if key.split("=")[0] not in given],
                           *more, config=self.search_config)

    def found(self):
        """Returns the columns of the search: scores, choices, rewards, and metrics of prompts."""
        with h5py.File(self.run_folder("search") / "results.h5") as file:
            columns = {name: file[f"samples/{name}"][:]
                       for name in ("search_score", "chosen", "same_as", "reward_match")}
            group = file["arrays/samples/step_scores"]
            columns["steps"] = np.split(group["values"][:], group["row_offsets"][1:-1])
            columns["metrics"] = {name: file[f"prompts/{name}"][:] for name in file["prompts"]}
            return columns
