"""Tests recipe kto of job train: its start, the same bytes on any number of ranks, and rows that cannot
be used."""
import json
import sys

import program
from recipe_case import RecipeCase

try:
    import h5py
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages



class Kto(RecipeCase):
    CONFIG = program.TOP / "conf/train/kto.yaml"
    FILES = ("reference.h5", *RecipeCase.FILES)

    def test_4_ranks_give_the_bytes_of_one(self):
        golden = self.golden()
        self.train(4)
        self.assertEqual(self.bytes_of(), golden)

    def test_1_and_2_ranks_give_the_same_bytes_and_begin_at_half_the_weights(self):
        golden = self.golden("checkpoint.every=2", "kto.undesirable_weight=1")
        kill = program.failpoint("train.pass:16:kill")  # in step 4
        self.train(1, "checkpoint.every=2", "kto.undesirable_weight=1", code=137, env=kill)
        self.train(2, "checkpoint.every=2", "kto.undesirable_weight=1")
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertEqual(self.columns("metrics/eval")["kl"].shape, (2,))
        self.assertEqual(train["loss"][0], 0.5)
        for name in ("chosen_reward", "rejected_reward", "reward_margin", "kl"):
            self.assertEqual(train[name][0], 0.0)
        self.assertLess(train["loss"][-1], train["loss"][0])
        self.assertGreater(train["reward_margin"][-1], 0.0)
        with h5py.File(self.run_folder() / "reference.h5") as file:
            self.assertEqual(len(file["reference/log_prob"]), 2 * (24 + 32))
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("KL divergence from the reference", page)
        self.assertNotIn("nats per row", page)

    def test_the_example_prints_the_result_of_the_page(self):
        shown = page_numbers.result_of("docs/kto.md", "label accuracy")
        self.run_to(0, 2, config=self.CONFIG)
        summary = json.loads((self.run_folder("kto") / "summary.json").read_text())
        self.assertEqual(pages.shape(summary["result"]), pages.shape(shown))
        for mine, other in zip(page_numbers.numbers(summary["result"]),
                               page_numbers.numbers(shown), strict=True):
            self.assertAlmostEqual(mine, other, delta=page_numbers.LOSS)

    def test_rows_and_keys_that_cannot_be_used_are_named(self):
        path = self.folder / "rows.jsonl"
        good = {"prompt": "Who?", "completion": " Mia.", "label": True}

        def write(*rows):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))

        write(good, good | {"label": "maybe"}, good | {"completion": ""})
        ended = self.train(1, f"data.path={path}", code=65)
        self.assertIn(":2: `label` is neither true nor false", ended.err)
        self.assertIn(":3: its completion is empty", ended.err)
        write(good)
        ended = self.train(2, f"data.path={path}", code=65)
        self.assertIn("there is only one row", ended.err)
        ended = self.train(1, "kto.desirable_weight=0", "kto.undesirable_weight=0", code=78)
        self.assertIn("are both 0", ended.err)
        ended = self.train(1, "train.global_batch_size=15", code=78)
        self.assertIn("is not a multiple of 2", ended.err)
        write(*[good, good | {"label": False}] * 8)
        self.train(2, f"data.path={path}", "kto.loss=apo_zero_unpaired",
                   "train.global_batch_size=4")
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(set(file["metrics/train/kl"][:]), {0.0})


if __name__ == "__main__":
    program.main()
