"""Compares the program's GPU branches, with emulated kernels, with the same runs on the CPU."""
import json
import os
import pathlib
import re
import sys
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

import prm_case
import program
import tiny_lm

try:
    import h5py
    import numpy
except ImportError as error:
    h5py = None
    NO_H5PY = f"no h5py here: {error}"

EMULATED = os.environ["MGPU_EMULATED"]
LAUNCHES = re.compile(r"cudaemu: \d+ launches of (\w+)")
STEP = {"block_sums_kernel", "total_kernel", "adamw_step_kernel"}
ATTENTION = {"forward_kernel", "grad_queries_kernel", "grad_keys_kernel"}
DECODER = {"rms_norm_kernel", "rotate_heads_kernel", "gated_activation_kernel",
           "paged_attention_kernel"}
LM_TRAIN = f"""
schema: 1
job: train
run: {{name: tiny}}
model: {{init: {program.SMALL_LM}}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 6, learning_rate: 3e-3,
        warmup_steps: 2}}
"""
VALUE_TRAIN = """
schema: 1
job: train
run: {name: tiny}
train: {recipe: value, seq_len: 24, global_batch_size: 8, lanes: 4, max_steps: 4,
        learning_rate: 0.01, warmup_steps: 1}
"""


class BothWays(program.ProgramTest):
    """Runs with the CPU's kernels and with the emulated ones."""

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest(NO_H5PY)

    def run_both(self, config, *arguments, ranks=1, kernels=()):
        """Runs on the CPU and on the emulated GPU. Expects that the GPU launches `kernels`. Returns
        both run directories."""
        keys = (*arguments, "devices.backend=mpi", "run.resume=never")
        self.run_to(0, ranks, *keys, f"run.output={self.folder / 'cpu'}", config=config)
        with mock.patch.object(self, "program", EMULATED):
            ended = self.run_to(0, ranks, *keys, f"run.output={self.folder / 'gpu'}",
                                config=config, env={"CUDAEMU_COUNT": "1"})
        launched = set(LAUNCHES.findall(ended.err))
        self.assertLessEqual(set(kernels), launched)
        return [max((self.folder / way / "tiny").glob("2*")) for way in ("cpu", "gpu")]

    def config(self, text):
        path = self.folder / "config.yaml"
        path.write_text(text)
        return path

    @staticmethod
    def curve(run):
        """Returns the losses of the steps, and the norm of the last gradient."""
        losses = json.loads((run / "summary.json").read_text())["series"]["train_loss"]
        events = map(json.loads, (run / "events.jsonl").read_text().splitlines())
        return losses + [event["grad"] for event in events if event["event"] == "train"][-1:]

    def compare_training(self, config, *arguments, kernels, tolerance=1e-4, absolute=0):
        runs = self.run_both(config, *arguments, kernels=STEP | kernels)
        cpu, gpu = map(self.curve, runs)
        self.assertGreater(len(cpu), 2)
        numpy.testing.assert_allclose(gpu[:-1], cpu[:-1], rtol=tolerance, atol=absolute)
        # In 16 bits, the CPU rounds the sums of products, and processors do so in different ways.
        numpy.testing.assert_allclose(gpu[-1], cpu[-1], rtol=2 * tolerance)


class Training(BothWays):

    def histories(self, *arguments, kernels=frozenset(), **options):
        kernels = kernels | {"dropout_kernel", "cross_entropy_kernel"}
        self.compare_training(program.TINY, *arguments, kernels=kernels, **options)

    def test_histories(self):
        self.histories(kernels=ATTENTION)

    def test_histories_by_transitions_with_attention_in_matrices(self):
        self.histories("model.tokens=transition", "model.attn_impl=eager")

    def test_histories_in_16_bits(self):
        for precision in ("bf16", "fp16"):
            with self.subTest(precision):
                self.histories(f"train.mixed_precision={precision}", tolerance=2e-2,
                               kernels=ATTENTION)

    def test_a_language_model(self):
        self.compare_training(self.config(LM_TRAIN), "data.synthetic_texts=100",
                              kernels=DECODER | {"online_logsumexp_kernel"})

    def test_a_language_model_in_bf16(self):
        self.compare_training(self.config(LM_TRAIN), "data.synthetic_texts=100",
                              "train.mixed_precision=bf16", tolerance=2e-2,
                              kernels=DECODER)

    def test_a_student_that_draws_its_own_texts(self):
        teacher = self.folder / "teacher"
        self.run_to(0, 1, "data.synthetic_texts=100", f"run.output={teacher}",
                    config=self.config(LM_TRAIN))
        rows = [{"prompt": f"{n} + {n % 7} =", "completion": f" {n + n % 7}"} for n in range(40)]
        data = tiny_lm.write_rows(self.folder / "rows.jsonl", rows)
        self.compare_training(
            self.config(LM_TRAIN), f"distill.model={teacher / 'tiny' / 'latest' / 'ckpt' / 'last'}",
            f"data.path={data}", "distill.on_policy=0.5", "distill.max_new_tokens=8",
            kernels=DECODER | {"online_draw_kernel"})


