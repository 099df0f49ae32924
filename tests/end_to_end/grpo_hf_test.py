"""Tests the chains of docs/grpo_hf.md: a proxy learns from pairs, and recipe grpo or a value model
learns from the proxy. The whole chain has to reach what the page states."""
import json
import re
import subprocess
import sys

import program
from shipped_experiment import ShippedExperiment

try:
    import h5py
    import pandas
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

CONF = program.TOP / "conf/examples/grpo_hf"
JUDGED = ("answers.yaml", "pairs.yaml", "judged.yaml", "guided.yaml")  # by the true reward
DEADLINE_S = 600.0  # of one step; an idle machine needs 40 s


class GrpoHf(program.ProgramTest):

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest("h5py or pandas is not installed")

    def ckpt(self, name):
        return self.output / name / "latest" / "ckpt" / "last"

    def run_step(self, config, *more):
        """Runs a configuration of the example with the inputs of this test."""
        keys = {"model.path": f"model.path={self.ckpt('grpo_start')}"}
        if config in JUDGED:
            keys["reward.command"] = f"reward.command={sys.executable} {CONF / 'closeness.py'}"
        keys |= {key.partition("=")[0]: key for key in more}
        ended = self.start(1, *keys.values(), config=CONF / config).wait(DEADLINE_S)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])

    def export(self, form, name):
        folder = self.run_folder(name)
        self.run_to(0, 1, "--export", form, str(folder), config=None)
        return folder / ("pairs.jsonl" if form == "pairs" else "results.jsonl")

    def script(self, name, *arguments):
        done = subprocess.run([sys.executable, CONF / name, *arguments], check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout

    def make_pairs(self, *more):
        """Trains the start model, and returns the file of pairs of its answers."""
        self.run_to(0, 1, config=program.TOP / "conf/train/grpo_start.yaml")
        self.run_step("answers.yaml", *more)
        self.run_step("pairs.yaml", f"data.path={self.export('jsonl', 'hf_answers')}")
        return self.export("pairs", "hf_pairs")

    def train_proxy(self, pairs, name, *more):
        self.run_step("proxy.yaml", f"data.path={pairs}", f"run.name={name}", *more)
        return f"reward.model={self.ckpt(name)}"

    def judge(self, proxy, name, *more):
        """Returns a table of answers with their rewards. Compares spearman.py with pandas."""
        self.run_step("judged.yaml", proxy, f"run.name={name}", *more)
        path = self.export("jsonl", name)
        rows = pandas.read_json(path, lines=True)
        rho = rows["reward_model"].rank().corr(rows["reward_command"].rank())
        printed = self.script("spearman.py", path)
        self.assertAlmostEqual(float(re.search(r": (-?\d\.\d+) over", printed)[1]), rho, delta=1e-4)
        return rows, rho

    def judged_rows(self, proxy, name):
        """Returns the file of rows for recipe value."""
        path = self.folder / "value_rows.jsonl"
        path.write_text(self.script("normalize.py", self.export("jsonl", name)))
        labels = [json.loads(line)["label"] for line in path.read_text().splitlines()]
        self.assertEqual((min(labels), max(labels)), (0.0, 1.0))
        return path

    def guided_reward(self, name, *more):
        guide = f"generate.guide.path={self.ckpt('hf_value')}"
        self.run_step("guided.yaml", guide, f"run.name={name}", *more)
        return self.results_of(name)["reward"]["value"]

    def results_of(self, name):
        return json.loads((self.run_folder(name) / "summary.json").read_text())["results"]

    def test_a_short_chain_hands_its_files_on(self):
        pairs = self.make_pairs("generate.num_samples=4")
        rows = [json.loads(line) for line in pairs.read_text().splitlines()]
        self.assertTrue(all(row["score_chosen"] > row["score_rejected"] for row in rows))
        proxy = self.train_proxy(pairs, "hf_proxy", "train.max_steps=60")
        answers, rho = self.judge(proxy, "hf_judged", "generate.num_samples=4")
        self.assertEqual(len(answers), 280)
        self.assertGreater(rho, 0.0)
        self.assertEqual(list(answers["reward"]), list(answers["reward_command"]))
        self.run_step("grpo.yaml", proxy, "train.max_steps=3")
        with h5py.File(self.run_folder("hf_grpo") / "results.h5") as file:
            self.assertGreater(file["metrics/train/reward_std"][:].min(), 0.0)
        rows = self.judged_rows(proxy, "hf_judged")
        self.run_step("value.yaml", f"data.path={rows}", "train.max_steps=30")
        self.assertGreater(self.guided_reward("hf_guided", "generate.num_samples=2"), 0.5)


class GrpoHfExperiment(ShippedExperiment):

    def rewards(self, stage):
        """Returns the mean reward of the proxy, and the mean true reward."""
        results = self.results_of("grpo_hf", stage)
        return results["reward_model"], results["reward_command"]

    def lines_of(self, stage, name):
        return [json.loads(line) for line in
                (self.stage("grpo_hf", stage) / name).read_text().splitlines()]

    def correlations(self):
        """Returns the rank correlation of both rewards over all answers, and over those whose texts
        are in no pair."""
        self.run_to(0, 1, "--export", "jsonl", str(self.stage("grpo_hf", "judged")), config=None)
        seen = {(pair["prompt"], pair[key]) for pair in self.lines_of("pairs", "pairs.jsonl")
                for key in ("chosen", "rejected")}
        answers = self.lines_of("judged", "results.jsonl")
        self.assertGreaterEqual(len(answers), 500)
        unseen = [row for row in answers if (row["prompt"], row["output"]) not in seen]
        self.assertGreater(len(unseen), 50)
        return [frame["reward_model"].rank().corr(frame["reward_command"].rank())
                for frame in (pandas.DataFrame(answers), pandas.DataFrame(unseen))]

    def check_guided(self, alone):
        """Trains a value model on the proxy's rewards. Compares the true rewards of guided answers
        with the page, and expects that the guide improves them."""
        rows = self.folder / "value_rows.jsonl"
        judged = self.stage("grpo_hf", "judged") / "results.jsonl"
        rows.write_text(subprocess.run([sys.executable, CONF / "normalize.py", judged], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
        model = f"model.path={self.stage('grpo_hf', 'start')}/ckpt/last"
        self.run_long("value", model, f"data.path={rows}")
        _, *guided = pages.table("grpo_hf: guided", program.TOP / "docs/grpo_hf.md")
        for eta, reward, right, kl in guided:
            self.run_long("guided", model, f"generate.guide.eta={eta}",
                          f"generate.guide.path={self.output}/hf_value/latest/ckpt/last")
            summary = json.loads((self.run_folder("hf_guided") / "summary.json").read_text())
            results = {name: result["value"] for name, result in summary["results"].items()}
            with h5py.File(self.run_folder("hf_guided") / "results.h5") as file:
                share = 100 * (file["samples/reward"][:] == 1).mean()
            with self.subTest(eta=eta):
                self.assertAlmostEqual(share, float(right.split()[0]), delta=12)
                self.assertAlmostEqual(results["reward"], float(reward), delta=0.06)
                self.assertAlmostEqual(results["kl"], float(kl), delta=0.06)
                self.assertGreater(results["reward"], alone)

    def run_long(self, config, *keys):
        path = self.conf / f"examples/grpo_hf/{config}.yaml"
        ended = self.start(2, *keys, config=path).wait(DEADLINE_S)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])

    def check_table(self, name, *stages):
        """Compares the true rewards of stages, and their shares of right answers, with the rows of a
        table of the page. The mean reward of a proxy depends on its training."""
        rows = pages.table(f"grpo_hf: {name}", program.TOP / "docs/grpo_hf.md")
        for stage, (_, _, reward, right) in zip(stages, rows, strict=True):
            with h5py.File(self.stage("grpo_hf", stage) / "results.h5") as file:
                rewards = file["samples/reward_command"][:]
            self.assertAlmostEqual(rewards.mean(), float(reward), delta=0.08, msg=stage)
            share = 100 * (rewards == 1).mean()
            self.assertAlmostEqual(share, float(right.split()[0]), delta=12, msg=stage)

    def test_the_proxies_do_what_the_page_states(self):
        self.run_experiment("grpo_hf")
        all_answers, unseen = self.correlations()
        self.assertGreaterEqual(all_answers, 0.8)
        self.assertGreater(unseen, 0.3)
        self.check_table("proxy", "judged", "after")
        self.check_table("proxy of 20 pairs", "judged_20", "after_20")
        before, after = self.rewards("judged"), self.rewards("after")
        self.assertGreater(after[0], before[0] + 0.2)
        self.assertGreater(after[1], before[1] + 0.01)
        self.check_guided(before[1])
        before, after = self.rewards("judged_20"), self.rewards("after_20")
        self.assertGreater(after[0], before[0] + 0.5)
        self.assertLess(after[1], before[1] - 0.05)


if __name__ == "__main__":
    program.main()
