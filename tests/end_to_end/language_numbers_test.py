"""Tests job train with a language model: number formats, passes, and an unfinished run."""
import json
import shutil
import signal
import unittest

import program
import tiny_lm

try:
    import h5py
except ImportError as error:
    h5py = None
    NO_H5PY = f"no h5py here: {error}"

CONFIG = f"""
schema: 1
job: train
run: {{name: tiny, deterministic: layout}}
model: {{init: {program.SMALL_LM}}}
data: {{synthetic_texts: 300}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 24, learning_rate: 3e-3,
        warmup_steps: 4}}
checkpoint: {{every: 8}}
"""


class LanguageNumbers(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.config = self.folder / "lm.yaml"
        self.config.write_text(CONFIG)

    def train(self, ranks, *arguments, code=0, env=None):
        return self.run_to(code, ranks, *arguments, config=self.config, env=env)

    def anew(self, ranks, *arguments, env=None):
        """Trains in a separate folder and returns that folder."""
        output = self.folder / f"anew_{len(list(self.folder.glob('anew_*')))}"
        self.train(ranks, *arguments, f"run.output={output}", env=env)
        return output / "tiny" / "latest"

    @staticmethod
    def losses(run):
        return json.loads((run / "summary.json").read_text())["series"]["train_loss"]

    @staticmethod
    def weights(run):
        return (run / "ckpt" / "last" / "model.safetensors").read_bytes()

    @staticmethod
    def trainer_state(run):
        return json.loads((run / "ckpt" / "last" / "state.json").read_text())["values"]

    def test_fp16_halves_its_scale_at_an_overflow_and_goes_on(self):
        overflow = program.failpoint("train.gradient:3:EIO;train.gradient:5:EIO")
        run = self.anew(1, "train.mixed_precision=fp16", "train.max_steps=12", env=overflow)
        log = (run / "run.log").read_text()
        self.assertIn("step 3: fp16 overflow, the loss scale is now 32768\n", log)
        self.assertIn("step 5: fp16 overflow, the loss scale is now 16384\n", log)
        state = self.trainer_state(run)
        self.assertEqual(state["loss_scale"], 16384.0)
        self.assertEqual(state["loss_scale.good_updates"], 7)
        self.assertEqual(state["adam.updates"], 10)
        losses = self.losses(run)
        self.assertLess(losses[-1], losses[0] - 1.0)

    def test_a_step_that_overflows_changes_no_weight(self):
        overflow = program.failpoint("train.gradient:1:EIO")
        once = [self.weights(self.anew(1, "train.mixed_precision=fp16", "train.max_steps=1",
                                       f"train.learning_rate={rate}", env=overflow))
                for rate in ("1e-3", "1")]
        updated = self.weights(self.anew(1, "train.mixed_precision=fp16", "train.max_steps=1"))
        self.assertEqual(once[0], once[1])
        self.assertNotEqual(once[0], updated)

    def test_sixteen_bits_learn_alike_at_1_and_2_ranks(self):
        few = "train.max_steps=8"
        exact = self.losses(self.anew(1, few))
        for precision in ("bf16", "fp16"):
            key = f"train.mixed_precision={precision}"
            one, two = self.anew(1, few, key), self.anew(2, few, key)
            self.assertEqual(self.weights(one), self.weights(two))
            # Products have 8 bits: losses of about 4 differ in the second digit at most.
            self.assertLess(abs(self.losses(one)[-1] - exact[-1]), 0.2)
            self.assertNotEqual(self.losses(one), exact)

    def test_passes_that_a_batch_is_cut_into_change_rounding_only(self):
        alone = ("run.deterministic=false", "train.lanes=1")
        whole = self.losses(self.anew(1, *alone))
        for passes in (2, 4):
            cut = self.losses(self.anew(1, *alone, f"train.gradient_accumulation_steps={passes}"))
            self.assertLess(max(abs(a - b) for a, b in zip(whole, cut)), 1e-3)

    def test_one_two_and_four_passes_of_a_rank_give_the_same_bytes(self):
        # 4 lanes on 4, 2 and 1 ranks, with and without layers that are recomputed.
        bytes_of = {self.weights(self.anew(ranks, f"train.gradient_checkpointing={again}"))
                    for ranks, again in ((4, "false"), (2, "true"), (1, "false"), (1, "true"))}
        self.assertEqual(len(bytes_of), 1)

    def test_experts_of_4_bits_learn_alike_at_1_and_2_ranks(self):
        model = tiny_lm.make_folder(self.folder / "model", "gpt_oss")
        for name in ("config.json", "model.safetensors"):
            shutil.copy(tiny_lm.GOLDENS / "gpt_oss_mxfp4" / name, model / name)
        rows = [{"text": f"the cat {n} sat on mat {n % 7}"} for n in range(60)]
        data = tiny_lm.write_rows(self.folder / "data.jsonl", rows)
        text = CONFIG.replace("model: {init: ", f"model: {{path: {model}}} #")
        self.config.write_text(text.replace("synthetic_texts: 300", f"path: {data}"))
        one, two = self.anew(1), self.anew(2)
        self.assertEqual(self.weights(one), self.weights(two))
        losses = self.losses(one)
        self.assertLess(losses[-1], losses[0] - 0.5)
        written = json.loads((one / "ckpt" / "last" / "config.json").read_text())
        self.assertEqual(written["dtype"], "float32")
        self.assertNotIn("quantization_config", written)

    def test_the_plan_says_what_memory_a_run_takes(self):
        model = self.folder / "model"
        shutil.copytree(program.SMALL_LM, model)
        config = json.loads((model / "config.json").read_text())
        config |= {"hidden_size": 320, "intermediate_size": 864, "vocab_size": 8192}
        (model / "config.json").write_text(json.dumps(config))
        keys = (f"model.init={model}", "train.seq_len=256", "train.max_steps=2",
                "run.deterministic=false", "train.lanes=1", "checkpoint.every=1")
        for more in ((), ("train.gradient_checkpointing=true",), ("train.micro_batch_size=1",)):
            with self.subTest(more=more):
                told = json.loads(self.run_to(0, 1, "--plan=json", *keys, *more,
                                              config=self.config).out)
                planned = sum(part["bytes"] for part in told["memory"])
                run = self.anew(1, *keys, *more)
                peak = json.loads((run / "summary.json").read_text())["host_peak_bytes"][0]
                self.assertLess(abs(planned / peak - 1.0), 0.1, (planned, peak, told["memory"]))

    @unittest.skipIf(h5py is None, NO_H5PY if h5py is None else "")
    def test_an_unfinished_run_is_merged_and_goes_on(self):
        steps = ("train.max_steps=60", "checkpoint.every=0")
        golden = (self.anew(1, *steps) / "results.h5").read_bytes()
        mark = self.folder / "mark"
        slow = program.failpoint("train.pass@0:20:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
        job = self.start(1, *steps, config=self.config, env=slow)
        self.assertTrue(job.wait_until(mark.exists))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        run = self.run_folder()
        done = json.loads((run / "ckpt" / "last" / "state.json").read_text())["step"]

        merged = self.run_to(0, 1, "--merge", str(run), config=None)

        self.assertLess(done, 60)
        self.assertRegex(merged.out, rf"training +{done} of 60 steps")
        with h5py.File(run / "results.h5") as file:
            self.assertEqual(file["metrics/train/loss"].shape, (done,))
        self.train(1, *steps)
        self.assertEqual((self.run_folder() / "results.h5").read_bytes(), golden)


if __name__ == "__main__":
    program.main()
