"""Tests job train with a teacher: targets of job teacher, or a second model. The result is the same
at any number of ranks and after a stop. Unusable targets are refused by name."""
import json
import signal

import program
import report_page
import tiny_lm

TRAIN = f"""
schema: 1
job: train
run: {{name: tiny, deterministic: layout}}
model: {{init: {program.SMALL_LM}}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 12, learning_rate: 3e-3,
        warmup_steps: 4}}
checkpoint: {{every: 6}}
"""
TEACHER = """
schema: 1
job: teacher
run: {name: targets}
"""
FILES = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors")


def made_rows():
    """Returns 120 sums with their prompts, and 40 texts."""
    sums = [{"prompt": f"{n} + {n % 7} =", "completion": f" {n + n % 7}"} for n in range(120)]
    return sums + [{"text": f"Mia saw {n} cats in the garden, and {n + 1} dogs." * 3}
                   for n in range(40)]


class Distillation(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.config = self.folder / "student.yaml"
        self.config.write_text(TRAIN)
        self.train(1, "run.name=teacher", "data.synthetic_texts=300",
                   f"run.output={self.folder / 'made'}")
        self.model = self.folder / "made" / "teacher" / "latest" / "ckpt" / "last"
        rows = made_rows()
        self.rows = self.folder / "rows.jsonl"
        self.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.prompts = self.folder / "prompts.jsonl"
        self.prompts.write_text("".join(json.dumps(row) + "\n" for row in rows[:120]))

    def train(self, ranks, *arguments, code=0):
        return self.run_to(code, ranks, *arguments, config=self.config)

    def targets(self, name, *arguments):
        """Runs job teacher. Returns the key distill.targets with its run directory."""
        config = self.folder / "teacher.yaml"
        config.write_text(TEACHER)
        self.run_to(0, 1, f"run.name={name}", f"model.path={self.model}", f"data.path={self.rows}",
                    f"run.output={self.folder / 'made'}", *arguments, config=config)
        return f"distill.targets={self.folder / 'made' / name / 'latest'}"

    def hashes(self):
        return {name: (self.run_folder() / name).read_bytes() for name in FILES}

    def losses(self):
        events = (self.run_folder() / "events.jsonl").read_text().splitlines()
        return [event["loss"] for event in map(json.loads, events) if event["event"] == "train"]

    def losses_of_steps(self):
        """Returns the loss of every step; the log has those of some steps, chosen by time."""
        try:
            import h5py
        except ImportError as error:
            self.skipTest(f"no h5py here: {error}")
        with h5py.File(self.run_folder() / "results.h5") as file:
            return file["metrics/train/loss"][:].tolist()

    def expect_a_page_of_tokens(self):
        page = report_page.read(self, self.run_folder())
        self.assertIn("nats per token", page.text)
        self.assertNotIn("action", page.text)
        for heading in ("Cross-entropy", "Distance from the teacher"):
            self.assertIn(heading, page.headings)

    def expect_same_bytes(self, *arguments):
        self.train(1, *arguments)
        golden = self.hashes()
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.train(ranks, *arguments, "run.resume=never")
                self.assertEqual(self.hashes(), golden)
        return golden

    def test_stored_targets_give_the_same_bytes_at_1_2_and_4_ranks_and_after_a_stop(self):
        arguments = (self.targets("topk", "teacher.top_k=8"), "train.max_steps=60")
        golden = self.expect_same_bytes(*arguments)
        self.expect_a_page_of_tokens()
        losses = self.losses()
        self.assertLess(losses[-1], losses[0] - 0.5)
        mark = self.folder / "mark"
        slow = program.failpoint("train.pass@0:20:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
        job = self.start(2, *arguments, "run.resume=never", config=self.config, env=slow)
        self.assertTrue(job.wait_until(mark.exists))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        self.train(1, *arguments)
        self.assertEqual(self.hashes(), golden)

    def test_a_teacher_beside_the_student_gives_the_same_bytes_at_1_2_and_4_ranks(self):
        self.expect_same_bytes(f"distill.model={self.model}", "data.synthetic_texts=200",
                               "distill.loss=jsd", "distill.temperature=2")

    def test_draws_are_learned_from_packed_or_not(self):
        draws = ("teacher.targets=random_sampling", "teacher.num_draws=20")
        self.train(1, self.targets("draws", *draws))
        plain = self.hashes()["ckpt/last/model.safetensors"]
        self.train(1, self.targets("packed", *draws, "teacher.store=packed"), "run.resume=never")
        self.assertEqual(self.hashes()["ckpt/last/model.safetensors"], plain)

    def test_packed_lists_differ_in_what_float16_makes_of_their_tails_only(self):
        self.train(1, self.targets("plain", "teacher.top_k=8"))
        plain = self.losses_of_steps()
        self.train(1, self.targets("packed", "teacher.top_k=8", "teacher.store=packed"),
                   "run.resume=never")
        packed = self.losses_of_steps()
        self.assertEqual(len(packed), len(plain))
        for a, b in zip(plain, packed):
            self.assertAlmostEqual(a, b, delta=2e-3)

    def test_a_student_that_is_the_teacher_has_nothing_to_learn(self):
        self.config.write_text(TRAIN.replace(f"init: {program.SMALL_LM}", f"path: {self.model}"))
        same = ("distill.ce_weight=0", "train.max_steps=1")
        for loss in ("forward_kl", "reverse_kl", "jsd"):
            self.train(1, *same, f"distill.model={self.model}", "data.synthetic_texts=100",
                       f"distill.loss={loss}", "run.resume=never")
            self.assertAlmostEqual(self.losses()[0], 0.0, delta=1e-5)
            self.train(1, *same, self.targets("all", "teacher.top_k=40"), f"distill.loss={loss}",
                       "run.resume=never")
            self.assertAlmostEqual(self.losses()[0], 0.0, delta=1e-4)

    def own(self, share, *arguments):
        """Returns keys of a student that itself completes this share of the prompts."""
        return (f"distill.model={self.model}", f"data.path={self.prompts}",
                f"distill.on_policy={share}", "distill.max_new_tokens=12", *arguments)

    def test_texts_of_its_own_give_the_same_bytes_at_1_2_and_4_ranks_and_after_a_stop(self):
        arguments = self.own(0.5, "train.max_steps=30", "distill.sampling_temperature=0.9",
                             "distill.top_p=0.95")
        golden = self.expect_same_bytes(*arguments)
        self.train(1, *arguments, "distill.batch_size=1", "run.resume=never",
                   "train.gradient_checkpointing=true")
        self.assertEqual(self.hashes(), golden)
        mark = self.folder / "mark"
        slow = program.failpoint("train.pass@0:20:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
        job = self.start(2, *arguments, "run.resume=never", config=self.config, env=slow)
        self.assertTrue(job.wait_until(mark.exists))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        self.train(1, *arguments)
        self.assertEqual(self.hashes(), golden)
        self.train(1, *arguments, "run.seed=5", "run.resume=never")
        self.assertNotEqual(self.hashes(), golden)

    def test_sixteen_bits_and_passes_of_a_batch_learn_from_texts_of_their_own(self):
        arguments = self.own(1, "train.max_steps=20", "distill.ce_weight=0")
        for more in (("train.mixed_precision=bf16",), ("train.mixed_precision=fp16",),
                     ("run.deterministic=false", "train.lanes=1",
                      "train.gradient_accumulation_steps=4")):
            with self.subTest(more=more):
                self.train(2, *arguments, *more, "run.resume=never")
                losses = self.losses()
                self.assertLess(losses[-1], 0.5 * losses[0])

    def test_no_share_of_its_own_is_as_without_the_key(self):
        plain = (f"distill.model={self.model}", f"data.path={self.prompts}")
        self.train(1, *plain)
        golden = self.hashes()
        self.train(2, *plain, "distill.on_policy=0", "run.resume=never")
        self.assertEqual(self.hashes(), golden)

    def test_the_loss_is_that_of_transformers_on_what_job_generate_says(self):
        try:
            import h5py
            import torch
            from transformers import AutoModelForCausalLM
        except ImportError as error:
            self.skipTest(f"no transformers here: {error}")
        self.train(1, "run.name=student", "data.synthetic_texts=300", "run.seed=7",
                   f"run.output={self.folder / 'made'}")
        student = self.folder / "made" / "student" / "latest" / "ckpt" / "last"
        generate = self.folder / "generate.yaml"
        generate.write_text("schema: 1\njob: generate\nrun: {name: said}\n")
        draws = ("run.seed=3", f"data.path={self.prompts}")
        self.run_to(0, 1, f"model.path={student}", *draws, "generate.do_sample=true",
                    "generate.temperature=0.8", "generate.top_k=0", "generate.top_p=0.9",
                    "generate.max_new_tokens=12",
                    f"run.output={self.folder / 'made'}", config=generate)
        with h5py.File(self.folder / "made" / "said" / "latest" / "results.h5") as file:
            prompts, said = ([file[f"arrays/samples/{name}/values"][a:b].tolist() for a, b in
                              zip(file[f"arrays/samples/{name}/row_offsets"][:],
                                  file[f"arrays/samples/{name}/row_offsets"][1:])]
                             for name in ("prompt_ids", "output_ids"))
        # 20 tokens: each prompt with its completion is a separate sequence.
        self.config.write_text(TRAIN.replace(f"init: {program.SMALL_LM}", f"path: {student}")
                               .replace("seq_len: 64, global_batch_size: 8",
                                        "seq_len: 20, global_batch_size: 120"))
        self.train(1, *self.own(1, "run.seed=3", "train.max_steps=1", "distill.sampling_temperature=0.8",
                                "distill.top_p=0.9", "distill.ce_weight=0"))
        models = [AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
                  for folder in (self.model, student)]
        total = tokens = 0
        with torch.no_grad():
            for prompt, completion in zip(prompts, said):
                ids = torch.tensor([(prompt + completion)[:20]])
                log_p, log_q = (model(ids).logits[0, len(prompt) - 1:-1].log_softmax(-1)
                                for model in models)
                total += float((log_p.exp() * (log_p - log_q)).sum())
                tokens += log_p.shape[0]
        self.assertLess(tokens, 120 * 12)  # some end before
        self.assertAlmostEqual(self.losses()[0], total / tokens, delta=1e-5 * total / tokens)

    def test_rows_without_a_prompt_have_nothing_to_complete(self):
        keys = (f"distill.model={self.model}", "distill.on_policy=0.5")
        err = self.train(2, *keys, f"data.path={self.rows}", code=65).err
        self.assertIn("it has `text`, and distill.on_policy completes prompts", err)
        self.assertIn("121", err)
        self.train(1, *self.own(0.5, f"data.eval_path={self.rows}", "train.max_steps=2"))

    def test_what_cannot_be_learned_from_is_refused_by_name(self):
        topk = self.targets("topk", "teacher.top_k=4")
        draws = self.targets("draws", "teacher.targets=random_sampling")
        here = f"distill.model={self.model}"
        for words, arguments in (
                ("has no meaning without a teacher", ("data.synthetic_texts=9", "distill.loss=jsd")),
                ("both name a teacher", (topk, f"distill.model={self.model}")),
                ("which has the tokens", (topk, "data.synthetic_texts=9")),
                ("distill.loss=jsd only", (topk, "distill.beta=0.1")),
                ("reverse_kl is infinite",
                 (topk, "distill.loss=reverse_kl", "distill.tail=renormalize")),
                ("another temperature", (topk, "distill.temperature=2")),
                ("unbiased for distill.loss=forward_kl only", (draws, "distill.loss=jsd")),
                ("another temperature", (draws, "distill.temperature=2")),
                ("stored targets say nothing of", (topk, "distill.on_policy=0.5")),
                ("= help: distill.model=FOLDER of a language model",
                 ("data.synthetic_texts=9", "distill.on_policy=0.5")),
                ("has rows without one", (here, "data.synthetic_texts=9", "distill.on_policy=0.5")),
                ("distill.on_policy above 0 only",
                 (here, "data.synthetic_texts=9", "distill.top_p=0.5")),
                ("nothing is learned with distill.ce_weight=1",
                 (here, f"data.path={self.prompts}", "distill.on_policy=1",
                  "distill.ce_weight=1")),
                ("here it is `distill.on_policy`",
                 (here, "data.synthetic_texts=9", "distill.lmbda=0.5")),
                ("here a student draws with `distill.sampling_temperature`",
                 (here, "data.synthetic_texts=9", "temperature=0.9"))):
            with self.subTest(words=words):
                self.assertIn(words, self.train(1, *arguments, code=78).err)
        gpt2 = tiny_lm.make_folder(self.folder / "gpt2", "gpt2")
        llama = tiny_lm.make_folder(self.folder / "llama", "llama")
        short = self.train(1, "model.init=null", f"model.path={llama}", f"distill.model={gpt2}",
                           "data.synthetic_texts=9", "train.seq_len=64", code=78)
        self.assertIn("`train.seq_len` is more than the teacher's 48 positions", short.err)
        no_file = self.train(1, f"distill.targets={self.rows.parent / 'no.h5'}", code=66)
        self.assertIn("there is no such file", no_file.err)
        self.assertIn("cannot be read",
                      self.train(1, f"distill.targets={self.rows}", code=65).err)
        too_long = self.train(1, topk, "train.seq_len=4", code=65)
        self.assertIn("more than train.seq_len (4), and a prompt", too_long.err)


if __name__ == "__main__":
    program.main()
