"""Tests recipe dpo of job train: its start, the table of the reference, resumed runs, and pairs that
cannot be used."""
import json
import math
import random
import shutil
import signal
import sys

import program
import tiny_lm
from recipe_case import RecipeCase
from shipped_experiment import ShippedExperiment

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

VALUES = ("chosen_reward", "rejected_reward", "reward_margin", "chosen_log_prob",
          "rejected_log_prob")


class Dpo(RecipeCase):
    CONFIG = program.TOP / "conf/train/dpo.yaml"
    FILES = ("reference.h5", *RecipeCase.FILES)

    def test_4_ranks_give_the_bytes_of_one(self):
        golden = self.golden()
        self.train(4)
        self.assertEqual(self.bytes_of(), golden)

    def test_1_and_2_ranks_give_the_same_bytes_and_begin_at_ln_2(self):
        golden = self.golden()
        self.train(2)
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertEqual(self.columns("metrics/eval")["reward_margin"].shape, (2,))
        self.assertEqual(train["loss"][0], math.log(2))
        for name in ("chosen_reward", "rejected_reward", "reward_margin", "accuracy"):
            self.assertEqual(train[name][0], 0.0)
        self.assertLess(train["loss"][-1], train["loss"][0])
        self.assertGreater(train["reward_margin"][-1], 0.0)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(len(summary["series"]["reward_margin"]), 6)
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("<h3>Rewards</h3>", page)
        self.assertIn("per pair", page)
        with h5py.File(self.run_folder() / "reference.h5") as file:
            self.assertEqual(len(file["reference/log_prob"]), 2 * (24 + 32))
            self.assertLess(file["reference/log_prob"][:].max(), 0.0)

    def test_a_model_learns_from_its_own_answers_as_on_the_page(self):
        friendly = program.TOP / "conf/examples/friendly"
        start = f"model.path={self.output}/friendly_reference/latest/ckpt/last"
        self.run_to(0, 1, config=friendly / "reference.yaml")
        self.run_to(0, 1, start, config=friendly / "rollouts.yaml")
        folder = self.run_folder("friendly_rollouts")
        self.run_to(0, 1, "--export", "pairs", str(folder), config=None)
        self.run_to(0, 1, "model.init=null", start, f"data.path={folder}/pairs.jsonl",
                    "data.eval_path=null", config=self.CONFIG)
        self.run_to(0, 1, "run.name=friendly_after", f"model.path={self.output}/dpo/latest/ckpt/last",
                    f"data.path={program.TOP}/conf/examples/pairs/held_out.jsonl",
                    "generate.num_samples=32", config=friendly / "rollouts.yaml")
        summary = json.loads((self.run_folder("friendly_after") / "summary.json").read_text())
        shown = page_numbers.numbers(pages.block_with("docs/dpo.md", "reward 0.9"))[0]
        self.assertAlmostEqual(summary["results"]["reward"]["value"], shown, delta=page_numbers.LOSS)

    def log_probs(self, model, answers):
        """Returns the log-probability of Q followed by each answer."""
        ids = {text: i for i, text in enumerate(tiny_lm.CHARACTERS)}
        rows = tiny_lm.write_rows(self.folder / "scored.jsonl", [
            {"token_ids": [1, ids["Q"], *(ids[letter] for letter in answer), 2]}
            for answer in answers])
        config = self.folder / "score.yaml"
        config.write_text("schema: 1\njob: generate\nrun: {name: scored}\n")
        shutil.rmtree(self.output / "scored", ignore_errors=True)
        self.run_to(0, 1, f"model.path={model}", f"data.path={rows}",
                    "generate.max_new_tokens=0", config=config)
        with h5py.File(self.run_folder("scored") / "results.h5") as file:
            return file["samples/prompt_log_prob"][:]

    def test_rewards_are_those_behind_the_preferences(self):
        draws = random.Random(5)
        true = {a + b: draws.gauss(0, 1.5) for a in "abcdef" for b in "abcdef"}
        pairs = []
        for _ in range(4000):
            one, other = draws.sample(sorted(true), 2)
            if draws.random() > 1 / (1 + math.exp(true[other] - true[one])):
                one, other = other, one
            pairs.append({"prompt": "Q", "chosen": one, "rejected": other})
        data = tiny_lm.write_rows(self.folder / "drawn.jsonl", pairs)
        model = tiny_lm.make_folder(self.folder / "model")
        self.run_to(0, 2, "run.name=tiny", "model.init=null", f"model.path={model}",
                    f"data.path={data}", "data.eval_path=null", "dpo.beta=0.5", "train.seq_len=8",
                    "train.global_batch_size=128", "train.max_steps=150", "train.learning_rate=3e-3",
                    "train.eval_every=0", config=self.CONFIG)
        learned = (self.log_probs(self.run_folder() / "ckpt/last", list(true)) -
                   self.log_probs(model, list(true)))
        correlation = np.corrcoef(learned, list(true.values()))[0, 1]
        self.assertGreater(correlation, 0.95)
        # The rewards have the scale of the true ones, too.
        slope = np.polyfit(list(true.values()), 0.5 * learned, 1)[0]
        self.assertAlmostEqual(slope, 1, delta=0.25)

    def test_the_example_prints_the_result_of_the_page(self):
        shown = page_numbers.result_of("docs/dpo.md", "pair accuracy")
        self.run_to(0, 2, config=self.CONFIG)
        summary = json.loads((self.run_folder("dpo") / "summary.json").read_text())
        self.assertEqual(pages.shape(summary["result"]), pages.shape(shown))
        for mine, other in zip(page_numbers.numbers(summary["result"]),
                               page_numbers.numbers(shown), strict=True):
            self.assertAlmostEqual(mine, other, delta=page_numbers.LOSS)

    def stop_in_the_reference(self, *arguments):
        mark = self.folder / "mark"
        slow = program.failpoint("chunk.work@0:3:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
        job = self.start(2, *self.KEYS, *arguments, config=self.CONFIG, env=slow)
        self.assertTrue(job.wait_until(mark.exists))
        program.send(job.process.pid, signal.SIGUSR1)
        ended = job.wait()
        self.assertEqual(ended.code, 75, ended.out[-2000:] + ended.err[-2000:])

    def test_a_killed_or_stopped_run_uses_its_reference_again(self):
        golden = self.golden("checkpoint.every=2")
        kill = program.failpoint("chunk.work:5:kill")
        self.train(1, "checkpoint.every=2", code=137, env=kill)
        self.stop_in_the_reference("checkpoint.every=2")
        self.assertFalse((self.run_folder() / "reference.h5").exists())
        kill = program.failpoint("train.pass:16:kill")  # in step 4
        self.train(1, "checkpoint.every=2", code=137, env=kill)
        reference = self.run_folder() / "reference.h5"
        written = reference.stat().st_mtime_ns
        self.train(2, "checkpoint.every=2")
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(reference.stat().st_mtime_ns, written)
        self.assertEqual(self.bytes_of(), golden)

    def test_other_weights_of_the_reference_are_refused(self):
        folders = [self.folder / f"seed{seed}" for seed in range(2)]
        for seed, folder in enumerate(folders):
            self.train(1, f"run.seed={seed}", "train.max_steps=1", f"run.output={folder}")
        model = self.folder / "model"
        shutil.copytree(folders[0] / "tiny/latest/ckpt/last", model)
        more = ("model.init=null", f"model.path={model}")
        self.train(1, *more, code=137, env=program.failpoint("chunk.work:2:kill"))
        shutil.rmtree(model)
        shutil.copytree(folders[1] / "tiny/latest/ckpt/last", model)
        ended = self.train(1, *more, code=73)
        self.assertIn("or its weights have changed", ended.err)
        self.assertEqual(self.num_runs(), 1)

    def test_a_reference_of_another_folder_is_used_and_freed(self):
        first = self.folder / "first"
        self.train(1, f"run.output={first}")
        other = first / "tiny/latest/ckpt/last"
        starts_there = self.folder / "there"
        self.train(1, "model.init=null", f"model.path={other}", f"run.output={starts_there}")
        golden = self.golden(f"dpo.reference={other}")
        self.assertEqual(golden["reference.h5"],
                         self.bytes_of(starts_there / "tiny/latest")["reference.h5"])
        self.train(2, f"dpo.reference={other}")
        self.assertEqual(self.bytes_of(), golden)
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertNotEqual(file["metrics/train/loss"][0], math.log(2))
            self.assertEqual(file["metrics/train/loss"].attrs["units"], "nats")

    def test_the_plan_has_the_reference_and_other_references_are_refused(self):
        plan = self.train(1, "--plan").out
        self.assertIn("reference", plan)
        self.assertIn("112 examples of up to 64 tokens", plan)
        other = tiny_lm.make_folder(self.folder / "other")
        ended = self.train(1, f"dpo.reference={other}", code=78)
        self.assertIn("has another tokenizer.json than the trained model", ended.err)
        ended = self.train(1, f"dpo.reference={self.folder}/none", code=66)
        self.assertIn("dpo.reference", ended.err)

    def test_losses_without_a_unit_are_shown_without_one(self):
        self.train(1, "dpo.loss=ipo")
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("loss (per pair)", page)
        self.assertNotIn("nats per pair", page)
        self.assertIn("reward_margin, held out", page)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertNotEqual(summary["results"]["loss"].get("unit"), "nats")

    def test_pairs_that_cannot_be_used_are_named_or_left_out(self):
        path = self.folder / "pairs.jsonl"
        good = {"prompt": "Who?", "chosen": " Mia.", "rejected": " Tom."}
        bad = [good | {"rejected": " Mia."}, good | {"chosen": ""}, good | {"chosen": " Mia." * 40}]

        def write(*rows):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))

        write({"prompt": "Who?", "chosen": " Mia."}, good)
        self.assertIn(":1: it has no `rejected`", self.train(1, f"data.path={path}", code=65).err)
        write(*bad, *[good] * 8)
        ended = self.train(1, f"data.path={path}", code=65)
        for line in (":1: `chosen` and `rejected` are equal", ":2: `chosen` is empty",
                     ":3: it has "):
            self.assertIn(line, ended.err)
        write(*bad, {"prompt": "Who?"}, *[good] * 8)
        self.train(1, f"data.path={path}", "data.on_bad_row=mark")
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["results"]["bad_rows"]["value"], 4)
        ended = self.train(1, "dpo.label_smoothing=0.1", code=78)
        self.assertIn("means something with dpo.loss=robust only", ended.err)
        ended = self.train(1, "train.recipe=sft", "dpo.beta=0.2", code=78)
        self.assertIn("dpo.beta", ended.err)

    def test_other_pairs_are_refused_and_a_damaged_reference_is_made_again(self):
        path = self.folder / "pairs.jsonl"
        rows = [{"prompt": f"{n}?", "chosen": " yes", "rejected": " no"} for n in range(8)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        more = (f"data.path={path}", "checkpoint.every=2")
        golden = self.golden(*more)
        kill = program.failpoint("train.pass:12:kill")  # in step 3
        self.train(1, *more, code=137, env=kill)
        reference = self.run_folder() / "reference.h5"
        written = bytearray(reference.read_bytes())
        place = bytes(golden["reference.h5"])
        self.assertEqual(place, bytes(written))
        with h5py.File(reference, "r+") as file:
            file["reference/log_prob"][0] = -1.0
        path.write_text(path.read_text().replace("yes", "yep"))
        ended = self.train(1, *more, code=73)
        self.assertIn("about other examples", ended.err)
        path.write_text(path.read_text().replace("yep", "yes"))
        ended = self.train(1, *more)
        self.assertEqual(self.bytes_of(), golden)


class WorkedSums(ShippedExperiment):

    def right_answers(self, stage):
        """Returns the shares of right answers and of right votes, in percent."""
        results = self.results_of("worked_sums", stage)
        return np.array([100 * results["score"], 100 * results["maj_4"]])

    def check(self, number, cell, delta):
        """Compares a number with the nearest one of a cell, which has a number per processor."""
        nearest = min(page_numbers.numbers(cell), key=lambda shown: abs(shown - number))
        self.assertAlmostEqual(number, nearest, delta=delta)

    def test_worked_sums_are_learned_as_on_the_page(self):
        self.run_experiment("worked_sums")
        start, alone, both = pages.table("worked sums", program.TOP / "docs/dpo.md")
        for training, row in (("dpo_alone", alone), ("dpo", both)):
            accuracy = self.results_of("worked_sums", training)["eval_accuracy"]
            self.assertGreaterEqual(accuracy, 0.9)
            self.check(accuracy, row[1], 0.04)
        before, after_alone, after = map(self.right_answers, ("held_out", "after_alone", "after"))
        for shares, row in ((before, start), (after_alone, alone), (after, both)):
            for share, cell in zip(shares, row[2:], strict=True):
                self.check(share, cell, 8)
        self.assertGreater((before - after_alone).min(), 10)
        self.assertGreater((after - before).min(), -3)


if __name__ == "__main__":
    program.main()
