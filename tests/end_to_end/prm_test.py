"""Tests recipe prm of job train, and the searches of job generate: equal bytes on any number of
ranks, choices that follow the scores, and files that cannot be used."""
import json
import math
import random
import shutil
import sys

import program
import tiny_lm
from prm_case import PrmCase, stepwise_rows

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None


CONF = program.TOP / "conf/collect/arithmetic"


class Training(PrmCase):

    def check_ranks(self, *more):
        self.train(1, *more)
        golden = self.bytes_of()
        for ranks in (2, 4):
            self.start_over()
            self.train(ranks, *more)
            self.assertEqual(self.bytes_of(), golden, (ranks, more))

    def test_1_2_and_4_ranks_give_the_same_bytes(self):
        self.check_ranks("prm.held_out=0.3")
        with h5py.File(self.run_folder("prm") / "results.h5") as file:
            loss = file["metrics/train/loss"][:]
            self.assertEqual(file["metrics/eval/auc_within"].shape, (2,))
        self.assertAlmostEqual(loss[0], math.log(2), delta=0.2)
        config = json.loads((self.prm_folder() / "config.json").read_text())
        self.assertEqual(config["architectures"], ["LlamaForTokenClassification"])
        self.assertEqual(config["step_head"], {"place": "separator", "separator": "."})
        self.assertIn("binary cross-entropy of steps",
                      (self.run_folder("prm") / "report.html").read_text())

    def test_held_out_questions_are_among_the_selected_rows(self):
        def measured():
            weights = self.bytes_of()["ckpt/last/model.safetensors"]
            return weights, self.summary()["results"]["eval_loss"]["value"]
        half = tiny_lm.write_rows(self.folder / "half.jsonl", stepwise_rows(40)[8:28])
        self.train(1, f"data.path={half}", "prm.held_out=0.3")
        expected = measured()
        self.start_over()
        self.train(1, "data.start=8", "data.max_samples=20", "prm.held_out=0.3")
        self.assertEqual(measured(), expected)

    def test_pairs_of_drawn_steps_give_the_same_bytes_on_all_ranks(self):
        trees = self.collect()
        self.check_ranks(f"data.path={trees}", "prm.loss=pairwise", "prm.head=two_class",
                         "prm.held_out=0.3")
        config = json.loads((self.prm_folder() / "config.json").read_text())
        self.assertEqual(config["step_head"], {"place": "last_token"})
        self.assertEqual(len(config["id2label"]), 2)

    def test_trees_and_their_exported_lines_have_the_same_labels(self):
        trees = self.collect()
        self.run_to(0, 1, "--export", "trl", str(trees.parent), config=None)
        shown = []
        for path in (trees, trees.parent / "stepwise.jsonl"):
            for target in ("values", "labels"):
                self.start_over()
                self.train(1, f"data.path={path}", f"data.eval_path={path}",
                           f"prm.target={target}", "prm.loss=mse", "train.max_steps=1",
                           "train.learning_rate=1e-9")
                shown.append(self.summary()["results"]["eval_loss"]["value"])
        # At the start the probabilities are near one half, so the losses are those of the labels.
        self.assertAlmostEqual(shown[0], shown[2], delta=0.02)
        self.assertAlmostEqual(shown[1], shown[3], delta=0.02)
        self.assertNotEqual(shown[0], shown[1])

    def test_a_visible_signal_is_learned_and_shuffled_labels_are_not(self):
        draws = random.Random(7)
        rows = []
        for i in range(1200):
            steps = ["".join(draws.choices("abnz", k=4)) for _ in range(3)]
            rows.append({"prompt": f"see {i // 4}", "completions": steps,
                         "labels": ["z" in step for step in steps]})
        path = tiny_lm.write_rows(self.folder / "visible.jsonl", rows)
        areas = []
        for shuffles in ("false", "true"):
            self.start_over()
            self.train(1, f"data.path={path}", "prm.held_out=0.3", "train.max_steps=60",
                       "train.global_batch_size=16", "train.eval_every=60",
                       f"prm.shuffle_labels={shuffles}")
            areas.append(self.summary()["results"]["eval_auc_within"]["value"])
        self.assertGreater(areas[0], 0.95)
        self.assertAlmostEqual(areas[1], 0.5, delta=0.06)

    def test_a_killed_training_goes_on_to_the_same_bytes(self):
        self.train(1, "checkpoint.every=1")
        golden = self.bytes_of()
        self.start_over()
        self.train(1, "checkpoint.every=1", code=137, env=program.failpoint("train.pass:6:kill"))
        self.train(2, "checkpoint.every=1")
        self.assertEqual(self.num_runs("prm"), 1)
        self.assertEqual(self.bytes_of(), golden)

    def test_transformers_opens_the_folder_and_has_the_held_out_loss(self):
        try:
            import torch
            from transformers import AutoModelForTokenClassification, AutoTokenizer
        except ImportError as missing:
            self.skipTest(str(missing))
        held_out = tiny_lm.write_rows(self.folder / "held_out.jsonl", stepwise_rows(12))
        self.train(1, "prm.head=two_class", f"data.eval_path={held_out}")
        model, report = AutoModelForTokenClassification.from_pretrained(
            self.prm_folder(), output_loading_info=True, attn_implementation="eager")
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            self.assertFalse(report[kind], report)
        tokenizer = AutoTokenizer.from_pretrained(self.prm_folder())
        losses = []
        for row in stepwise_rows(12):  # the tokens of PRMTrainer
            ids = [tokenizer.bos_token_id]
            ids += tokenizer(row["prompt"], add_special_tokens=False)["input_ids"]
            labels = [-100] * len(ids)
            for step, label in zip(row["completions"], row["labels"], strict=True):
                tokens = tokenizer(step, add_special_tokens=False)["input_ids"]
                tokens += tokenizer.encode(".", add_special_tokens=False)
                ids += tokens
                labels += [-100] * (len(tokens) - 1) + [int(label)]
            with torch.no_grad():
                logits = model.eval()(torch.tensor([ids]), use_cache=False).logits[0].double()
            losses.append((logits, torch.tensor(labels)))
        logits, labels = (torch.cat(part) for part in zip(*losses))
        expected = torch.nn.functional.cross_entropy(logits, labels).item()
        self.assertAlmostEqual(self.summary()["results"]["eval_loss"]["value"], expected,
                               delta=2e-5)

    def test_files_that_cannot_be_learned_are_refused(self):
        trees = self.collect()
        rows = stepwise_rows(8)
        del rows[2]["labels"]
        rows[3]["completions"] = []
        bad = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        ended = self.train(1, f"data.path={bad}", code=65)
        self.assertIn(":3: it has no `labels`", ended.err)
        self.train(1, f"data.path={bad}", "data.on_bad_row=mark")
        del rows[2]
        tiny_lm.write_rows(bad, rows)
        self.assertIn(":3: it has no steps", self.train(1, f"data.path={bad}", code=65).err)
        ended = self.train(1, "prm.step_separator=\\n", code=65)
        self.assertIn("no tokens for the separator", ended.err)
        other = tiny_lm.make_folder(self.folder / "other")
        tokenizer = other / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text().replace('"a": 4', '"a": 5', 1)
                             .replace('"b": 5', '"b": 4', 1))
        ended = self.train(2, f"data.path={trees}", f"model.path={other}", code=65)
        self.assertIn("those of another tokenizer", ended.err)
        ended = self.train(2, f"data.path={self.run_folder('prm')}/results.h5", code=65)
        self.assertIn("no result file of job collect", ended.err)
        for words, *keys in (("follows the steps of text rows", f"data.path={trees}",
                              "prm.step_separator=."),
                             ("end with other tokens", f"data.eval_path={trees}"),
                             ("both say which", "prm.held_out=0.5", f"data.eval_path={self.rows}"),
                             ("no data set has", "data.path=null", "data.dataset=arithmetic"),
                             ("not a multiple of 2", "prm.loss=pairwise",
                              "train.global_batch_size=3", "train.lanes=1")):
            self.assertIn(words, self.train(1, *keys, code=78).err)

    def test_a_model_goes_on_learning_rows_of_its_form_only(self):
        self.train(1)
        folder = self.folder / "start"
        shutil.copytree(self.prm_folder(), folder)
        self.start_over()
        self.train(1, f"model.path={folder}", "train.max_steps=1")
        self.assertIn("with 1 outputs",
                      self.train(1, f"model.path={folder}", "prm.head=two_class", code=78).err)
        ended = self.train(1, f"model.path={folder}", "prm.step_separator=a", code=78)
        self.assertIn("at another token", ended.err)


