"""Tests recipe value of job train, and generation that its models guide: equal bytes on any number
of ranks, and folders that transformers opens. Also tests guides and rows that cannot be used."""
import json
import math
import re
import shutil
import sys

import program
import tiny_lm

try:
    import h5py
    import numpy as np
    from safetensors.numpy import load_file, save_file
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages

CONF = program.TOP / "conf/examples/friendly"
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
FILES = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors")


def judged_rows(count):
    """Completions whose return is 1 if they have more tokens below 33 than above, with cuts."""
    rows = []
    for i in range(count):
        ids = [(i * 17 + j * 29 + i * j) % 67 for j in range(2 + i % 7)]
        low = sum(token < 33 for token in ids)
        rows.append({"token_ids": [1, 3 + i % 9], "completion_ids": ids,
                     "label": float(2 * low > len(ids)), "cut": i % len(ids)})
    return rows


class Value(program.ProgramTest):

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

    def bytes_of(self, name="tiny"):
        return {file: (self.run_folder(name) / file).read_bytes() for file in FILES}

    def value_folder(self):
        return self.run_folder("tiny") / "ckpt" / "last"

    def copy_of(self, folder, name):
        """Returns a copy of a model folder, without the checksums of the checkpoint."""
        copy = self.folder / name
        copy.mkdir()
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
            shutil.copy(folder / file, copy / file)
        return copy

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
            for row in judged_rows(12):
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

    def reward_of(self, config, name, *more):
        self.run_to(0, 2, f"run.name={name}", *more, config=CONF / config)
        summary = json.loads((self.run_folder(name) / "summary.json").read_text())
        return summary["results"]["reward"]["value"]

    def test_the_round_of_the_page_guides_to_friendly_answers(self):
        reference = f"model.path={self.output}/friendly_reference/latest/ckpt/last"
        self.run_to(0, 2, config=CONF / "reference.yaml")
        self.run_to(0, 2, reference, config=CONF / "rollouts.yaml")
        folder = self.run_folder("friendly_rollouts")
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        self.run_to(0, 2, reference, f"data.path={folder}/results.jsonl",
                    config=CONF / "value.yaml")
        held_out = f"data.path={program.TOP}/conf/examples/pairs/held_out.jsonl"
        alone = self.reward_of("rollouts.yaml", "alone", reference, held_out,
                               "generate.num_samples=32")
        shown = float(pages.block_with("docs/value.md", "reward 0.").split()[-1])
        self.assertAlmostEqual(alone, shown, delta=page_numbers.LOSS)
        guide = f"generate.guide.path={self.output}/friendly_value/latest/ckpt/last"
        for eta in (1.0, 0.5):
            best = alone * math.exp(1 / eta) / (alone * math.exp(1 / eta) + 1 - alone)
            guided = self.reward_of("guided.yaml", f"guided_{eta}", reference, guide,
                                    f"generate.guide.eta={eta}")
            self.assertAlmostEqual(guided, best, delta=0.05)
        summary = json.loads((self.run_folder("guided_0.5") / "summary.json").read_text())
        shown = float(re.search(r"KL (0\.\d{4})", pages.block_with("docs/value.md", "; KL 0."))[1])
        self.assertAlmostEqual(summary["results"]["kl"]["value"], shown, delta=0.005)

    # Generation.

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
        """Returns the columns of the newest run, by name."""
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

    def kl_of_brute_force(self, guide, temperature, top_k, eta, reference=None):
        """Returns the KL of each token of all completions, by transformers and its definition. The
        offsets are those of qsharp with a Bernoulli head."""
        import torch
        from transformers import AutoModelForCausalLM, AutoModelForTokenClassification

        def opened(kind, folder):
            return kind.from_pretrained(folder, attn_implementation="eager").eval().double()

        model = opened(AutoModelForCausalLM, self.model)
        values = opened(AutoModelForTokenClassification, guide)
        other = opened(AutoModelForCausalLM, reference) if reference else model
        found = []
        for prompt, output in zip(self.lists("prompt_ids"), self.lists("output_ids"), strict=True):
            ids = torch.tensor([*prompt, *output]).long()
            rows = torch.arange(len(prompt) - 1, len(ids) - 1)
            with torch.no_grad():
                logits, others = model(ids[None]).logits[0, rows], other(ids[None]).logits[0, rows]
                best = logits.topk(top_k).indices
                # One sequence per candidate. Later tokens do not change the value after it.
                after = ids.expand(len(rows), top_k, -1).clone()
                after.scatter_(2, (rows + 1)[:, None, None].expand(-1, top_k, 1), best[..., None])
                z = values(after.flatten(0, 1)).logits[:, :, 0].view(len(rows), top_k, -1)
                z = z.gather(2, (rows + 1)[:, None, None].expand(-1, top_k, 1))[..., 0]
                offsets = torch.logaddexp(z + 1 / eta, torch.zeros(1)) - torch.logaddexp(
                    z, torch.zeros(1))
                p = logits.scatter_add(1, best, offsets)
                p = torch.log_softmax(p / temperature, 1)
                q = torch.log_softmax(others / temperature, 1)
                found.append((p.exp() * (p - q)).sum(1).tolist())
        return found

    def check_kl(self, expected, tolerance=1e-5):
        found = self.lists("output_kl")
        self.assertEqual(len(found), 24)
        for mine, exact in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, exact, atol=tolerance, rtol=tolerance)
        means, prompts = self.column("kl"), self.column("kl", "prompts")
        exact = [np.mean(values) for values in expected]
        np.testing.assert_allclose(means, exact, atol=tolerance, rtol=tolerance)
        np.testing.assert_allclose(prompts, means.reshape(12, 2).mean(1), rtol=1e-12)

    def results(self):
        return (self.run_folder("guided") / "results.h5").read_bytes()

    def start_over(self):
        shutil.rmtree(self.output / "guided", ignore_errors=True)

    def test_a_guide_gives_the_same_bytes_on_ranks_and_in_groups(self):
        self.train(1)
        guide = self.value_folder()
        self.generate(1)
        plain = self.samples()
        self.start_over()
        keys = ("generate.guide.eta=0.01", "generate.guide.top_k=8")
        ended = self.generate(1, *keys, guide=guide)
        self.assertIn("qsharp, eta 0.01, the 8 most probable tokens", ended.out)
        golden = self.results()
        self.assertNotEqual(self.samples(), plain)
        for ranks, more in ((2, ()), (2, ("--gpus-per-model=2",)),
                            (3, ("devices.groups=[1, 2]", "generate.batch_size=3"))):
            self.start_over()
            self.generate(ranks, *keys, *more, guide=guide)
            self.assertEqual(self.results(), golden, more)

    def test_in_tensor_groups_a_guide_gives_the_greedy_tokens_of_one_rank(self):
        self.train(1)
        guide = self.value_folder()
        keys = ("generate.do_sample=false", "generate.temperature=auto", "generate.num_samples=1",
                "generate.guide.eta=0.01", "generate.guide.algorithm=cd")
        self.generate(1, *keys, guide=guide)
        alone = self.samples()
        self.start_over()
        self.generate(2, *keys, "model.parallel=tensor", "--gpus-per-model=2", guide=guide)
        name = next(name for name in alone if name.endswith("output_ids/values"))
        self.assertEqual(self.samples()[name], alone[name])

    def test_the_kl_of_guided_draws_is_that_from_the_model_as_a_reference(self):
        self.train(1)
        guide = self.value_folder()
        keys = ("generate.guide.eta=0.02", "generate.top_k=12")
        self.generate(2, *keys, guide=guide)
        expected = self.lists("output_kl")
        self.assertGreater(np.concatenate(expected).min(), 0.0)
        self.start_over()
        self.generate(1, *keys, f"generate.reference={self.model}", guide=guide)
        self.check_kl(expected, 1e-6)

    def test_the_kl_of_guided_draws_is_that_of_transformers(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("transformers is not installed")
        self.train(1)
        guide = self.value_folder()
        keys = ("generate.guide.eta=0.02", "generate.guide.top_k=8")
        ended = self.generate(1, *keys, guide=guide)
        expected = self.kl_of_brute_force(guide, 0.9, 8, 0.02)
        self.assertGreater(np.mean(np.concatenate(expected)), 0.1)
        self.check_kl(expected)
        self.assertRegex(ended.out, r"; KL \d\.\d{4} \[")
        summary = json.loads((self.run_folder("guided") / "summary.json").read_text())
        self.assertIn("of the guided draws", summary["results"]["kl"]["label"])
        self.assertEqual(summary["results"]["kl"]["count"], 12)
        self.start_over()  # cuts do not count, and the model itself is a reference, too
        self.generate(1, *keys, "generate.top_p=0.7", f"generate.reference={self.model}",
                      guide=guide)
        self.check_kl(self.kl_of_brute_force(guide, 0.9, 8, 0.02))
        other = tiny_lm.make_folder(self.folder / "other", family="mistral")
        keys = (*keys, f"generate.reference={other}")
        self.start_over()
        self.generate(1, *keys, guide=guide)
        golden = self.results()
        self.check_kl(self.kl_of_brute_force(guide, 0.9, 8, 0.02, other))
        for ranks, more in ((2, ()), (2, ("--gpus-per-model=2",))):
            self.start_over()
            self.generate(ranks, *keys, *more, guide=guide)
            self.assertEqual(self.results(), golden, more)
        self.start_over()
        self.generate(2, *keys, "model.parallel=tensor", "--gpus-per-model=2", guide=guide)
        self.check_kl(self.kl_of_brute_force(guide, 0.9, 8, 0.02, other))

    def test_values_of_even_odds_change_no_byte_of_the_completions(self):
        self.train(1)
        guide = self.copy_of(self.value_folder(), "even")
        weights = load_file(guide / "model.safetensors")
        for name in ("score.weight", "score.bias"):
            weights[name] = weights[name] * 0
        save_file(weights, guide / "model.safetensors", {"format": "pt"})
        self.generate(1)
        plain = self.samples()
        self.start_over()
        self.generate(2, "generate.guide.algorithm=pita", "generate.guide.eta=0.1", guide=guide)
        self.assertEqual(self.samples(), plain)
        self.assertEqual(set(np.concatenate(self.lists("output_kl"))), {0.0})

    def test_a_guide_of_another_family_needs_positions_for_all_tokens(self):
        other = tiny_lm.make_folder(self.folder / "gpt2", family="gpt2")
        self.train(1, f"model.path={other}")
        guide = self.value_folder()
        config = json.loads((guide / "config.json").read_text())
        self.assertEqual(config["architectures"], ["GPT2ForTokenClassification"])
        ended = self.generate(2, "generate.max_new_tokens=60", guide=guide, code=78)
        self.assertIn("the guide has 48 positions", ended.err)
        self.start_over()
        self.generate(1, "generate.guide.eta=0.02", guide=guide)
        golden = self.results()
        self.start_over()
        ended = self.generate(2, "generate.guide.eta=0.02", "--gpus-per-model=2", guide=guide)
        self.assertIn("; weights of the guide ", ended.out)
        self.assertEqual(self.results(), golden)
        planned = self.generate(1, "--plan", guide=guide)
        self.assertRegex(planned.out, r"\n  guide +[\d.]+ [KM]iB")
        self.assertRegex(planned.out, r"\n  caches and passes of other models +[\d.]+ [KM]iB")

    def test_an_automatic_batch_counts_all_models(self):
        self.train(1)
        guide = self.value_folder()
        keys = ("generate.guide.eta=0.02", f"generate.reference={self.model}")
        self.generate(1, *keys, guide=guide)
        golden = self.results()
        self.start_over()
        ended = self.generate(2, *keys, "generate.batch_size=auto", guide=guide)
        self.assertRegex(ended.out, r"8 completions at once \(auto\): .*\+ other models")
        self.assertEqual(self.results(), golden)
        self.start_over()  # memory runs out during a draw, and the chunk begins again
        ended = self.generate(1, *keys, guide=guide, env=program.failpoint("generate.drawn:9:EIO"))
        self.assertIn("out of memory with 8 completions at once", ended.out)
        self.assertEqual(self.results(), golden)

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

    def test_a_guide_that_changes_under_a_run_is_noticed(self):
        self.train(1)
        guide = self.copy_of(self.value_folder(), "changing")
        self.generate(1, guide=guide, code=137, env=program.failpoint("ledger.write:2:kill"))
        weights = load_file(guide / "model.safetensors")
        weights["score.weight"] = weights["score.weight"] * 2
        save_file(weights, guide / "model.safetensors", {"format": "pt"})
        ended = self.run_to(65, 1, "--merge", str(self.run_folder("guided")), config=None)
        self.assertIn("generate.guide.path", ended.err)

    def refuse(self, *refusals):
        """Runs all `refusals` (code, words, guide, arguments) in parallel, since mpirun ends slowly."""
        keys = (f"model.path={self.model}", f"data.path={self.make_prompts()}")
        jobs = [self.start(2, *keys, *([f"generate.guide.path={guide}"] if guide else []), *more,
                           config=self.generate_config) for _, _, guide, *more in refusals]
        for (code, words, *_), job in zip(refusals, jobs, strict=True):
            ended = job.wait()
            self.assertEqual(ended.code, code, ended.out + ended.err)
            self.assertEqual(ended.err.count("error[E"), 1, ended.err)
            self.assertIn(words, ended.err)
        self.assertIsNone(self.run_folder("guided"))

    def test_value_models_that_cannot_guide_are_refused_before_any_work(self):
        self.train(1, "train.max_steps=1")
        guide = self.value_folder()
        other = self.copy_of(guide, "other")
        tokenizer = other / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text().replace('"a": 4', '"a": 5', 1)
                             .replace('"b": 5', '"b": 4', 1))
        config = json.loads((guide / "config.json").read_text())
        del config["value_head"]
        config["id2label"] = {str(i): f"LABEL_{i}" for i in range(3)}
        three = self.copy_of(guide, "three")
        (three / "config.json").write_text(json.dumps(config))
        self.refuse(
            (65, "has no value model", self.model), (66, "no such folder", self.folder / "none"),
            (78, "generate.guide.eta", guide, "generate.guide.eta=0"),
            (78, "generate.guide.top_k", guide, "generate.guide.top_k=0"),
            (78, "means nothing without `generate.guide.path`", None, "generate.guide.eta=1"))
        self.refuse(
            (78, "generate.guide.algorithm=pita only", guide, "generate.guide.max_odds=0.99"),
            (78, "another tokenizer than model.path", other),
            (65, "the classifier has 3 outputs", three))

    def exported(self):
        folder = self.run_folder("guided")
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return folder / "results.jsonl"

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
            kept = new["cut"] + 1 if new["cut"] else 0
            self.assertEqual(new["prompt_ids"], old["prompt_ids"])
            self.assertEqual(new["output_ids"][:kept], old["output_ids"][:kept])
            self.assertEqual(new["output_log_probs"][:kept], old["output_log_probs"][:kept])
            self.assertLess(kept, len(new["output_ids"]))
            self.assertLessEqual(len(new["output_ids"]), 8)
            self.assertEqual(len(new["output_log_probs"]), len(new["output_ids"]))
            self.assertEqual(len(new["prompt_log_probs"]), len(new["prompt_ids"]))
        self.assertNotEqual([row["output_ids"] for row in after],
                            [row["output_ids"] for row in before])
        self.start_over()
        self.generate(2, *keys)
        self.assertEqual(self.results(), golden)
        exported = self.exported().rename(self.folder / "completed.jsonl")
        self.check_kl_of_roll_in(keys, after)
        self.train(1, f"data.path={exported}", "data.columns.token_ids=prompt_ids",
                   "data.columns.completion_ids=output_ids", "data.columns.label=output_log_prob",
                   "data.eval_path=null", "value.head=expectation", "train.max_steps=2",
                   "train.eval_every=0", "train.seq_len=48")
        for word, code, *more in (("completion_ids", 65, keys[0], keys[1], keys[3]),
                                  ("do not see the tokens", 78, *keys, "generate.stop=[a]"),
                                  ("completes nothing", 78, *keys, "generate.max_new_tokens=0")):
            self.assertIn(word, self.generate(1, *more, code=code).err)

    def check_kl_of_roll_in(self, keys, rows):
        """The tokens that another policy drew have a KL from a reference, and none of a guide."""
        self.train(1)
        guide = self.value_folder()
        kept = [row["cut"] + 1 if row["cut"] else 0 for row in rows]
        other = tiny_lm.make_folder(self.folder / "other", family="mistral")
        reference = f"generate.reference={other}"
        self.start_over()
        self.generate(1, reference)  # the run whose completions are begun again
        before = self.lists("output_kl")
        self.start_over()
        self.generate(1, *keys, reference)
        alone = self.lists("output_kl")
        for begun, row, old, new in zip(kept, alone, before, rows, strict=True):
            self.assertEqual(len(row), len(new["output_ids"]))
            np.testing.assert_array_equal(row[:begun], old[:begun])
        self.start_over()
        self.generate(1, *keys, "generate.guide.eta=0.02", guide=guide)
        for begun, row in zip(kept, self.lists("output_kl"), strict=True):
            without = int(np.isnan(row).sum())  # column `cut` is 0 for one begun token, too
            self.assertIn(without, (begun,) if begun else (0, 1))
            self.assertTrue(np.isnan(row[:without]).all())
        self.assertFalse(np.isnan(self.column("kl")).any())
        self.start_over()
        self.generate(1, *keys, "generate.guide.eta=0.02", reference, guide=guide)
        for begun, row, plain in zip(kept, self.lists("output_kl"), alone, strict=True):
            np.testing.assert_array_equal(row[:begun], plain[:begun])
            if begun:
                self.assertNotEqual(row[begun], plain[begun])
        shutil.rmtree(self.output / "tiny")

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
