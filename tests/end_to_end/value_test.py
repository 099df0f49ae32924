"""Tests recipe value of job train, and the rows that it learns from. guided_test.py has the guides."""
import json
import math
import re
import shutil
import sys

import program
import tiny_lm
import value_case

try:
    import h5py
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

CONF = program.TOP / "conf/examples/friendly"
FILES = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors")


class Value(value_case.ValueCase):

    def bytes_of(self, name="tiny"):
        return {file: (self.run_folder(name) / file).read_bytes() for file in FILES}

    def check_ranks(self, *more):
        self.train(1, *more)
        golden = self.bytes_of()
        for ranks in (2, 4):
            shutil.rmtree(self.output)
            self.train(ranks, *more)
            self.assertEqual(self.bytes_of(), golden, (ranks, more))

    def test_1_2_and_4_ranks_give_the_same_bytes(self):
        self.check_ranks()
        with h5py.File(self.run_folder() / "results.h5") as file:
            loss = file["metrics/train/loss"][:]
            self.assertEqual(file["metrics/eval/value_error"].shape, (2,))
        self.assertAlmostEqual(loss[0], math.log(2), delta=0.05)
        self.assertLess(loss[-1], loss[0])
        config = json.loads((self.value_folder() / "config.json").read_text())
        self.assertEqual(config["architectures"], ["LlamaForTokenClassification"])
        self.assertEqual(config["value_head"], {"kind": "bernoulli"})
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("binary cross-entropy of values", page)

    def test_histograms_and_pairs_give_the_same_bytes_on_all_ranks(self):
        self.check_ranks("value.head=histogram", "value.atoms=5", "value.lm_weight=0.5")
        pairs = [{"prompt": f"see {i}", "chosen": "abc" * (1 + i % 3), "rejected": "xyz",
                  "cut": i % 2} for i in range(24)]
        path = tiny_lm.write_rows(self.folder / "pairs.jsonl", pairs)
        shutil.rmtree(self.output)
        self.check_ranks(f"data.path={path}", f"data.eval_path={path}", "value.data=preferences",
                         "value.loss=bradley_terry")
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertGreater(file["metrics/train/value_margin"][-1], 0.0)

    def test_drawn_preferences_are_the_same_on_all_ranks_and_follow_the_scores(self):
        pairs = [{"prompt": f"see {i}", "chosen": "abc", "rejected": "xyz", "score_chosen": 1,
                  "score_rejected": 0.5} for i in range(24)]
        path = tiny_lm.write_rows(self.folder / "pairs.jsonl", pairs)
        keys = (f"data.path={path}", f"data.eval_path={path}", "value.data=preferences")
        losses = {}
        for beta in (0, 1, 1e6):
            self.start_over_training()
            self.train(1, *keys, f"value.preference_beta={beta}")
            with h5py.File(self.run_folder() / "results.h5") as file:
                losses[beta] = file["metrics/train/loss"][:].tolist()
        self.assertEqual(losses[0], losses[1e6])  # the better completion is always preferred
        self.assertNotEqual(losses[0], losses[1])
        self.start_over_training()
        self.train(1, *keys, "value.preference_beta=1")
        golden = self.bytes_of()
        self.start_over_training()
        self.train(2, *keys, "value.preference_beta=1")
        self.assertEqual(self.bytes_of(), golden)
        pairs[3]["score_rejected"] = "none"
        tiny_lm.write_rows(self.folder / "pairs.jsonl", pairs)
        ended = self.train(1, *keys, "value.preference_beta=1", code=65)
        self.assertIn(":4: its `score_rejected` is no number", ended.err)
        del pairs[2]["score_chosen"]
        tiny_lm.write_rows(self.folder / "pairs.jsonl", pairs)
        ended = self.train(1, *keys, "value.preference_beta=1", code=65)
        self.assertIn(":3: it has no `score_chosen`", ended.err)
        ended = self.train(1, "value.preference_beta=1", code=78)
        self.assertIn("the rows are no pairs", ended.err)

    def start_over_training(self):
        shutil.rmtree(self.output, ignore_errors=True)

    def test_transformers_opens_the_folder_and_has_the_held_out_loss(self):
        try:
            import torch
            from transformers import AutoModelForTokenClassification
        except ImportError:
            self.skipTest("transformers is not installed")
        for head, more in (("bernoulli", ()), ("histogram", ("value.atoms=5",))):
            self.train(1, f"value.head={head}", *more)
            model, report = AutoModelForTokenClassification.from_pretrained(
                self.value_folder(), output_loading_info=True, attn_implementation="eager")
            for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
                self.assertFalse(report[kind], report)
            losses = []
            for row in value_case.judged_rows(12):
                begin = len(row["token_ids"]) + row["cut"]
                ids = torch.tensor([row["token_ids"] + row["completion_ids"]])
                with torch.no_grad():
                    logits = model.eval()(ids, use_cache=False).logits[0, begin:].double()
                label = torch.full((len(logits),), row["label"], dtype=torch.float64)
                losses.append(
                    torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], label)
                    if head == "bernoulli" else torch.nn.functional.cross_entropy(
                        logits, torch.round(label * 4).long()))
            summary = json.loads((self.run_folder() / "summary.json").read_text())
            mine = summary["results"]["eval_loss"]["value"]
            self.assertAlmostEqual(mine, sum(losses).item() / len(losses), delta=2e-5)

    def check_page(self, summary, shown):
        self.assertEqual(pages.shape(summary["result"]), pages.shape(shown))
        for mine, other in zip(page_numbers.numbers(summary["result"]), page_numbers.numbers(shown),
                               strict=True):
            self.assertAlmostEqual(mine, other, delta=page_numbers.LOSS)

    def test_the_example_prints_the_result_of_the_page(self):
        self.run_to(0, 2, config=program.TOP / "conf/train/value.yaml")
        summary = json.loads((self.run_folder("value") / "summary.json").read_text())
        self.check_page(summary, page_numbers.result_of("docs/value.md", "values on the side"))

    def result_of(self, config, name, *more):
        """Runs a configuration. Returns the mean reward, and the mean KL of whole completions, which
        is NaN without a guide."""
        self.run_to(0, 2, f"run.name={name}", *more, config=CONF / config)
        folder = self.run_folder(name)
        summary = json.loads((folder / "summary.json").read_text())
        with h5py.File(folder / "results.h5") as file:
            kl = file.get("arrays/samples/output_kl/values")
            divergence = math.nan if kl is None else kl[:].sum() / len(file["samples/reward"])
        return summary["results"]["reward"]["value"], divergence

    def check_guides(self, alone, *keys):
        """Compares guided rewards with the best policy and with the page. The rewards of `pita`, and
        those at a small eta, follow errors of the value model, which differ between processors."""
        page = program.TOP / "docs/value.md"
        divergences = {row[0]: float(row[2]) for row in pages.table("value: KL of completions", page)}
        for eta, _, *shown in pages.table("value: friendly answers", page):
            best = alone * math.exp(1 / float(eta)) / (alone * math.exp(1 / float(eta)) + 1 - alone)
            for algorithm, reward in zip(("qsharp", "cd", "pita"), shown, strict=True):
                with self.subTest(eta=eta, algorithm=algorithm):
                    guided, kl = self.result_of("guided.yaml", f"{algorithm}_{eta}", *keys,
                                                f"generate.guide.eta={eta}",
                                                f"generate.guide.algorithm={algorithm}")
                    is_best = algorithm != "pita" and eta != "0.1"
                    self.assertAlmostEqual(guided, float(reward), delta=0.05 if is_best else 0.15)
                    if is_best:
                        self.assertAlmostEqual(guided, best, delta=0.05)
                    if algorithm == "qsharp":
                        self.assertAlmostEqual(kl, divergences[eta], delta=0.1)

    def test_the_round_of_the_page_guides_to_friendly_answers(self):
        reference = f"model.path={self.output}/friendly_reference/latest/ckpt/last"
        self.run_to(0, 2, config=CONF / "reference.yaml")
        self.run_to(0, 2, reference, config=CONF / "rollouts.yaml")
        folder = self.run_folder("friendly_rollouts")
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        self.run_to(0, 2, reference, f"data.path={folder}/results.jsonl",
                    config=CONF / "value.yaml")
        held_out = f"data.path={program.TOP}/conf/examples/pairs/held_out.jsonl"
        alone, _ = self.result_of("rollouts.yaml", "alone", reference, held_out,
                                  "generate.num_samples=32")
        shown = float(pages.block_with("docs/value.md", "reward 0.").split()[-1])
        self.assertAlmostEqual(alone, shown, delta=page_numbers.LOSS)
        guide = f"generate.guide.path={self.output}/friendly_value/latest/ckpt/last"
        self.check_guides(alone, reference, guide)
        summary = json.loads((self.run_folder("qsharp_0.5") / "summary.json").read_text())
        shown = float(re.search(r"KL (0\.\d{4})", pages.block_with("docs/value.md", "; KL 0."))[1])
        self.assertAlmostEqual(summary["results"]["kl"]["value"], shown, delta=0.005)
        bounds = ("generate.guide.min_odds=0.01", "generate.guide.max_odds=0.99")
        bounded, _ = self.result_of("guided.yaml", "bounded", reference, guide, *bounds,
                                    "generate.guide.eta=0.1", "generate.guide.algorithm=pita")
        shown, = page_numbers.counts_of(r"max_odds=0\.99` it got (0\.\d+)", "docs/value.md")
        self.assertAlmostEqual(bounded, shown, delta=0.1)

    def test_killed_trainings_and_guided_runs_go_on_to_the_same_bytes(self):
        self.train(1, "checkpoint.every=1")
        golden = self.bytes_of()
        shutil.rmtree(self.output)
        for place in ("train.pass:6:kill", "train.pass:5:kill"):
            self.train(1, "checkpoint.every=1", code=137, env=program.failpoint(place))
        self.train(2, "checkpoint.every=1")
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.bytes_of(), golden)
        guide = self.value_folder()
        keys = ("generate.guide.eta=0.01",)
        self.generate(1, *keys, guide=guide)
        golden = self.results()
        self.start_over()
        for place in ("ledger.write:2:kill", "results.write:1:kill"):
            self.generate(1, *keys, guide=guide, code=137, env=program.failpoint(place))
        self.generate(2, *keys, guide=guide)
        self.assertEqual(self.num_runs("guided"), 1)
        self.assertEqual(self.results(), golden)

    def test_greedy_and_drawn_ends_of_one_beginning_are_pairs(self):
        words = ("the cat", "sat on", "a mat", "the dog", "saw", "run")
        prompts = tiny_lm.write_rows(self.folder / "texts.jsonl",
                                     [{"prompt": f"{a} {b}"} for a in words for b in words[:2]])
        self.generate(1, f"data.path={prompts}", "generate.do_sample=false",
                      "generate.num_samples=1", "generate.temperature=auto")
        greedy = self.exported().rename(self.folder / "greedy.jsonl")
        keys = (f"data.path={greedy}", "data.columns.token_ids=prompt_ids",
                "data.columns.completion_ids=output_ids", "generate.roll_in=random",
                "generate.num_samples=3", "reward.functions={regex: 2, length: 0.1}",
                "reward.regex=[aeiou]", "reward.length=20")
        self.start_over()
        self.generate(1, *keys)
        drawn = self.lists("output_ids")
        self.start_over()
        ended = self.generate(1, *keys, "generate.first_greedy=true")
        self.assertIn("the first completion of each prompt is greedy", " ".join(ended.out.split()))
        golden = self.results()
        for i, ids in enumerate(self.lists("output_ids")):
            if i % 3 > 0:  # those of a run without the key
                self.assertEqual(ids.tolist(), drawn[i].tolist())
        stored = [json.loads(line)["output_ids"] for line in greedy.read_text().splitlines()]
        self.assertEqual([ids.tolist() for ids in self.lists("output_ids")[::3]], stored)
        for ranks, more in ((2, ()), (2, ("--gpus-per-model=2",)), (1, ("generate.batch_size=3",))):
            self.start_over()
            self.generate(ranks, *keys, *more, "generate.first_greedy=true")
            self.assertEqual(self.results(), golden, (ranks, more))
        self.check_pairs(self.export_pairs(), ties=False)
        pairs = self.export_pairs("generate.export_ties=true")
        self.check_pairs(pairs, ties=True)
        weights = []
        for ranks in (1, 2):
            shutil.rmtree(self.output / "tiny", ignore_errors=True)
            self.train(ranks, f"data.path={pairs}", "data.eval_path=null", "train.eval_every=0",
                       "value.data=preferences", "value.preference_beta=1", "train.seq_len=48")
            weights.append((self.value_folder() / "model.safetensors").read_bytes())
        self.assertEqual(*weights)

    def test_a_roll_in_completes_a_beginning_of_each_stored_completion(self):
        self.generate(1)
        stored = self.exported().rename(self.folder / "stored.jsonl")
        before = [json.loads(line) for line in stored.read_text().splitlines()]
        keys = (f"data.path={stored}", "data.columns.token_ids=prompt_ids",
                "data.columns.completion_ids=output_ids", "generate.roll_in=random",
                "generate.num_samples=1", "run.seed=1")
        self.start_over()
        self.generate(1, *keys)
        golden = self.results()
        after = [json.loads(line) for line in self.exported().read_text().splitlines()]
        self.assertGreater(len({row["cut"] for row in after}), 3)
        for old, new in zip(before, after, strict=True):
            # A completion of two tokens or more is cut after the first token or later.
            kept = new["cut"] + 1 if len(old["output_ids"]) - (old["finish"] == "stop_token") > 1 else 0
            self.assertEqual(new["prompt_ids"], old["prompt_ids"])
            self.assertEqual(new["output_ids"][:kept], old["output_ids"][:kept])
            self.assertEqual(new["output_log_probs"][:kept], old["output_log_probs"][:kept])
            self.assertLess(kept, len(new["output_ids"]))
            self.assertLessEqual(len(new["output_ids"]), 8)
            if len(new["output_ids"]) == 8:
                self.assertIn(new["finish"], ("length", "stop_token"))
            self.assertEqual(len(new["output_log_probs"]), len(new["output_ids"]))
            self.assertEqual(len(new["prompt_log_probs"]), len(new["prompt_ids"]))
        self.assertNotEqual([row["output_ids"] for row in after],
                            [row["output_ids"] for row in before])
        self.start_over()
        self.generate(2, *keys)
        self.assertEqual(self.results(), golden)
        self.train(1, f"data.path={self.exported()}", "data.columns.token_ids=prompt_ids",
                   "data.columns.completion_ids=output_ids", "data.columns.label=output_log_prob",
                   "data.eval_path=null", "value.head=expectation", "train.max_steps=2",
                   "train.eval_every=0", "train.seq_len=48")
        for word, code, *more in (("completion_ids", 65, keys[0], keys[1], keys[3]),
                                  ("do not see the tokens", 78, *keys, "generate.stop=[a]"),
                                  ("completes nothing", 78, *keys, "generate.max_new_tokens=0")):
            self.assertIn(word, self.generate(1, *more, code=code).err)

    def test_prompts_with_equal_labels_are_left_out(self):
        rows = value_case.judged_rows(40)
        rows += [{"token_ids": [1, 2], "completion_ids": [i], "label": 1} for i in range(3, 6)]
        labels = {}
        for row in rows:
            labels.setdefault(tuple(row["token_ids"]), set()).add(row["label"])
        different = [row for row in rows if len(labels[tuple(row["token_ids"])]) > 1]
        self.assertLess(len(different), len(rows))
        every, some, none = (
            tiny_lm.write_rows(self.folder / name, which) for name, which in
            (("every.jsonl", rows), ("some.jsonl", different), ("none.jsonl", rows[-3:])))
        drop = "value.drop_equal_labels=true"
        left_out = len(rows) - len(different)
        self.train(1, f"data.path={some}", f"data.eval_path={some}")
        golden = self.bytes_of()["ckpt/last/model.safetensors"]
        for ranks in (1, 2):
            self.start_over_training()
            ended = self.train(ranks, f"data.path={every}", f"data.eval_path={every}", drop)
            self.assertIn(f"{every}: value.drop_equal_labels leaves out {left_out} of {len(rows)}",
                          ended.out)
            self.assertEqual(self.bytes_of()["ckpt/last/model.safetensors"], golden)
        refused = self.train(1, f"data.path={none}", drop, code=65).err
        self.assertIn("no prompt has completions with different labels", refused)
        self.assertIn(f"--> {none}", refused)
        self.assertIn("leaves no row to measure",
                      self.train(1, f"data.eval_path={none}", drop, code=65).err)
        self.assertIn("never have equal labels",
                      self.train(1, drop, "value.data=preferences", code=78).err)

    def test_rows_that_cannot_be_learned_are_named(self):
        good = {"token_ids": [1, 2], "completion_ids": [3, 4], "label": 1}
        bad = [good | {"label": 2}, good | {"cut": 2}, good | {"label": "much"},
               {key: good[key] for key in ("token_ids", "label")}]
        path = tiny_lm.write_rows(self.folder / "bad.jsonl", [*bad, *[good] * 8])
        ended = self.train(1, f"data.path={path}", code=65)
        for line in (":1: its `label` 2 is not from 0 to 1", ":2: its `cut` of 2 leaves no token",
                     ":3: its `label` is no number", ":4: it has `token_ids`, and no"):
            self.assertIn(line, ended.err)
        self.train(1, f"data.path={path}", "data.on_bad_row=mark")
        self.train(1, f"data.path={path}", "data.on_bad_row=mark", "value.head=expectation")
        for word, key in (("is not for head bernoulli", "value.loss=mle"),
                          ("compares two completions", "value.loss=bradley_terry"),
                          ("with value.head=histogram only", "value.atoms=7"),
                          ("from 0 to 1", "value.highest=2"), ("remove it", "data.template={text}")):
            self.assertIn(word, self.train(1, key, code=78).err)


if __name__ == "__main__":
    program.main()
