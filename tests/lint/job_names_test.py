#!/usr/bin/env python3
"""Tests that the modules which serve all jobs name no job, and tests the rules that find names."""
import unittest

import job_names

# Names that may stay: file, excerpt and reason.
ALLOWED = {
    ("src/store/run_dir/store_config.cpp", "experiment.name"):
        "an alias of run.name, from configurations of another program",
    ("src/report/html_page.cpp", "value"): "the name of a number in JSON",
    ("src/report/summary.cpp", "value"): "the name of a number in JSON",
    ("src/app/check_probes.cpp", "value"): "an attribute of the files that are written as a probe",
    ("src/app/page_facts.cpp", "value"): "the name of a value in JSON",
    ("src/app/cli.cpp", "train.max_steps"): "an example to type, for --set",
    ("src/app/cli.cpp", "conf/train"): "an example to type, where no configuration is given",
    ("src/rows/model_folder.cpp", "train"):
        "the folder of configurations that make a model, for a command to type",
    ("src/app/option_rows.cpp", "train.max_steps"): "an example of --help",
    ("src/app/option_rows.cpp", "train.mixed_precision"): "an example of --help",
    ("src/app/option_rows.cpp", "conf/train"): "an example of --help",
    ("src/app/option_rows.cpp", "conf/generate"): "an example of --help",
}
NAMES = ["train", "generate", "teacher", "classify", "ad", "sft", "distill", "grpo", "collect",
         "experiment"]
MOST_README_LINES = 12


def found_in(text):
    return list(job_names.found_in(text, NAMES))


class Rules(unittest.TestCase):

    def test_a_string_that_is_a_name(self):
        self.assertEqual(found_in('if (job == "generate") f();'), [(1, "generate")])
        self.assertEqual(found_in('x;\nconfig.is("train.recipe", "sft")'),
                         [(2, "train.recipe"), (2, "sft")])

    def test_keys(self):
        self.assertEqual(found_in('"give a smaller " "teacher.batch_size=1"'),
                         [(1, "teacher.batch_size")])
        self.assertEqual(found_in('R"(classify.labels)"'), [(1, "classify.labels")])
        self.assertEqual(found_in('"run.train.x" "data.generate" "train/loss"'), [])

    def test_a_message_about_a_job(self):
        self.assertEqual(found_in('"prompts of job " "classify: FILE"'), [(1, "job classify")])
        self.assertEqual(found_in('"job=train" "; recipe `ad`"'),
                         [(1, "job=train"), (1, "recipe `ad")])
        self.assertEqual(found_in('"what to train" "generated rows" "a job of training"'), [])

    def test_a_folder_of_configurations(self):
        self.assertEqual(found_in('"./mgpu_spmd conf/teacher/tiny_lm.yaml"'),
                         [(1, "conf/teacher")])

    def test_headers(self):
        self.assertEqual(found_in('#include "jobs/train/job.hpp"\n#include <mgpu/jobs/job.hpp>'),
                         [(1, "jobs/train/job.hpp")])
        self.assertEqual(found_in("#include <mgpu/recipes/ad/keys.hpp>"),
                         [(1, "mgpu/recipes/ad/keys.hpp")])

    def test_identifiers(self):
        for name in ("train_job", "kTeacherSamples", "GenerateKeys", "jobs::classify",
                     "teacher_charts", "mgpu::recipes::ad", "sft_recipe", "CollectKeys",
                     "ExperimentJob", "GrpoSettings", "read_grpo_keys"):
            with self.subTest(name):
                self.assertEqual(found_in(f"x = {name};"), [(1, name)])
        for name in ("train::TrainConfig", "generated_rows", "collect_problems", "GeneratedRow",
                     "read_job", "jobs::jobs", "loaded", "classify_error", "CollectiveFailure"):
            with self.subTest(name):
                self.assertEqual(found_in(f"x = {name};"), [])

    def test_comments_and_characters_are_not_read(self):
        self.assertEqual(found_in('// "train"\n/* job train */ c = \'"\'; d = \'a\';'), [])


class Repository(unittest.TestCase):

    def test_the_registries_are_read(self):
        self.assertLessEqual({"train", "generate", "teacher", "classify", "collect", "experiment",
                              "ad", "sft", "distill", "dpo", "kto", "grpo", "reward", "value"},
                             set(job_names.registered()))

    def test_each_job_has_a_folder_with_a_short_readme_and_a_page(self):
        folders = [path.parent for path in (job_names.TOP / "src/jobs").glob("*/CMakeLists.txt")]
        self.assertLessEqual({folder.name for folder in folders}, set(job_names.registered()))
        for folder in folders:
            with self.subTest(folder.name):
                readme = (folder / "README.md").read_text(encoding="utf-8")
                self.assertLessEqual(len(readme.splitlines()), MOST_README_LINES)
                self.assertIn(f"docs/{folder.name}.md", readme)
                self.assertTrue((job_names.TOP / f"docs/{folder.name}.md").is_file())

    def test_the_modules_name_no_job(self):
        names = job_names.registered()
        left = dict(ALLOWED)
        wrong = []
        checked = 0
        for path in job_names.files():
            checked += 1
            text = (job_names.TOP / path).read_text(encoding="utf-8")
            for line, excerpt in job_names.found_in(text, names):
                left.pop((str(path), excerpt), None)
                if (str(path), excerpt) not in ALLOWED:
                    wrong.append(f"{path}:{line}: names a job or a recipe: {excerpt}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertEqual(list(left), [], "allowed, but not there")
        self.assertGreater(checked, 200)


if __name__ == "__main__":
    unittest.main()