class Search(PrmCase):

    def check_choice(self, kind):
        found = self.found()
        scores = found["search_score"].reshape(9, 4)
        chosen = found["chosen"].reshape(9, 4)
        same_as = found["same_as"].reshape(9, 4)
        right = found["reward_match"].reshape(9, 4)
        for score, steps in zip(found["search_score"], found["steps"], strict=True):
            self.assertEqual(score, steps.min())
            self.assertTrue(((steps > 0) & (steps < 1)).all())
        for q in range(9):
            if kind != "weighted_vote":
                expected = int(np.argmax(scores[q]))
            else:
                sums = {a: scores[q][same_as[q] == a].sum() for a in set(same_as[q]) - {-1}}
                expected = max(sorted(sums), key=sums.get, default=None)
            self.assertEqual(np.flatnonzero(chosen[q]).tolist(),
                             [] if expected is None else [expected])
            is_right = 0.0 if expected is None else right[q][expected]
            metrics = found["metrics"]
            name = "weighted_4" if kind == "weighted_vote" else "best_4"
            self.assertEqual(metrics[name][q], is_right)
            self.assertAlmostEqual(metrics["over_random_4"][q], is_right - right[q].mean())

    def test_the_chosen_completions_follow_the_scores(self):
        self.train(1, f"data.path={self.collect()}", "prm.held_out=0.3")
        for kind in ("best_of_n", "weighted_vote"):
            self.start_over("search")
            ended = self.search(1, f"generate.search={kind}", "generate.reward.step_tokens=4")
            self.assertIn("min over steps", ended.out)
            name = {"best_of_n": "best-of-4", "weighted_vote": "weighted vote of 4"}[kind]
            self.assertRegex(" ".join(ended.out.split()),
                             r"; random 0\.\d{4} \[.*; pass@4 0\.\d{4} .*; maj@4 "
                             rf"0\.\d{{4}} .*; {name} 0\.\d{{4}} \[.*; {name} minus random ")
            self.check_choice(kind)
        with h5py.File(self.run_folder("search") / "results.h5") as file:
            names = [name.decode() for name in file["evaluation/metric"][:]]
        self.assertIn("best_2", names)
        self.assertIn("over_maj_4", names)

    def test_ranks_groups_and_batches_give_the_same_bytes(self):
        self.train(1, f"data.path={self.collect()}")
        keys = ("generate.reward.step_tokens=4", "generate.reward.aggregate=product")
        self.search(1, *keys)
        golden = (self.run_folder("search") / "results.h5").read_bytes()
        for ranks, more in ((2, ()), (2, ("--gpus-per-model=2",)),
                            (3, ("devices.groups=[1, 2]", "generate.batch_size=3"))):
            self.start_over("search")
            self.search(ranks, *keys, *more)
            self.assertEqual((self.run_folder("search") / "results.h5").read_bytes(), golden, more)

    def test_beams_of_ranks_groups_and_batches_give_the_same_bytes(self):
        self.train(1, f"data.path={self.collect()}")
        keys = ("generate.search=beam", "generate.reward.beam_width=2",
                "generate.reward.step_tokens=3")
        ended = self.search(1, *keys)
        self.assertIn("beams by", ended.out)
        self.check_choice("beam")
        golden = (self.run_folder("search") / "results.h5").read_bytes()
        for ranks, more in ((2, ("--gpus-per-model=2",)),
                            (3, ("devices.groups=[1, 2]", "generate.batch_size=3"))):
            self.start_over("search")
            self.search(ranks, *keys, *more)
            self.assertEqual((self.run_folder("search") / "results.h5").read_bytes(), golden, more)

    def test_texts_are_judged_at_their_separators(self):
        self.train(1, "prm.head=two_class")
        self.search(2, "generate.reward.step_tokens=5", "generate.search=weighted_vote")
        self.check_choice("weighted_vote")

    def test_a_reward_model_scores_whole_completions(self):
        reward = tiny_lm.make_folder(self.folder / "reward", goldens=tiny_lm.CLASSIFIERS,
                                     template="")
        self.search(2, reward=reward)
        found = self.found()
        self.assertTrue(all(len(steps) == 0 for steps in found["steps"]))
        self.assertEqual(found["chosen"].sum(), 9)
        ended = self.search(1, "generate.reward.aggregate=last", reward=reward, code=78)
        self.assertIn("is about steps", ended.err)
        ended = self.search(1, "generate.search=beam", reward=reward, code=78)
        self.assertIn("beams need scores of steps", ended.err)

    def test_searches_that_cannot_work_are_refused_before_any_work(self):
        self.train(1, f"data.path={self.collect()}", "train.max_steps=1")
        other = self.folder / "other"
        shutil.copytree(self.prm_folder(), other)
        tokenizer = other / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text().replace('"a": 4', '"a": 5', 1)
                             .replace('"b": 5', '"b": 4', 1))
        for code, words, reward, *keys in (
                (78, "another tokenizer than model.path", other),
                (65, "no score.weight", self.model), (66, "no such folder", self.folder / "none"),
                (78, "generate.num_samples", None, "generate.num_samples=1"),
                (78, "needs a model", None, "generate.reward.path=null"),
                (78, "means nothing without", None, "generate.search=none"),
                (78, "generate.search", None, "generate.search=beams"),
                (78, "means nothing without beams", None, "generate.reward.beam_width=2"),
                (78, "cannot be used with beams", None, "generate.search=beam",
                 "generate.stop=[a]")):
            ended = self.search(1, *keys, reward=reward, code=code)
            self.assertIn(words, ended.err)
            self.assertEqual(ended.err.count("error[E"), 1, ended.err)


