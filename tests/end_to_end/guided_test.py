"""Tests generation that a value model guides: equal bytes on any number of ranks, and guides that
cannot be used."""
import json

import program
import tiny_lm
import value_case

try:
    import numpy as np
    from safetensors.numpy import load_file, save_file
except ImportError:
    pass  # ValueCase skips


class Guided(value_case.ValueCase):

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


if __name__ == "__main__":
    program.main()
