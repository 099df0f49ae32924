"""Tests train.share_prompts: equal numbers of the forward passes, gradients that differ by rounding, and
equal bytes at any number of ranks."""
import json

import program
from recipe_case import RecipeCase

SEPARATE = "train.share_prompts=false"
# Numbers of a step that come from its forward passes.
FORWARD = ("loss", "reward", "entropy", "completion_length", "log_prob_difference")


class SharedPrompts(RecipeCase):
    CONFIG = program.TOP / "conf/train/grpo.yaml"
    # A model with random weights, rewarded for the letter e. Prompts have about 40 tokens.
    KEYS = ("run.name=tiny", "model.path=null", f"model.init={program.SMALL_LM}",
            "train.max_steps=3",
            "data.dataset=none", "data.arithmetic.largest=99",
            "data.arithmetic.rows=[15000, 1000, 4000]", "train.seq_len=64",
            "train.global_batch_size=16", "train.lanes=4", "grpo.group_size=4",
            "grpo.max_new_tokens=6", "reward.functions={regex: 1, length: 0.01}", "reward.regex=e",
            "reward.length=5")

    def setUp(self):
        super().setUp()
        path = self.folder / "prompts.jsonl"
        path.write_text("".join(
            json.dumps({"prompt": " + ".join(str(n * k % 10) for k in range(1, 11)) + " ="}) + "\n"
            for n in range(3, 15)))
        self.KEYS = (*self.KEYS, f"data.path={path}")

    def numbers(self, *keys):
        self.train(1, *keys, "train.max_steps=1", "--resume=never")
        return self.columns("metrics/train")

    def test_the_first_step_has_the_same_numbers_with_separate_prompts(self):
        for more in ((), ("grpo.num_iterations=2", "grpo.temperature=0.8", "grpo.beta=0.05")):
            with self.subTest(more=more):
                shared, separate = self.numbers(*more), self.numbers(*more, SEPARATE)
                for name in FORWARD:
                    self.assertEqual(shared[name].tolist(), separate[name].tolist(), name)
                self.assertEqual(shared["log_prob_difference"].tolist(), [0.0])
                norm = separate["grad_norm"][0]
                self.assertGreater(norm, 0.0)
                self.assertLess(abs(shared["grad_norm"][0] - norm), 1e-5 * norm)

    def test_the_sampler_agrees_with_training_in_all_steps(self):
        self.train(2, "train.max_steps=4")
        self.assertEqual(set(self.columns("metrics/train")["log_prob_difference"]), {0.0})
        shift = program.failpoint("grpo.sampler:2:EIO")
        self.train(1, "train.max_steps=4", "--resume=never", env=shift)
        self.assertGreater(self.columns("metrics/train")["log_prob_difference"][1], 0.0)

    def test_2_and_4_ranks_give_the_bytes_of_one(self):
        several = ("grpo.num_iterations=2", "grpo.beta=0.05")
        golden = self.golden(*several)
        for ranks in (2, 4):
            self.train(ranks, *several, "--resume=never")
            self.assertEqual(self.bytes_of(), golden)

    def test_the_plan_counts_prompts_once(self):
        shared = self.plan()
        separate = self.plan(SEPARATE)
        # Each of the 4 passes has a group, whose prompt leaves room for 6 tokens.
        self.assertIn("at most 328 tokens a step, not 1,024", shared)
        self.assertNotIn("prompts once per pass", separate)

    def plan(self, *keys):
        ended = self.run_to(0, 1, *self.keys_with(keys), "--plan", config=self.CONFIG)
        return " ".join(ended.out.split())

    def test_it_is_refused_where_nothing_is_shared(self):
        ended = self.start_command(
            [self.program, program.TOP / "conf/train/tiny_lm.yaml", SEPARATE,
             f"run.output={self.output}"]).wait()
        self.assertEqual(ended.code, 78, ended.err)
        self.assertIn("each sequence is learned alone", " ".join(ended.err.split()))


if __name__ == "__main__":
    program.main()
