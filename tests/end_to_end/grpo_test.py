"""Tests recipe grpo of job train: equal bytes at any number of ranks, resumed runs, the comparison of
sampler and training, rewards without scores, and settings that are refused."""
import json
import math
import re
import shutil
import sys

import program
import tiny_lm
from recipe_case import RecipeCase, h5py
from shipped_experiment import ShippedExperiment

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

START = program.TOP / "conf/train/grpo_start.yaml"
SEVERAL = ("grpo.num_iterations=2", "grpo.temperature=0.8", "grpo.beta=0.05", "grpo.top_p=0.95",
           "grpo.clip_low=0.001", "checkpoint.every=1")


class Grpo(RecipeCase):
    CONFIG = program.TOP / "conf/train/grpo.yaml"
    # A model with random weights, rewarded for the letter e.
    KEYS = ("run.name=tiny", "model.path=null", f"model.init={program.SMALL_LM}",
            "train.max_steps=5",
            "train.global_batch_size=16", "train.lanes=4", "grpo.group_size=4",
            "grpo.max_new_tokens=6", "reward.functions={regex: 1, length: 0.01}", "reward.regex=e",
            "reward.length=5")

    def test_1_and_2_ranks_give_the_same_bytes_and_sample_as_training_computes(self):
        golden = self.golden()
        ended = self.train(2)
        self.assertRegex(ended.out, r"step 5/5 .* reward \d\S* +log_prob_difference 0\s")
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertEqual(set(train["log_prob_difference"]), {0.0})
        self.assertEqual(set(train["clip_share"]), {0.0})
        self.assertLess(abs(train["loss"]).max(), 1e-6)
        self.assertGreater(train["entropy"].min(), 1.0)
        self.assertNotIn("kl", train)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(len(summary["series"]["reward"]), 5)
        page = (self.run_folder() / "report.html").read_text()
        for title in ("Rewards", "Shares", "Length of completions"):
            self.assertIn(f"<h3>{title}</h3>", page)
        self.assertIn("Mean reward", page)

    def test_4_ranks_that_share_groups_give_the_bytes_of_one(self):
        group = ("grpo.group_size=8", *SEVERAL)
        golden = self.golden(*group)
        self.train(4, *group)
        self.assertEqual(self.bytes_of(), golden)

    def test_killed_runs_continue_with_their_completions(self):
        golden = self.golden(*SEVERAL)
        kill = program.failpoint("train.pass:14:kill")  # in step 4, the second with its completions
        self.train(1, *SEVERAL, code=137, env=kill)
        self.train(2, *SEVERAL)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertEqual(set(train["log_prob_difference"]), {0.0})
        self.assertEqual(list(train["reward"][0::2][:2]), list(train["reward"][1::2][:2]))
        self.assertEqual(train["kl"][0], 0.0)
        self.assertGreater(train["kl"][1], 0.0)
        self.assertEqual(train["clip_share"][0], 0.0)
        self.assertGreater(train["clip_share"][1], 0.0)
        self.run_to(0, 1, "--merge", str(self.run_folder()), config=None)

    def test_another_start_model_is_refused_when_a_run_is_resumed(self):
        self.train(1, "run.name=start", "train.max_steps=1")
        start = self.folder / "start_model"
        shutil.copytree(self.run_folder("start") / "ckpt/last", start)
        (start / "MANIFEST.json").unlink()
        keys = ("model.init=null", f"model.path={start}", "checkpoint.every=1", "grpo.beta=0.1")
        kill = program.failpoint("train.pass:10:kill")  # in step 3
        self.train(1, *keys, code=137, env=kill)
        self.train(1, "run.name=other", "train.max_steps=2")
        shutil.copy(self.run_folder("other") / "ckpt/last/model.safetensors", start)
        ended = self.train(1, *keys, code=73)
        self.assertIn("the start model or the data holds other weights or prompts", ended.err)

    def sampled_rows(self):
        """Returns the rows of the page's table of answers: lists of texts."""
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("Answers before and after the training, to prompts of", page)
        table = page[page.index("Answers before and after the training"):].split("</table>")[0]
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in table.split("<tr>")]
        return [row for row in rows if row]

    def test_the_page_shows_answers_before_and_after(self):
        self.train(1, "run.name=start", "train.max_steps=1")
        page = (self.run_folder("start") / "report.html").read_text()
        self.assertNotIn("Answers before", page)  # random weights have no answers worth reading
        start = self.run_folder("start") / "ckpt/last"
        keys = ("model.init=null", f"model.path={start}", "checkpoint.every=1",
                "train.learning_rate=0.05", "train.max_steps=4")
        self.train(1, *keys)
        rows = self.sampled_rows()
        self.assertEqual({len(row) for row in rows}, {5})
        self.assertNotEqual([row[2] for row in rows], [row[3] for row in rows])
        shutil.rmtree(self.output / "tiny")
        self.train(1, *keys, code=137, env=program.failpoint("train.pass:8:kill"))
        self.train(2, *keys)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sampled_rows(), rows)

    def test_a_sampler_with_another_weight_is_noticed(self):
        for more in ((), ("grpo.num_iterations=2", "grpo.temperature=0.8")):
            with self.subTest(more=more):
                shift = program.failpoint("grpo.sampler:2:EIO")
                self.train(1, *more, "train.max_steps=4", "--resume=never", env=shift)
                difference = list(self.columns("metrics/train")["log_prob_difference"])
                shifted = difference[2:] if more else difference[1:2]
                self.assertGreater(min(shifted), 0.0)
                self.assertLess(max(shifted), 0.1)
                self.assertEqual({0.0}, set(difference) - set(shifted))

    def test_a_reward_command_may_leave_rows_without_a_score(self):
        script = self.folder / "reward.py"
        script.write_text(
            "import json, sys\n"
            "for line in sys.stdin:\n"
            "    row = json.loads(line)\n"
            "    length = len(row['completion'])\n"
            "    reward = None if length % 3 == 0 else length\n"
            "    print(json.dumps({'row': row['row'], 'reward': reward}), flush=True)\n")
        command = ("reward.functions=[command]", f"reward.command={sys.executable} {script}",
                   "reward.regex=null", "reward.length=null")
        golden = self.golden(*command)
        self.train(2, *command)
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertTrue(0.0 < train["unscored_share"].max() < 1.0)
        self.assertTrue(all(math.isfinite(loss) for loss in train["loss"]))
        script.write_text("raise SystemExit('no scores today')\n")
        ended = self.run_program(2, *self.keys_with(command), "--resume=never", config=self.CONFIG)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("E551", ended.err)
        self.assertIn("no scores today", ended.err)

    def test_every_variant_trains(self):
        for variant in ("dr_grpo", "dapo", "bnpo", "cispo", "gspo", "rloo", "reinforce",
                        "seed_offline"):
            with self.subTest(variant=variant):
                self.train(1, f"grpo.variant={variant}", "train.max_steps=2", "grpo.beta=0.01",
                           "--resume=never")
                train = self.columns("metrics/train")
                self.assertTrue(all(map(math.isfinite, train["loss"])))
                self.assertGreater(train["grad_norm"][0], 0.0)

    def test_completions_without_an_end_can_be_masked_or_lose_reward(self):
        short = ("grpo.max_new_tokens=2", "grpo.variant=dapo", "train.max_steps=1")
        self.train(1, *short)
        plain = self.columns("metrics/train")
        self.train(1, *short, "grpo.overlong_tokens=1", "--resume=never")
        fined = self.columns("metrics/train")
        self.assertGreater(plain["truncated_share"][0], 0.8)
        # The last token before the limit costs the whole penalty.
        self.assertAlmostEqual(plain["reward"][0] - fined["reward"][0],
                               (plain["completion_length"][0] - 1.0), places=12)
        self.train(1, *short, "grpo.mask_truncated=true", "--resume=never")
        masked = self.columns("metrics/train")
        self.assertEqual(masked["reward"][0], plain["reward"][0])
        self.assertLess(masked["grad_norm"][0], plain["grad_norm"][0])

    def refused(self, sentence, *arguments, code=78):
        ended = self.start_command([self.program, self.CONFIG, *self.keys_with(arguments),
                                    f"run.output={self.output}"]).wait()
        self.assertEqual(ended.code, code, ended.err)
        self.assertIn(sentence, " ".join(ended.err.split()))

    def test_wrong_settings_are_refused_before_work(self):
        no_reward = ("reward.functions=[]", "reward.regex=null", "reward.length=null")
        self.refused("grpo.group_size", "grpo.group_size=1")
        self.refused("recipe grpo needs a reward", *no_reward)
        self.refused("no reward is called `mach`", "reward.functions=[mach]", *no_reward[1:])
        self.refused("is not a multiple of 5", "grpo.group_size=5")
        self.refused("leaves no room for a prompt", "grpo.max_new_tokens=32")
        self.refused("is not used by recipe grpo", "data.eval_path=x.jsonl")
        self.refused("has no meaning", "train.recipe=sft", "grpo.beta=0.1")

    def test_keys_that_a_variant_does_not_use_are_refused(self):
        self.refused("which clips nothing", "grpo.variant=reinforce", "grpo.clip_low=0.1")
        self.refused("no ratio that corrects later steps", "grpo.variant=reinforce",
                     "grpo.num_iterations=2")
        self.refused("which has another scale", "grpo.variant=seed_offline",
                     "grpo.scale_rewards=batch")

    # Keys of the data set of CONFIG have no effect with a file of rows.
    NO_DATA_SET = ("data.dataset=none", "data.arithmetic.largest=99",
                   "data.arithmetic.rows=[15000, 1000, 4000]")

    def test_a_reward_model_judges_texts_and_messages(self):
        rows = tiny_lm.write_rows(self.folder / "rows.jsonl", tiny_lm.mixed_rows(9))
        policy = tiny_lm.make_folder(self.folder / "policy")
        judge = tiny_lm.make_folder(self.folder / "judge", goldens=tiny_lm.CLASSIFIERS)
        keys = (*self.NO_DATA_SET, f"data.path={rows}", f"model.path={policy}", "model.init=null",
                "train.max_steps=2", "train.seq_len=64", "reward.functions=[model]",
                f"reward.model={judge}", "reward.regex=null", "reward.length=null")
        golden = self.golden(*keys)
        self.train(2, *keys)
        self.assertEqual(self.bytes_of(), golden)
        train = self.columns("metrics/train")
        self.assertEqual(train["unscored_share"].tolist(), [0.0, 0.0])
        self.assertGreater(train["reward_std"][0], 0.0)
        (judge / "tokenizer_config.json").write_text("{}")
        self.refused("the folder of reward.model has no chat template", *keys, code=65)
        (judge / "model.safetensors").unlink()
        self.refused("reward.model", *keys, code=66)

    def test_rows_that_cannot_be_used_are_named(self):
        path = self.folder / "prompts.jsonl"
        good = json.dumps({"prompt": "1 + 1 =", "answer": 2}) + "\n"
        long = json.dumps({"prompt": "3 + 3 " * 9 + "=", "answer": "x"}) + "\n"
        path.write_text(good + json.dumps({"prompt": "2 + 2 ="}) + "\n" + long)
        rows = (*self.NO_DATA_SET, f"data.path={path}")
        match = ("reward.functions=[match]", "reward.regex=null", "reward.length=null")
        self.refused(":2: it has no `answer`", *rows, *match, code=65)
        kept = path.read_text()
        path.write_text(good + long)
        self.refused(":2: its prompt has ", *rows, *match, code=65)
        path.write_text(kept)
        self.train(1, *rows, *match, "data.on_bad_row=mark")
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["results"]["bad_rows"]["value"], 2)

    def run_long(self, config, *arguments):
        ended = self.start(2, *arguments, config=config).wait(900)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])

    def zero_variance(self, name):
        """Returns the share of groups with equal rewards in each step."""
        with h5py.File(self.run_folder(name) / "results.h5") as file:
            return file["metrics/train/zero_variance_share"][:]

    def test_the_example_prints_the_result_of_the_page(self):
        shown = page_numbers.result_of("docs/grpo.md", "mean reward")
        self.run_long(START)
        start = self.run_folder("grpo_start") / "ckpt/last"
        self.run_long(self.CONFIG, f"model.path={start}")
        summary = json.loads((self.run_folder("grpo") / "summary.json").read_text())
        self.assertEqual(pages.shape(summary["result"]), pages.shape(shown))
        last, _, first, _ = page_numbers.numbers(summary["result"])
        self.assertTrue(0.3 <= first <= 0.5, first)  # the difficulty of docs/datasets.md
        self.assertGreaterEqual(last, 0.9)
        zero_variance = self.zero_variance("grpo")
        self.assertGreater(zero_variance[-10:].mean(), zero_variance[:10].mean() + 0.2)
        readme = " ".join((program.TOP / "README.md").read_text().split())
        self.assertIn(f"mean reward {shown.split()[2]} in the last 10 steps", readme)
        own = [float(number) for number in
               re.search(r"examples/reward\.py' # (0\.\d+) and (0\.\d+)", readme).groups()]
        self.run_long(self.CONFIG, f"model.path={start}", "run.name=grpo_command",
                      "train.max_steps=40", "reward.functions=[command]",
                      f"reward.command={sys.executable} {program.TOP / 'conf/examples/reward.py'}")
        summary = json.loads((self.run_folder("grpo_command") / "summary.json").read_text())
        last, _, first, _ = page_numbers.numbers(summary["result"])
        for found, number in zip((last, first), own, strict=True):
            self.assertAlmostEqual(found, number, delta=0.15)
        self.assertGreater(last, first + 0.05)


