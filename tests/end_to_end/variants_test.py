"""Tests options of the model and its number formats that other tests leave at their defaults."""
import json
import statistics

import program


class Variants(program.ProgramTest):

    def summary(self, name="tiny"):
        return json.loads((self.run_folder(name) / "summary.json").read_text())

    def learns_alike_at_1_and_2_ranks(self, *keys, steps=48):
        keys += (f"train.max_steps={steps}", f"train.eval_every={steps // 2}",
                 f"checkpoint.every={steps // 2}")
        golden = self.golden(*keys)
        self.run_to(0, 2, *keys)
        self.assertEqual(self.hashes(), golden)
        losses = self.summary()["series"]["train_loss"]
        self.assertEqual(len(losses), steps)
        self.assertLess(statistics.mean(losses[-(steps // 4):]),
                        statistics.mean(losses[:steps // 4]) - 0.1)

    def test_transition_tokens_learn(self):
        # Each window has one prediction instead of 40, so the loss takes more steps to fall.
        self.learns_alike_at_1_and_2_ranks("model.tokens=transition", steps=192)

    def test_bf16_learns(self):
        self.learns_alike_at_1_and_2_ranks("train.mixed_precision=bf16")

    def test_fp16_learns(self):
        self.learns_alike_at_1_and_2_ranks("train.mixed_precision=fp16")

    def test_transition_tokens_in_fp16_learn(self):
        self.learns_alike_at_1_and_2_ranks("model.tokens=transition", "train.mixed_precision=fp16",
                                           steps=192)

    def test_each_precision_gives_its_own_bytes(self):
        weights = {self.golden(f"train.mixed_precision={precision}", f"run.name={precision}",
                               name=precision)["ckpt/last/model.safetensors"]
                   for precision in ("no", "bf16", "fp16")}
        self.assertEqual(len(weights), 3)

    def test_train_ad_yaml_runs_on_8_ranks(self):
        self.run_to(0, 8, "train.max_steps=3", "train.global_batch_size=32", "data.streams=2",
                    "evaluate.runs=1", "evaluate.episodes=2",
                    config=program.TOP / "conf/train/train_ad.yaml")
        summary = self.summary("train_ad")
        self.assertEqual((summary["done"], summary["total"], summary["ranks"]), (3, 3, 8))


if __name__ == "__main__":
    program.main()
