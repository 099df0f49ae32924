"""Tests the byte script on real runs: a program equals itself, but not with another seed."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("MGPU_PROGRAM", str(HERE.parent.parent / "mgpu_spmd"))


class RealRuns(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mgpu_bytes."))
        self.addCleanup(shutil.rmtree, self.folder)

    def compare(self, code, new, *options):
        """Returns what the script prints about one case."""
        script = [sys.executable, "-B", HERE / "compare_bytes.py", PROGRAM, new]
        ended = subprocess.run([*script, "--jobs", "generate.1", *options], check=False,
                               capture_output=True, text=True)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended.stdout

    def wrapper(self, line):
        """Makes a program that runs PROGRAM after a line of shell."""
        path = self.folder / "mgpu_spmd"
        path.write_text(f'#!/bin/sh\n{line}\nexec {shlex.quote(PROGRAM)} "$@"\n')
        path.chmod(0o755)
        return path

    def expect(self, text):
        path = self.folder / "expected"
        path.write_text(text)
        return f"--expect={path}"

    def test_a_program_equals_itself(self):
        self.assertIn("all equal", self.compare(0, PROGRAM))
        missing = self.compare(1, PROGRAM, self.expect("differs * results.h5 arrays/samples/output_ids\n"))
        self.assertIn("expected, but did not occur: differs * results.h5", missing)

    def test_a_case_of_each_job_and_recipe_runs(self):
        self.assertIn("all equal", self.compare(0, PROGRAM, "--jobs", "*.1"))

    def test_another_seed_is_noticed_and_can_be_expected(self):
        # Excludes the arguments of --merge and --export, which begin with a dash.
        other = self.wrapper('case $1 in -*) ;; *) set -- "$@" run.seed=1 ;; esac')
        differs = self.compare(1, other)
        self.assertIn("results.h5: run@keys:run.seed: b'0' -> b'1'", differs)
        self.assertIn("results.h5: arrays/samples/output_ids/values: ", differs)
        self.assertIn("NOT EQUAL", differs)
        lines = ("results.h5 run@keys:run.seed", "results.h5 arrays", "results.h5 samples",
                 "results.jsonl *")
        text = "".join(f"differs generate.* {line}\n" for line in lines)
        self.assertIn("all equal", self.compare(0, other, self.expect(text)))

    def test_a_program_that_fails_is_a_difference(self):
        self.assertIn("new program: exit code 3 instead of 0",
                      self.compare(1, self.wrapper("exit 3")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