class Lengths(ShippedExperiment):

    def lengths(self, stage):
        """Returns the share of right answers in percent, and the mean lengths of right and of wrong
        answers."""
        with h5py.File(self.stage("lengths", stage) / "results.h5") as file:
            tokens, rewards = (file[f"samples/{name}"][:] for name in ("n_output_tokens", "reward"))
        return 100 * (rewards == 1).mean(), tokens[rewards == 1].mean(), tokens[rewards == 0].mean()

    def test_wrong_answers_stay_longer_with_grpo_than_with_dr_grpo(self):
        self.run_experiment("lengths")
        rows = pages.table("grpo: lengths", program.TOP / "docs/grpo.md")
        found = [self.lengths(stage) for stage in ("samples", "samples_grpo", "samples_dr_grpo")]
        start, grpo, dr_grpo = (wrong for _, _, wrong in found)
        self.assertGreater(grpo, 1.2 * dr_grpo)
        self.assertLess(dr_grpo, 0.9 * start)
        for numbers, (_, *shown, relative) in zip(found, rows, strict=True):
            for number, cell, delta in zip(numbers, shown, (8, 0.3, 1.5), strict=True):
                self.assertAlmostEqual(number, page_numbers.numbers(cell)[0], delta=delta)
            self.assertAlmostEqual(numbers[2] / start, page_numbers.numbers(relative)[0], delta=0.15)


if __name__ == "__main__":
    program.main()