class Recipes(BothWays):
    """Trains the smallest model with each recipe of pairs, rewards and values."""
    WORDS = "the cat sat on a mat and saw the dog run".split()

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")

    def compare_recipe(self, recipe, rows, *arguments, kernels=frozenset(), absolute=0):
        data = tiny_lm.write_rows(self.folder / "rows.jsonl", rows)
        config = self.config(f"""
schema: 1
job: train
run: {{name: tiny}}
model: {{path: {self.model}}}
data: {{path: {data}}}
train: {{recipe: {recipe}, seq_len: 32, global_batch_size: 8, lanes: 4, max_steps: 4,
        learning_rate: 0.01, warmup_steps: 1}}
""")
        self.compare_training(config, *arguments, kernels=DECODER | kernels, tolerance=1e-3,
                              absolute=absolute)

    def texts(self):
        return [(" ".join(self.WORDS[i % 5:i % 5 + 2]), f" {self.WORDS[i % 11]}",
                 f" {self.WORDS[(i + 2) % 11]}") for i in range(16)]

    def test_pairs_and_judged_answers(self):
        pairs = [{"prompt": p, "chosen": c, "rejected": r} for p, c, r in self.texts()]
        self.compare_recipe("dpo", pairs)
        self.compare_recipe("reward", pairs)
        self.compare_recipe("value", pairs, "value.data=preferences", "value.loss=bradley_terry")
        judged = [{"prompt": p, "completion": c, "label": i % 2 == 0}
                  for i, (p, c, _) in enumerate(self.texts())]
        self.compare_recipe("kto", judged)

    def test_completions_with_rewards(self):
        self.compare_recipe("grpo", [{"prompt": p} for p, _, _ in self.texts()],
                            "reward.functions=[regex]", "reward.regex=e", "grpo.group_size=4",
                            "grpo.max_new_tokens=4", "grpo.beta=0.05", "grpo.num_iterations=2",
                            "train.learning_rate=0.001", kernels={"online_draw_kernel"},
                            absolute=5e-4)  # losses begin at 0

    def test_values_and_judges_of_steps(self):
        rows = [{"prompt": p, "completion": c, "label": i % 2}
                for i, (p, c, _) in enumerate(self.texts())]
        self.compare_recipe("value", rows, "value.head=histogram", "value.atoms=5")
        steps = [{"prompt": p, "completions": [c.strip(), r.strip()], "labels": [True, i % 2 == 0]}
                 for i, (p, c, r) in enumerate(self.texts())]
        self.compare_recipe("prm", steps, "prm.step_separator=.")


