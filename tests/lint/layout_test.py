#!/usr/bin/env python3
"""Tests that folders have the files and subfolders that src/README.md promises."""
import pathlib
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
# Subfolders of large modules, with the same names in src/ and include/mgpu/.
FOLDERS = {
    "lm": {"config", "families", "weights", "forward", "cache", "decode", "parallel", "training"},
    "store": {"run_dir", "journal", "results", "checkpoint"},
}
PRIVATE = {"lm": {"families"}}  # without public headers
FILES_BESIDE = {"store": {"file_numbers.cpp", "file_numbers.hpp"}}  # serve several subfolders
FILES_OF_JOB = {"README.md", "job.cpp", "keys.cpp", "plan.cpp", "page.cpp", "results.cpp"}
FILES_OF_ROW_JOB = FILES_OF_JOB | {"inputs.cpp", "work.cpp", "table.cpp"}
FILES_OF_TRAIN = {"README.md", "job.cpp"}  # its recipes have the others
FILES_OF_RECIPE = {"CMakeLists.txt", "recipe.cpp", "keys.cpp"}
RECIPES_WITHOUT_KEYS = {"sft"}


def names_in(folder, is_wanted):
    return {path.name for path in folder.iterdir() if is_wanted(path)}


def applies_a_model_to_rows(job):
    return any("run::RowWorker" in path.read_text() for path in job.glob("*.hpp"))


class Layout(unittest.TestCase):

    def test_large_modules_have_their_subfolders_and_no_other_sources(self):
        for module, folders in FOLDERS.items():
            source = TOP / "src" / module
            header = TOP / "include/mgpu" / module
            self.assertEqual(names_in(source, pathlib.Path.is_dir), folders)
            self.assertEqual(names_in(source, pathlib.Path.is_file) - {"CMakeLists.txt"},
                             FILES_BESIDE.get(module, set()))
            self.assertEqual(names_in(header, pathlib.Path.is_dir),
                             folders - PRIVATE.get(module, set()))
            self.assertEqual(names_in(header, pathlib.Path.is_file), {"error_pages.hpp"})

    def test_each_job_has_the_same_main_files(self):
        jobs = [path.parent for path in (TOP / "src/jobs").glob("*/CMakeLists.txt")]
        self.assertGreaterEqual(len(jobs), 6)
        for folder in jobs:
            needed = FILES_OF_TRAIN if folder.name == "train" else FILES_OF_JOB
            needed = FILES_OF_ROW_JOB if applies_a_model_to_rows(folder) else needed
            self.assertLessEqual(needed, names_in(folder, pathlib.Path.is_file), folder.name)

    def test_each_recipe_has_the_same_main_files(self):
        recipes = [path.parent for path in (TOP / "src/recipes").glob("*/recipe.cpp")]
        self.assertGreaterEqual(len(recipes), 9)
        for folder in recipes:
            needed = FILES_OF_RECIPE - ({"keys.cpp"} if folder.name in RECIPES_WITHOUT_KEYS else set())
            self.assertLessEqual(needed, names_in(folder, pathlib.Path.is_file), folder.name)

    def test_the_only_public_header_of_jobs_is_their_interface(self):
        self.assertEqual(names_in(TOP / "include/mgpu/jobs", lambda path: True), {"job.hpp"})


if __name__ == "__main__":
    unittest.main()
