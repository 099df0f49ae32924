"""Evaluation of completions: pass@k, maj@k, rewards, the KL from a reference, and comparisons."""
import itertools
import json
import math
import pathlib
import re
import shutil
import sys

import program
import report_page
import tiny_lm
from tiny_run import TinyRun

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

MODEL = program.TOP / "conf" / "examples" / "tiny_lm" / "model"
SUMS = ("data.dataset=arithmetic", "data.arithmetic.largest=9", "data.arithmetic.rows=[60, 10, 30]")
T_29 = 2.045229642132703  # scipy.stats.t.ppf(0.975, 29)


class Evaluation(TinyRun):

    def generate(self, ranks, *more, code=0, **options):
        if not self.model.exists():
            tiny_lm.make_folder(self.model)
        return self.run_job(ranks, "job=generate", f"model.path={self.model}",
                            "generate.max_new_tokens=4", "generate.num_samples=6",
                            "run.chunk_size=4", *more, code=code, **options)

    def judged(self):
        """Writes rows with answers of one digit, which random completions sometimes give. Returns
        keys that read and reward them."""
        rows = [{"prompt": f"what is {i}", "answer": i % 4, "group": ["even", "odd"][i % 2]}
                for i in range(30)]
        path = tiny_lm.write_rows(self.folder / "rows.jsonl", rows)
        return f"data.path={path}", "reward.functions={match: 1, length: 0.5}", "reward.length=4"

    def results(self):
        return (self.run_folder() / "results.h5").read_bytes()

    def summary(self):
        return json.loads((self.run_folder() / "summary.json").read_text())["results"]

    def tables(self, name="tiny"):
        with h5py.File(self.run_folder(name) / "results.h5") as file:
            return ({name: file[f"prompts/{name}"][:] for name in file["prompts"]},
                    {name: file[f"evaluation/{name}"][:] for name in file["evaluation"]},
                    {name: file[f"samples/{name}"][:] for name in file["samples"]
                     if isinstance(file[f"samples/{name}"], h5py.Dataset)})

    def check_means(self, prompts, means):
        """Compares table evaluation with numpy, for all prompts and for each group."""
        groups = prompts["group"]
        for metric, group, mean, error, low, high, count in zip(
                *(means[name] for name in ("metric", "group", "mean", "standard_error", "low",
                                           "high", "prompts")), strict=True):
            values = prompts[metric.decode()]
            values = values[groups == group] if group else values
            self.assertEqual(count, len(values))
            self.assertAlmostEqual(mean, values.mean(), places=14)
            self.assertAlmostEqual(error, values.std(ddof=1) / math.sqrt(len(values)), places=14)
            if not group:
                self.assertAlmostEqual(high - mean, T_29 * error, places=8)
                self.assertAlmostEqual(mean - low, T_29 * error, places=8)
        self.assertEqual(set(means["group"].tolist()), {b"", b"even", b"odd"})

    def test_metrics_are_those_of_all_subsets_and_of_numpy(self):
        keys = self.judged()
        ended = self.generate(2, *keys)
        self.assertIn("pass@6 ", ended.out)
        self.assertIn("[95 % intervals] over 30 prompts", ended.out)
        prompts, means, samples = self.tables()
        right = samples["reward_match"].reshape(30, 6) == 1
        same_as = samples["same_as"].reshape(30, 6)
        self.assertGreater(right.sum(), 0)
        self.assertEqual(prompts["right"].tolist(), right.sum(1).tolist())
        self.assertEqual(prompts["first_right"].tolist(), right[:, 0].astype(float).tolist())
        for k in (1, 2, 4, 6):
            expected = [np.mean([any(row[list(subset)])
                                 for subset in itertools.combinations(range(6), k)])
                        for row in right]
            np.testing.assert_allclose(prompts[f"pass_{k}"], expected, atol=1e-14)
        for k in (2, 4, 6):
            for i in range(30):
                votes = [vote for vote in same_as[i, :k] if vote >= 0]
                counts = sorted((votes.count(vote), vote) for vote in set(votes))
                wins = (bool(counts) and (len(counts) == 1 or counts[-2][0] < counts[-1][0])
                        and bool(right[i, counts[-1][1]]))
                self.assertEqual(prompts[f"maj_{k}"][i], float(wins))
        np.testing.assert_allclose(prompts["reward"], samples["reward"].reshape(30, 6).mean(1),
                                   atol=1e-14)
        self.check_means(prompts, means)
        page = report_page.read(self, self.run_folder())
        self.assertIn("pass@k and maj@k", page.headings)
        self.assertIn("Groups of prompts", page.captions)
        self.assertIn("95 % intervals over 30 prompts", page.text)
        self.assertIn("verdict", page.text)
        result = self.summary()["pass_4"]
        at = means["metric"].tolist().index(b"pass_4")
        for name in ("standard_error", "low", "high"):
            self.assertEqual(result[name], means[name][at])
        self.assertEqual((result["value"], result["count"]), (means["mean"][at], 30))

    def test_bytes_do_not_depend_on_ranks_parts_or_attempts(self):
        keys = self.judged()
        self.generate(1, *keys)
        one = self.results()
        self.generate(3, *keys, "run.resume=never")
        self.assertEqual(self.results(), one)
        parts = []
        for part in range(2):
            self.generate(1, *keys, "--only", f"{part}/2")
            parts.append(self.run_folder())
            prompts, _, _ = self.tables()
            self.assertEqual(len(prompts["prompt_index"]), 16 if part == 0 else 14)
        self.run_to(0, 2, "--merge", *(str(part) for part in parts), config=None)
        self.assertEqual(self.results(), one)

    def test_a_killed_run_is_merged_and_resumed(self):
        keys = self.judged()
        self.generate(1, *keys)
        one = self.results()
        self.generate(1, *keys, code=137, env=program.failpoint("ledger.write:6:kill"))
        killed = self.run_folder()
        merged = self.run_to(0, 2, "--merge", str(killed), config=None)
        self.assertIn(": partial", merged.out)
        prompts, means, _ = self.tables()
        count = len(prompts["prompt_index"])
        self.assertIn(count, range(4, 30, 4))
        self.assertEqual(means["prompts"][0], count)
        self.generate(2, *keys)
        self.assertEqual(self.run_folder(), killed)
        self.assertEqual(self.results(), one)

    def test_a_data_set_is_evaluated(self):
        shutil.copytree(MODEL, self.folder / "init")
        self.run_job(1, "job=train", f"model.init={self.folder / 'init'}", *SUMS,
                     "train.seq_len=16", "train.global_batch_size=8", "train.max_steps=2")
        self.model = self.run_folder() / "ckpt" / "last"
        ended = self.generate(2, *SUMS, "generate.temperature=1")
        self.assertIn("accuracy ", ended.out)
        prompts, _, samples = self.tables()
        score = samples["score"].reshape(30, 6)
        np.testing.assert_allclose(prompts["pass_1"], score.mean(1), atol=1e-14)
        np.testing.assert_allclose(prompts["score"], score.mean(1), atol=1e-14)
        self.assertEqual(self.summary()["score"]["label"], "accuracy")

    def test_the_kl_of_a_reference(self):
        self.generate(1, *self.judged(), f"generate.reference={self.model}")
        prompts, _, samples = self.tables()
        self.assertEqual(samples["kl"].tolist(), [0.0] * 180)
        self.assertEqual(self.summary()["kl"]["value"], 0.0)
        other = tiny_lm.make_folder(self.folder / "other", family="mistral")
        keys = (*self.judged(), f"generate.reference={other}")
        self.generate(1, *keys)
        one = self.results()
        prompts, _, samples = self.tables()
        with h5py.File(self.run_folder() / "results.h5") as file:
            lists = file["arrays/samples/output_kl"]
            offsets, values = lists["row_offsets"][:], lists["values"][:]
        self.assertEqual(np.diff(offsets).tolist(), samples["n_output_tokens"].tolist())
        self.assertGreater(values.min(), 0)
        means = [values[begin:end].mean(dtype=float)
                 for begin, end in zip(offsets, offsets[1:], strict=False)]
        np.testing.assert_allclose(samples["kl"], means, rtol=1e-6)
        np.testing.assert_allclose(prompts["kl"], samples["kl"].reshape(30, 6).mean(1))
        self.generate(2, *keys, "--gpus-per-model=2")  # a pipeline
        self.assertEqual(self.results(), one)
        self.generate(2, *keys, "--gpus-per-model=2", "model.parallel=tensor")
        np.testing.assert_allclose(self.tables()[2]["kl"].mean(), samples["kl"].mean(), rtol=0.2)

    def test_references_that_cannot_be_used_are_refused(self):
        keys = self.judged()
        other = tiny_lm.make_folder(self.folder / "other", family="mistral")
        reference = f"generate.reference={other}"
        ended = self.run_job(1, "job=generate", f"model.path={self.model}", keys[0], reference,
                             "generate.max_new_tokens=0", code=78)
        self.assertIn("generate.max_new_tokens=0 makes none", ended.err)
        text = (other / "tokenizer.json").read_text()
        (other / "tokenizer.json").write_text(text.replace('"q"', '"!"'))
        ended = self.generate(1, *keys, reference, code=78)
        self.assertIn("another tokenizer than model.path", ended.err)
        settings = json.loads((other / "config.json").read_text())
        (other / "config.json").write_text(json.dumps({**settings, "vocab_size": 66}))
        ended = self.generate(2, *keys, reference, code=78)
        self.assertIn("another vocabulary (66 tokens instead of 67) than model.path", ended.err)
        ended = self.generate(1, *keys, "generate.reference=nowhere", code=66)
        self.assertIn("there is no such folder", ended.err)

    def compare(self, *folders, code=0):
        return self.run_to(code, 1, "--compare", *(str(folder) for folder in folders), config=None)

    def test_two_runs_are_compared_prompt_by_prompt(self):
        keys = self.judged()
        self.generate(1, *keys, "run.name=cold", "generate.temperature=0.5")
        cold, (before, _, _) = self.run_folder(name="cold"), self.tables("cold")
        self.generate(1, *keys, "run.name=hot", "generate.temperature=2")
        hot, (after, _, _) = self.run_folder(name="hot"), self.tables("hot")
        ended = self.compare(cold, hot)
        stem = hot / f"comparison_cold_{cold.name}"
        self.assertIn(f"wrote {stem}.json", ended.out)
        comparison = json.loads(pathlib.Path(f"{stem}.json").read_text())
        self.assertEqual(comparison["prompts"], 30)
        self.assertEqual(set(comparison), set(pages.names("comparison")))
        for metric in comparison["metrics"].values():
            self.assertEqual(set(metric), set(pages.names("comparison_metric")))
        for name in ("pass_4", "reward_length"):
            difference = after[name] - before[name]
            found = comparison["metrics"][name]
            error = difference.std(ddof=1) / math.sqrt(30)
            self.assertAlmostEqual(found["difference"], difference.mean(), places=14)
            self.assertAlmostEqual(found["standard_error"], error, places=14)
            self.assertAlmostEqual(found["high"], difference.mean() + T_29 * error, places=8)
            self.assertEqual(found["larger"], int((difference > 0).sum()))
            self.assertIn(f"{difference.mean():+.4f}", ended.out)
        page = report_page.Page(pathlib.Path(f"{stem}.html").read_text())
        self.assertIn("pass@k", page.headings)
        self.assertTrue(any("changed most" in caption for caption in page.captions))
        self.assertIn(f"The numbers of this page are in {stem.name}.json.", page.text)
        self.assertNotRegex(page.text, r"\bnan\b|\binf\b|0:00:00")

    def test_the_example_prints_the_results_of_the_page(self):
        conf = program.TOP / "conf"
        self.run_to(0, 2, config=conf / "train/sums.yaml")
        checkpoints = self.run_folder("sums") / "ckpt"
        early = checkpoints / "step_00000400"
        evaluate = conf / "generate/sums.yaml"
        self.run_to(0, 2, f"model.path={early}", "run.name=early", config=evaluate)
        self.run_to(0, 2, f"model.path={checkpoints / 'last'}", f"generate.reference={early}",
                    config=evaluate)
        summary = self.run_folder("evaluation") / "summary.json"
        results = json.loads(summary.read_text())["results"]
        text = (program.TOP / "docs/evaluation.md").read_text()
        for key, words in (("score", "accuracy"), ("pass_8", "pass@8"), ("maj_8", "maj@8"),
                           ("kl", "KL")):
            # Another processor ends the training at other weights.
            shown = float(re.search(rf"{words} (0\.\d{{4}})\s+\[", text)[1])
            self.assertAlmostEqual(results[key]["value"], shown, delta=0.1)
        ended = self.compare(self.run_folder("early"), self.run_folder("evaluation"))
        table = pages.block_with("docs/evaluation.md", "differences are after - before")
        mine, shown = ([line.split() for line in text.splitlines()[:11]]
                       for text in (ended.out, table))
        self.assertEqual(mine[:2], shown[:2])
        for row, expected in zip(mine[2:], shown[2:], strict=True):
            self.assertEqual(row[0], expected[0])
            for number, other in zip(row[1:4], expected[1:4], strict=True):
                self.assertAlmostEqual(float(number), float(other), delta=0.1)

    def test_runs_that_cannot_be_compared(self):
        keys = self.judged()
        self.generate(1, *keys, "run.name=all")
        self.generate(1, *keys, "run.name=some", "data.max_samples=20")
        ended = self.generate(1, keys[0], "run.name=plain")
        self.assertIn("reward.functions=[match] compares with the completions", ended.out)
        folders = {name: self.run_folder(name=name) for name in ("all", "some", "plain")}
        ended = self.compare(folders["all"], folders["some"], code=65)
        self.assertIn("error[E145]: the runs have different prompts", ended.err)
        self.assertIn("30 and 20 prompts were evaluated", ended.err)
        ended = self.compare(folders["all"], folders["plain"], code=65)
        self.assertIn("has no evaluation", ended.err)
        self.assertIn("E609", self.compare(folders["all"], self.folder, code=66).err)
        self.assertIn("only one run directory", self.compare(folders["all"], code=64).err)


if __name__ == "__main__":
    program.main()