class Example(PrmCase):
    TOLERANCE = 0.1  # of shares; another processor ends the training at other weights

    def run_example(self, *configs):
        """Runs configurations of the page, each with keys that replace paths of earlier ones."""
        chains = f"model.path={self.output}/chains/latest/ckpt/last"
        keys = {"train": (),
                "collect": (chains,),
                "prm": (chains, f"data.path={self.output}/chain_steps/latest/results.h5"),
                "search": (chains,
                           f"generate.reward.path={self.output}/chain_prm/latest/ckpt/last")}
        for config, *more in configs:
            ended = self.start(2, *keys[config], *more, config=CONF / f"{config}.yaml").wait(
                deadline_s=900)
            self.assertEqual(ended.code, 0, ended.err)

    def result(self, name, value):
        return self.summary(name)["results"][value]

    def test_a_short_chain_chooses_better_than_at_random(self):
        # Sums of three terms are learned in 15 s.
        sums = ("data.arithmetic.terms=3", "data.arithmetic.largest=5",
                "data.arithmetic.rows=[500, 64, 300]")
        self.run_example(("train", *sums, "train.max_steps=1000", "train.seq_len=64"),
                         ("collect", *sums, "data.max_samples=100"),
                         ("prm", "train.max_steps=300", "train.eval_every=300", "train.seq_len=128"),
                         ("search", *sums, "data.start=100", "data.max_samples=200"))
        over_random = self.result("chain_search", "over_random_8")
        self.assertGreater(over_random["value"], 0.05)
        self.assertGreater(over_random["low"], 0.0)
        self.assertGreater(self.result("chain_prm", "eval_auc_within")["value"], 0.55)

    def check_numbers_of_solutions(self):
        """Compares with a table of another processor than that of the first numbers of the page."""
        for count, at_random, *shown in pages.table("prm: numbers of solutions",
                                                 program.TOP / "docs/prm.md"):
            names = [f"{name}_{count}" for name in ("maj", "best", "weighted", "pass")]
            for name, number in zip(("pass_1", *names), (at_random, *shown), strict=True):
                self.assertAlmostEqual(self.result("chain_search", name)["value"], float(number),
                                       delta=1.5 * self.TOLERANCE, msg=name)

    def check_beams(self):
        one, best = page_numbers.counts_of(r"One beam is right in (0\.\d+) of the questions, and the "
                                           r"beam with the best score of eight in (0\.\d+)",
                                           "docs/prm.md")
        self.run_example(("search", "run.name=beams", "generate.search=beam"))
        for name, number in (("pass_1", one), ("best_8", best)):
            self.assertAlmostEqual(self.result("beams", name)["value"], number,
                                   delta=1.5 * self.TOLERANCE, msg=name)

    def test_the_page_chooses_better_than_at_random(self):
        self.run_example(("train",), ("collect",), ("prm",), ("search",))
        over_random = self.result("chain_search", "over_random_8")
        self.assertGreater(over_random["value"], 0.05)
        self.assertGreater(over_random["low"], 0.0)
        self.assertEqual(over_random["count"], 1000)
        self.assertGreater(self.result("chain_search", "pass_8")["value"],
                           self.result("chain_search", "best_8")["value"])
        self.assertGreater(self.result("chain_prm", "eval_auc_within")["value"], 0.75)
        for value in ("pass_1", "maj_8", "best_8", "weighted_8", "pass_8"):
            shown, = page_numbers.counts_of(rf"`{value}`[^|]*\| (0\.\d+)", "docs/prm.md")
            self.assertAlmostEqual(self.result("chain_search", value)["value"], shown,
                                   delta=self.TOLERANCE)
        self.check_numbers_of_solutions()
        self.check_beams()
        self.run_example(("prm", "run.name=shuffled", "prm.shuffle_labels=true"))
        self.assertAlmostEqual(self.result("shuffled", "eval_auc_within")["value"], 0.5, delta=0.05)


if __name__ == "__main__":
    program.main()
