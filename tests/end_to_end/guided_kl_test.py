"""Tests the KL of guided draws: against transformers and its definition, from other references, of
completions that a row began, and on any number of ranks. Also tests automatic batches."""
import json

import program
import tiny_lm
import value_case

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None


class GuidedKl(value_case.ValueCase):

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

    def test_tokens_that_another_policy_drew_have_a_kl_from_a_reference_only(self):
        self.train(1)
        guide = self.value_folder()
        self.generate(1)
        stored = self.exported().rename(self.folder / "stored.jsonl")
        keys = (f"data.path={stored}", "data.columns.token_ids=prompt_ids",
                "data.columns.completion_ids=output_ids", "generate.roll_in=random",
                "generate.num_samples=1", "run.seed=1")
        self.start_over()
        self.generate(1, *keys)
        rows = [json.loads(line) for line in self.exported().read_text().splitlines()]
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

    def test_an_automatic_batch_counts_all_models(self):
        self.train(1)
        guide = self.value_folder()
        keys = ("generate.guide.eta=0.02", f"generate.reference={self.model}")
        self.generate(1, *keys, guide=guide)
        golden = self.results()
        self.start_over()
        ended = self.generate(2, *keys, "generate.batch_size=auto", guide=guide)
        self.assertRegex(ended.out, r"24 completions at once \(auto\): .*\+ other models")
        self.assertEqual(self.results(), golden)
        self.start_over()  # memory runs out during a draw, and the chunk begins again
        ended = self.generate(1, *keys, guide=guide, env=program.failpoint("generate.drawn:9:EIO"))
        self.assertIn("out of memory with 8 completions at once", ended.out)
        self.assertEqual(self.results(), golden)


if __name__ == "__main__":
    program.main()
