"""Trains value models on the rows of judged_rows(), and lets them guide generation."""
import json
import shutil

import program
import tiny_lm

try:
    import h5py
    import numpy as np
    import safetensors.numpy
except ImportError:
    h5py = None

TRAIN = """
schema: 1
job: train
run: {name: tiny, deterministic: layout}
train: {recipe: value, seq_len: 24, global_batch_size: 8, lanes: 4, max_steps: 4, eval_every: 2,
        learning_rate: 0.01, warmup_steps: 1}
"""
GENERATE = """
schema: 1
job: generate
run: {name: guided, chunk_size: 4}
generate: {max_new_tokens: 8, num_samples: 2, do_sample: "true", temperature: 0.9, batch_size: 8}
"""


def judged_rows(count):
    """Returns `count` rows with completions and values of column `cut`. The label is 1 if most
    tokens of the completion are below 33."""
    rows = []
    for i in range(count):
        ids = [(i * 17 + j * 29 + i * j) % 67 for j in range(2 + i % 7)]
        low = sum(token < 33 for token in ids)
        rows.append({"token_ids": [1, 3 + i % 9], "completion_ids": ids,
                     "label": float(2 * low > len(ids)), "cut": i % len(ids)})
    return rows


class ValueCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py or safetensors is not installed")
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.train_config = self.folder / "train.yaml"
        self.train_config.write_text(TRAIN)
        self.generate_config = self.folder / "generate.yaml"
        self.generate_config.write_text(GENERATE)
        self.data = tiny_lm.write_rows(self.folder / "rows.jsonl", judged_rows(40))
        self.held_out = tiny_lm.write_rows(self.folder / "held_out.jsonl", judged_rows(12))

    def train(self, ranks, *more, code=0, **options):
        given = {key.split("=")[0] for key in more}
        keys = {"model.path": self.model, "data.path": self.data, "data.eval_path": self.held_out}
        return self.run_to(code, ranks,
                           *[f"{key}={value}" for key, value in keys.items() if key not in given],
                           *more, config=self.train_config, **options)

    def value_folder(self):
        return self.run_folder("tiny") / "ckpt" / "last"

    def copy_of(self, folder, name):
        """Returns a copy of a model folder, without the checksums of the checkpoint."""
        copy = self.folder / name
        copy.mkdir()
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
            shutil.copy(folder / file, copy / file)
        return copy

    def make_prompts(self):
        return tiny_lm.write_rows(self.folder / "prompts.jsonl", tiny_lm.mixed_rows(12))

    def generate(self, ranks, *more, code=0, guide=None, **options):
        given = {key.split("=")[0] for key in more}
        keys = {"model.path": self.model, "data.path": self.make_prompts(),
                "generate.guide.path": guide}
        return self.run_to(code, ranks, *[f"{key}={value}" for key, value in keys.items()
                                          if value and key not in given],
                           *more, config=self.generate_config, **options)

    def samples(self):
        """Returns {path in results.h5: values} of the newest run's outputs, without their KL."""
        with h5py.File(self.run_folder("guided") / "results.h5") as file:
            found = {}
            file.visititems(lambda name, item: found.update({name: item[()].tolist()})
                            if isinstance(item, h5py.Dataset) and "output" in name
                            and "output_kl" not in name else None)
            return found

    def lists(self, column):
        """Returns a column of lists of the newest run, one list per completion."""
        with h5py.File(self.run_folder("guided") / "results.h5") as file:
            group = file[f"arrays/samples/{column}"]
            return np.split(group["values"][:], group["row_offsets"][1:-1])

    def column(self, name, table="samples"):
        with h5py.File(self.run_folder("guided") / "results.h5") as file:
            return file[f"{table}/{name}"][:]

    def results(self):
        return (self.run_folder("guided") / "results.h5").read_bytes()

    def start_over(self):
        shutil.rmtree(self.output / "guided", ignore_errors=True)

    def exported(self):
        folder = self.run_folder("guided")
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return folder / "results.jsonl"

    def export_pairs(self, *keys):
        folder = self.run_folder("guided")
        self.run_to(0, 1, "--export", "pairs", str(folder), *keys, config=None)
        return folder / "pairs.jsonl"

    def check_pairs(self, path, ties):
        """Checks that pairs are those of the greedy completion with both drawn ones."""
        rewards, outputs = self.column("reward").reshape(-1, 3), self.lists("output_ids")
        cuts = self.column("cut").reshape(-1, 3)
        expected = []
        for row, (first, *others) in enumerate(rewards.tolist()):
            for i, other in enumerate(others, 1):
                one, two = ([id for id in outputs[3 * row + k].tolist() if id > 2]  # no special ones
                            for k in (0, i))
                if not one or not two or one == two or (first == other and not ties):
                    continue
                self.assertEqual(one[:cuts[row, 0]], two[:cuts[row, 0]])
                expected.append((max(first, other), min(first, other), int(cuts[row, 0])))
        found = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual([(pair["score_chosen"], pair["score_rejected"], pair["cut"])
                          for pair in found], expected)
        self.assertGreater(len({pair["cut"] for pair in found}), 2)
        self.assertEqual(any(pair["score_chosen"] == pair["score_rejected"] for pair in found), ties)