class Inference(BothWays):

    def setUp(self):
        super().setUp()
        self.data = tiny_lm.write_rows(self.folder / "ids.jsonl", [
            {"token_ids": [1] + [(13 * j + 7 * i) % 67 for j in range(2 + 3 * i)]}
            for i in range(7)])

    def rows(self, run):
        """Exports the rows of a run, and returns them."""
        self.run_to(0, 1, "--export", "jsonl", str(run), config=None)
        return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]

    def generate(self, family, *arguments, kernels=(), tolerance=1e-5, **options):
        """Expects the same tokens, and log-probabilities within the tolerance."""
        model = self.folder / family
        if not model.exists():
            tiny_lm.make_folder(model, family, tokenizer=False)
        runs = self.run_both(program.HERE / "generate.yaml", f"model.path={model}",
                             f"data.path={self.data}", "output.text=false", *arguments,
                             kernels={"online_logsumexp_kernel", "paged_attention_kernel", *kernels},
                             **options)
        for cpu, gpu in zip(*map(self.rows, runs), strict=True):
            self.assertEqual(gpu["output_ids"], cpu["output_ids"])
            for name in ("prompt_log_probs", "output_log_probs", "output_kl"):
                if name not in cpu:
                    continue
                numpy.testing.assert_allclose(numpy.array(gpu[name], float),
                                              numpy.array(cpu[name], float), atol=tolerance)

    def test_families_draw_the_same_tokens(self):
        for family, kernels in (("llama", DECODER), ("gpt2", {"gated_activation_kernel"}),
                                ("gpt_oss", DECODER), ("mistral", DECODER),
                                ("qwen2_window", DECODER), ("qwen3", DECODER)):
            with self.subTest(family):
                self.generate(family, "generate.top_k=0",
                              kernels={"online_draw_kernel", *kernels})

    def test_cuts_draw_the_same_tokens(self):
        penalty = {"repetition_penalty_kernel"}
        for kernels, *keys in (
                ((), "generate.top_k=8"), ((), "generate.top_p=0.9"),
                (penalty, "generate.repetition_penalty=1.2", "generate.top_k=8"),
                ((), "generate.do_sample=false", "generate.temperature=auto",
                 "generate.num_samples=1")):
            with self.subTest(keys):
                self.generate("llama", *keys, kernels=kernels)

    def make_guide(self, head):
        """Trains a value model for some steps on the CPU, and returns its folder."""
        start = self.folder / "llama"
        if not start.exists():
            tiny_lm.make_folder(start, "llama", tokenizer=False)
        rows = [{"token_ids": [1, 3 + i], "completion_ids": [(i * 17 + j * 29) % 67 for j in range(5)],
                 "label": i % 2} for i in range(16)]
        data = tiny_lm.write_rows(self.folder / "values.jsonl", rows)
        output = self.folder / head
        self.run_to(0, 1, f"model.path={start}", f"data.path={data}", f"value.head={head}",
                    *(["value.atoms=5"] if head == "histogram" else []), f"run.output={output}",
                    config=self.config(VALUE_TRAIN))
        return output / "tiny" / "latest" / "ckpt" / "last"

    def test_guided_draws_are_the_same_with_the_same_kl(self):
        # The offsets have fifty times the rounding errors of the value model's outputs.
        guides = {head: self.make_guide(head) for head in ("bernoulli", "histogram")}
        other = tiny_lm.make_folder(self.folder / "other", "qwen3", tokenizer=False)
        for head, *keys in (
                ("bernoulli", "generate.top_p=0.9", "generate.guide.algorithm=pita",
                 f"generate.reference={other}"),
                ("histogram", "generate.top_k=0"),
                ("histogram", "generate.top_k=8", "generate.guide.algorithm=cd"),
                ("bernoulli", "generate.do_sample=false", "generate.temperature=auto",
                 "generate.num_samples=1")):
            with self.subTest(keys):
                self.generate("mistral", f"generate.guide.path={guides[head]}",
                              "generate.guide.eta=0.02", "generate.guide.top_k=8", *keys,
                              tolerance=5e-5)

    def make_judge(self):
        """Trains a judge of steps for some steps on the CPU, and returns its folder."""
        start = tiny_lm.make_folder(self.folder / "start")
        rows = tiny_lm.write_rows(self.folder / "steps.jsonl", prm_case.stepwise_rows(16))
        output = self.folder / "judge"
        self.run_to(0, 1, f"model.path={start}", f"data.path={rows}", "prm.step_separator=.",
                    "train.seq_len=48", f"run.output={output}",
                    config=self.config(VALUE_TRAIN.replace("value", "prm")))
        return output / "tiny" / "latest" / "ckpt" / "last"

    def test_beams_end_with_the_same_tokens(self):
        self.generate("llama", "generate.search=beam", f"generate.reward.path={self.make_judge()}",
                      "generate.reward.step_tokens=3", "generate.reward.beam_width=2",
                      "generate.num_samples=4")

    def test_groups_of_two_ranks_draw_the_same_tokens(self):
        for parallel in ("pipeline", "tensor"):
            with self.subTest(parallel):
                self.generate("llama", f"model.parallel={parallel}", "devices.gpus_per_model=2",
                              ranks=2)

    def test_the_automatic_batch_is_part_of_the_identity(self):
        model = tiny_lm.make_folder(self.folder / "llama", "llama", tokenizer=False)
        keys = (f"model.path={model}", f"data.path={self.data}", "output.text=false",
                "generate.batch_size=auto", "devices.backend=staged",
                f"run.output={self.folder / 'out'}")
        with mock.patch.object(self, "program", EMULATED):
            self.run_to(137, 1, *keys, config=program.HERE / "generate.yaml",
                        env=program.failpoint("ledger.write:2:kill"))
            run, = (self.folder / "out" / "tiny").glob("2*")
            batch = json.loads((run / "run.json").read_text())["keys"]["generate.batch_size"]
            self.assertGreater(int(batch), 0)
            self.run_to(0, 1, *keys, config=program.HERE / "generate.yaml")
        self.assertEqual(list((self.folder / "out" / "tiny").glob("2*")), [run])
        identity = json.loads((run / "run.json").read_text())["identity"]
        self.assertIn(f", generate.batch_size={batch}, sizes of passes=", identity)
        self.assertIn(identity.split(",")[0] + f", generate.batch_size={batch}",
                      (run / "report.html").read_text())

    def test_bfloat16_stays_close(self):
        self.generate("llama", "model.dtype=bfloat16", "generate.max_new_tokens=0",
                      "generate.num_samples=1", tolerance=0.01)

    def test_labels_have_the_same_scores(self):
        texts = [{"text": f"the cat saw {word}", "label": ("hate", "normal")[i % 2]}
                 for i, word in enumerate("a mat the dog run".split())]
        data = tiny_lm.write_rows(self.folder / "texts.jsonl", texts)
        model = tiny_lm.make_folder(self.folder / "labels")
        for score in ("label_logprob", "generate"):
            with self.subTest(score):
                runs = self.run_both(program.HERE / "classify.yaml", f"model.path={model}",
                                     f"data.path={data}", "classify.prompt=null",
                                     f"classify.score={score}", kernels=DECODER)
                for cpu, gpu in zip(*map(self.rows, runs), strict=True):
                    self.assertEqual(list(gpu), list(cpu))
                    for name, value in cpu.items():
                        if isinstance(value, float | list):
                            numpy.testing.assert_allclose(gpu[name], value, rtol=1e-5)
                        else:
                            self.assertEqual(gpu[name], value, name)

    def collect(self, config, *arguments):
        """Expects the same solutions, trees and votes."""
        model = self.folder / "solver"
        if not model.exists():
            tiny_lm.make_folder(model)
        rows = [{"prompt": text, "answer": i} for i, text in enumerate(("the cat", "a mat", "dog"))]
        data = tiny_lm.write_rows(self.folder / "questions.jsonl", rows)
        runs = self.run_both(program.HERE / config, f"model.path={model}", f"data.path={data}",
                             *arguments, kernels=DECODER | {"online_draw_kernel"})
        for cpu, gpu in zip(*map(self.rows, runs), strict=True):
            for name in ("output_ids", "node_parent", "node_value", "n_paths"):
                self.assertEqual(gpu[name], cpu[name], name)
            if "latents" in cpu:
                numpy.testing.assert_allclose(numpy.array(gpu["latents"], float),
                                              numpy.array(cpu["latents"], float), atol=2e-2)

    def test_steps_have_the_same_values(self):
        self.collect("collect.yaml")

    def test_agents_have_the_same_states(self):
        agents = self.folder / "agents.json"
        agents.write_text(json.dumps({"agents": [
            {"name": "planner", "prompt": "{question}"}, {"name": "critic", "prompt": " no"},
            {"name": "judger", "prompt": " {context}{question} "}]}))
        path = f"collect.agents.path={agents}"
        self.collect("latent.yaml", path)
        self.collect("latent.yaml", path, "collect.agents.method=text_mas", "collect.latent.steps=5",
                     "collect.num_parent_paths=auto", "collect.max_new_tokens=4")

    def teacher(self, *arguments, kernels):
        model = tiny_lm.make_folder(self.folder / "model", tokenizer=False)
        runs = self.run_both(program.HERE / "teacher.yaml", f"model.path={model}",
                             f"data.path={self.data}", "output.text=false", *arguments,
                             kernels=kernels | DECODER)
        return [h5py.File(run / "results.h5")["arrays/samples"] for run in runs]

    def test_a_teacher_keeps_the_same_tokens(self):
        cpu, gpu = self.teacher(kernels={"online_logsumexp_kernel"})
        numpy.testing.assert_array_equal(gpu["topk_ids/values"], cpu["topk_ids/values"])
        for name in ("topk_logprobs", "log_sum_exp", "tail_mass"):
            values = [arrays[f"{name}/values"][:].astype(float) for arrays in (gpu, cpu)]
            # The results are rounded to float16, each by at most 2^-11 of the value.
            numpy.testing.assert_allclose(*values, rtol=2.0**-10, atol=1e-5, err_msg=name)

    def test_a_teacher_draws_the_same_tokens(self):
        cpu, gpu = self.teacher("teacher.targets=random_sampling", "teacher.top_k=64",
                                kernels={"draw_with_replacement_kernel"})
        for name in ("num_drawn", "drawn_ids", "drawn_counts"):
            numpy.testing.assert_array_equal(gpu[f"{name}/values"], cpu[f"{name}/values"])


if __name__ == "__main__":
    program.main()
