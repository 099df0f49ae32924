"""Tests job train with a language model. The result is the same at any number of ranks and after a
stop. Checkpoints are model folders from which training can continue."""
import json
import re
import signal

import program
import report_page

CONFIG = f"""
schema: 1
job: train
run: {{name: tiny, deterministic: layout}}
model: {{init: {program.SMALL_LM}}}
data: {{synthetic_texts: 300}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 24, learning_rate: 3e-3,
        warmup_steps: 4, eval_every: 8}}
checkpoint: {{every: 8}}
"""
FILES = ("results.h5", "ckpt/last/model.safetensors", "ckpt/last/trainer.safetensors",
         "ckpt/last/config.json")


class LanguageTraining(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.config = self.folder / "lm.yaml"
        self.config.write_text(CONFIG)

    def hashes(self, folder=None):
        folder = folder or self.run_folder()
        return {name: (folder / name).read_bytes() for name in FILES}

    def train(self, ranks, *arguments, code=0):
        return self.run_to(code, ranks, *arguments, config=self.config)

    def losses(self, folder=None):
        events = ((folder or self.run_folder()) / "events.jsonl").read_text().splitlines()
        return [event["loss"] for event in map(json.loads, events) if event["event"] == "train"]

    def golden(self, *arguments):
        elsewhere = self.folder / "golden"
        self.train(1, *arguments, f"run.output={elsewhere}")
        return self.hashes(elsewhere / "tiny" / "latest")

    def written_texts(self, folder):
        """Returns the rows of the report's table of texts after held-out prompts."""
        page = report_page.read(self, folder)
        self.assertIn("Texts of the model after prompts of data.eval_path", page.captions)
        table = (folder / "report.html").read_text().split("Texts of the model")[1]
        rows = table.split("</table>")[0].split("<tr>")[2:]
        return [re.sub(r"<[^>]*>", "|", row) for row in rows]

    def held_out(self):
        path = self.folder / "held_out.jsonl"
        path.write_text("".join(json.dumps({"prompt": f"{n} + 1 =", "completion": f" {n + 1}"})
                                + "\n" for n in range(20)))
        return f"data.eval_path={path}"

    def test_layout_gives_the_same_bytes_at_1_2_and_4_ranks(self):
        held_out = self.held_out()
        golden = self.golden(held_out)
        written = self.written_texts(self.folder / "golden" / "tiny" / "latest")
        self.assertEqual(len(written), 6)  # prompt and completion of each are on the page
        self.assertIn("0 + 1 =", written[0])
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                self.train(ranks, held_out, "run.resume=never")
                self.assertEqual(self.hashes(), golden)
                self.assertEqual(self.written_texts(self.run_folder()), written)

    def test_held_out_texts_are_measured_after_the_last_step_too(self):
        self.train(1, self.held_out(), "train.max_steps=12")
        events = (self.run_folder() / "events.jsonl").read_text().splitlines()
        evaluated = [e["step"] for e in map(json.loads, events) if e["event"] == "eval"]
        self.assertEqual(evaluated, [8, 12])

    def test_checkpointed_layers_change_no_byte(self):
        golden = self.golden()
        self.train(1, "train.gradient_checkpointing=true")
        self.assertEqual(self.hashes()["ckpt/last/model.safetensors"],
                         golden["ckpt/last/model.safetensors"])

    def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(self):
        steps = ("train.max_steps=60", "checkpoint.every=0")
        golden = self.golden(*steps)
        for ranks in (1, 2):
            mark = self.folder / f"mark_{ranks}"
            slow = program.failpoint("train.pass@0:20:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
            job = self.start(ranks, *steps, config=self.config, env=slow)
            self.assertTrue(job.wait_until(mark.exists))
            program.send(job.process.pid, signal.SIGUSR1)
            ended = job.wait()
            self.assertEqual(ended.code, 75, ended.out + ended.err)
        self.train(1, *steps)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.hashes(), golden)

    def test_a_checkpoint_is_a_model_to_go_on_from(self):
        self.train(1)
        first = self.run_folder()
        ended = self.run_to(64, 1, "--export", "jsonl", str(first), config=None)
        self.assertIn("E143]: a run of job train has no rows to export", ended.err)
        losses = self.losses()
        self.assertLess(losses[-1], losses[0] - 1.0)
        checkpoint = first / "ckpt" / "last"
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            self.assertEqual((checkpoint / name).read_bytes(),
                             (program.SMALL_LM / name).read_bytes())
        self.config.write_text(
            CONFIG.replace(f"init: {program.SMALL_LM}", f"path: {checkpoint.resolve()}"))
        self.train(1, f"run.output={self.folder / 'more'}")
        after = self.losses(self.folder / "more" / "tiny" / "latest")
        self.assertLess(after[0], losses[0] - 1.0)

    def test_other_data_are_refused(self):
        path = self.folder / "data.jsonl"
        path.write_text("".join('{"text": "Mia was a small cat."}\n' for _ in range(40)))
        arguments = (f"data.path={path}", "data.synthetic_texts=0", "train.max_steps=2000")
        job = self.start(1, *arguments, config=self.config)
        self.assertTrue(job.wait_until(self.reached('"event":"save"')))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        path.write_text(path.read_text() + '{"text": "Tom was a brave dog."}\n')
        ended = self.train(1, *arguments, code=73)
        self.assertIn("`data.path` holds other examples", ended.err)

    def test_lines_that_cannot_be_used_are_named(self):
        path = self.folder / "data.jsonl"
        path.write_text('{"text": "Mia was a small cat."}\n{"prompt": "3 + 4 ="}\n')
        ended = self.train(2, f"data.path={path}", "data.synthetic_texts=0", code=65)
        self.assertIn("data.jsonl:2: `completion` is not a text", ended.err)

    def test_a_table_gives_the_bytes_of_its_lines(self):
        pairs = [(f"{n} + 1 =", f" {n + 1}") for n in range(20)]
        lines = self.folder / "data.jsonl"
        lines.write_text("".join(json.dumps({"prompt": prompt, "completion": completion}) + "\n"
                                 for prompt, completion in pairs))
        keys = ("data.synthetic_texts=0", "train.max_steps=6")
        golden = self.golden(f"data.path={lines}", *keys)
        table = self.folder / "data.tsv"
        table.write_text("ask\tsay\n" + "".join("\t".join(pair) + "\n" for pair in pairs))
        self.train(2, f"data.path={table}", "data.columns.prompt=ask",
                   "data.columns.completion=say", *keys)
        weights = "ckpt/last/model.safetensors"
        self.assertTrue(self.hashes()[weights] == golden[weights])

    def test_marked_rows_are_left_out_and_counted(self):
        path = self.folder / "data.jsonl"
        path.write_text('{"text": "Mia was a small cat."}\n{"prompt": "3 + 4 ="}\nno JSON\n' +
                        '{"text": "Tom was a brave dog."}\n' * 20)
        keys = (f"data.path={path}", "data.synthetic_texts=0", "train.max_steps=2",
                "data.on_bad_row=mark")
        ended = self.train(2, *keys)
        self.assertIn("2 rows cannot be used and are left out, the first: ", ended.out)
        self.assertIn("data.jsonl:2: `completion` is not a text", ended.out)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["results"]["bad_rows"]["value"], 2)
        ended = self.train(1, "--check", *keys)
        self.assertIn("21 examples in ", ended.out)
        self.assertIn("2 rows cannot be used", ended.out)

    def test_a_chosen_chat_template_goes_with_the_checkpoint(self):
        path = self.folder / "data.jsonl"
        path.write_text("".join(json.dumps({"messages": [
            {"role": "user", "content": f"{n} + 1 ="},
            {"role": "assistant", "content": f"{n + 1}"}]}) + "\n" for n in range(20)))
        template = self.folder / "chat.jinja"
        template.write_text("{% for m in messages %}{{ m.content }} {% endfor %}")
        keys = (f"data.path={path}", "data.synthetic_texts=0", "train.max_steps=4")
        ended = self.train(1, *keys, code=65)
        self.assertIn("no chat template", ended.err)
        self.train(2, *keys, f"data.chat_template={template}")
        written = self.run_folder() / "ckpt" / "last" / "chat_template.jinja"
        self.assertEqual(written.read_text(), template.read_text())

    def test_keys_of_rows_need_a_file(self):
        ended = self.train(1, "data.start=3", "data.columns.text=body", code=78)
        self.assertIn("`data.columns.text` has no meaning without `data.path`", ended.err)

    def test_keys_of_algorithm_distillation_are_refused(self):
        ended = self.train(1, "model.tf_n_layer=2", code=78)
        self.assertIn("`model.tf_n_layer` has no meaning for a language model", ended.err)


if __name__ == "__main__":
    program.main()
