"""Finished runs and parts of format 1, which mgpu_spmd 0.1 wrote: format_1/README.md."""
import csv
import json
import pathlib
import shutil

import program
import tiny_lm

STORED = program.HERE / "format_1"
JOBS = {"generate": ("prompts.jsonl", "generate.max_new_tokens=4", "generate.num_samples=2",
                     "generate.do_sample=true", "generate.prompt_log_probs=true"),
        "teacher": ("texts.jsonl", "data.max_length=8", "teacher.top_k=4"),
        "classify": ("texts.jsonl", "classify.labels=[good, bad]")}


class OldFormat(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs"
        shutil.copytree(STORED, self.runs)
        tiny_lm.make_folder(self.runs / "model")
        for path in [*self.runs.glob("*/run.json"), *self.runs.glob("*/repro/*.yaml")]:
            path.write_text(path.read_text().replace("@FOLDER@", str(self.runs)))

    def exported(self, folder):
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    def made_now(self, job):
        """Runs the current program and returns the rows of its result."""
        data, *keys = JOBS[job]
        config = self.folder / f"{job}.yaml"
        config.write_text(f"schema: 1\njob: {job}\nrun: {{name: tiny}}\n")
        self.run_to(0, 2, f"model.path={self.runs}/model", f"data.path={self.runs}/{data}",
                    "data.on_bad_row=mark", "output.max_failed=1", "run.chunk_size=2",
                    "output.keep_columns=[]", *keys, config=config)
        return self.exported(self.run_folder())

    def expect_rows(self, found, expected):
        """Compares rows, with tolerance for the rounding of other processors."""
        self.assertEqual(len(found), len(expected))
        for row, other in zip(found, expected):
            self.assertEqual(set(row), set(other))
            for name, value in row.items():
                self.expect_value(value, other[name], name)

    def expect_value(self, value, expected, name):
        if isinstance(expected, list):
            self.assertEqual(len(value), len(expected), name)
            for item, other in zip(value, expected):
                self.expect_value(item, other, name)
        elif isinstance(expected, float):
            self.assertAlmostEqual(value, expected, delta=2e-3 * max(1.0, abs(expected)), msg=name)
        else:
            self.assertEqual(value, expected, name)

    def expect_merged(self, job):
        expected = self.made_now(job)
        shutil.rmtree(self.output)
        parts = [str(self.runs / f"{job}_{part}") for part in (0, 1)]
        self.run_to(0, 2, "--merge", *parts, f"run.output={self.output}", "run.name=tiny",
                    config=None)
        self.expect_rows(self.exported(self.run_folder()), expected)

    def test_parts_of_generate_are_merged(self):
        self.expect_merged("generate")

    def test_parts_of_teacher_are_merged(self):
        self.expect_merged("teacher")

    def test_parts_of_classify_are_merged(self):
        self.expect_merged("classify")

    def test_parts_of_two_formats_are_not_merged(self):
        record = self.runs / "generate_1" / "run.json"
        record.write_text(record.read_text().replace('"format": 1', '"format": 2'))
        parts = [str(self.runs / f"generate_{part}") for part in (0, 1)]
        ended = self.run_to(65, 2, "--merge", *parts, f"run.output={self.output}", config=None)
        self.assertIn("error[E610]: these runs were written by versions with different formats",
                      ended.err)
        self.assertIn(f"{parts[0]}: format 1", ended.err)
        self.assertFalse(self.output.exists())

    def test_rows_of_finished_runs_are_exported(self):
        rows = self.exported(self.runs / "generate_0")
        self.assertEqual([row["reason"] for row in rows],
                         ["length"] * 2 + ["failed: `prompt` is not a text"] * 2)
        self.assertEqual([row["prompt"] for row in rows], ["the cat"] * 2 + [""] * 2)
        self.assertEqual([len(row["output_ids"]) for row in rows], [4, 4, 0, 0])

    def test_labels_of_finished_runs_are_exported_as_csv(self):
        folder = self.runs / "classify_0"
        self.run_to(0, 1, "--export", "csv", str(folder), config=None)
        with (folder / "results.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["status"] for row in rows], ["success", "error"])
        self.assertEqual(rows[0]["input_text"], "the cat sat on")

    def test_targets_of_finished_runs_are_exported_and_learned_from(self):
        folder = self.runs / "teacher_whole"
        self.run_to(0, 1, "--export", "padded-h5", str(folder), config=None)
        self.assertTrue((folder / "teacher_logits.h5").exists())
        config = self.folder / "distill.yaml"
        config.write_text("schema: 1\njob: train\nrun: {name: tiny}\n")
        ended = self.run_to(0, 2, f"model.path={self.runs}/model", f"distill.targets={folder}",
                            "train.seq_len=8", "train.global_batch_size=2", "train.max_steps=2",
                            config=config)
        self.assertIn("loss", ended.out)

    def test_episodes_of_a_finished_training_are_exported(self):
        rows = self.exported(self.runs / "train_whole")
        self.assertEqual(len(rows), 3 * 8 * 2)  # controls, unseen goals, episodes
        self.assertEqual([row["control"] for row in rows], [0] * 16 + [1] * 16 + [2] * 16)
        self.assertEqual([row["episode"] for row in rows], [1, 2] * 24)
        for row in rows:
            goal = 9 * row["goal_x"] + row["goal_y"]
            self.assertEqual(len(row["path"]), 20)
            self.assertEqual(row["path"].count(goal), row["return"])

    def test_histories_of_a_finished_training_are_learned_from(self):
        histories = self.runs / "train_whole" / "histories.h5"
        self.run_to(0, 1, f"data.path={histories}", "train.max_steps=2", "evaluate.runs=1")
        self.assertFalse((self.run_folder() / "histories.h5").exists())
        self.assertEqual(len(self.exported(self.run_folder())), 48)

    def test_an_unfinished_run_is_refused_with_the_version_that_finishes_it(self):
        folder = self.runs / "generate_0"
        record = folder / "run.json"
        record.write_text(record.read_text().replace('"finished": true', '"finished": false'))
        config = folder / "repro" / "config.resolved.yaml"
        for arguments in ((f"--resume={folder}",), ("--merge", str(folder))):
            config_of = None if "--merge" in arguments else config
            ended = self.run_to(73, 1, *arguments, config=config_of)
            self.assertIn("error[E608]", ended.err)
            self.assertIn("finish it with mgpu_spmd 0.1", ended.err)
        self.output.joinpath("generate_0").mkdir(parents=True)
        shutil.copytree(folder, self.output / "generate_0" / "2026-01-01_00-00-00")
        ended = self.run_to(73, 1, "run.name=generate_0", f"run.output={self.output}",
                            config=config)
        self.assertIn("finish it with mgpu_spmd 0.1", ended.err)
        self.run_to(0, 1, "run.name=generate_0", f"run.output={self.output}", "run.resume=never",
                    config=config)


if __name__ == "__main__":
    program.main()
