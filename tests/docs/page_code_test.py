#!/usr/bin/env python3
"""The Python code of the pages reads files of the program, and docs/formats.md names what they have.

MGPU_PROGRAM is the program. Exit 77 without h5py and pandas.
"""
import contextlib
import io
import json
import os
import re
import sys
import unittest

try:
    import h5py  # noqa: F401: what a page's code imports
    import pandas  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import extract_picture
import found_names
import pages
from formats_page import FormatsPage
from pages import TOP


class Pages(FormatsPage):

    def printed_by(self, block):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(block, {})
        finally:
            os.chdir(before)
        return out.getvalue()

    def test_code_of_every_page_runs(self):
        everywhere = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
        blocks = [block for page in everywhere for block in pages.python_blocks(page)
                  if "def logits(" not in block]  # readme_loader_test has it
        self.assertEqual(len(blocks), 5)
        for block in blocks:
            self.assertGreater(len(self.printed_by(block)), 20, block)

    def test_readme_reads_texts_as_they_were_written(self):
        lines = (self.copy_of("generate") / "results.jsonl").read_text().splitlines()
        printed = self.printed_by(pages.python_blocks(TOP / "README.md")[0])
        self.assertIn(json.loads(lines[0])["output"], printed)
        self.assertIn("{'ok'}", printed)

    def test_table_of_returns_has_the_names_of_controls(self):
        printed = self.printed_by(pages.python_blocks(TOP / "docs/train.md")[0])
        for name in ("none", "hide_rewards", "clear_context"):
            self.assertIn(name, printed)

    def test_result_of_the_teacher_is_that_of_the_pages(self):
        [result] = [one["result"] for one in found_names.summaries([self.run_folder("teacher")])]
        shown = pages.block_with("docs/teacher.md", "Result:").split(maxsplit=1)[1].strip()
        self.assertEqual(pages.shape(result), pages.shape(shown))
        sizes, _, _ = shown.rpartition("; ")  # the speed depends on the machine
        self.assertEqual(result.rpartition("; ")[0], sizes)
        self.assertIn(f"`{sizes}`", (TOP / "README.md").read_text())

    def test_pictures_are_those_of_reports(self):
        for run, name in (("ad", "return_per_episode"), ("teacher", "kept_mass")):
            shown = (TOP / f"docs/images/{name}.svg").read_text()
            title = re.search(r"<title>(.*?)</title>", shown)[1]
            report = (self.run_folder(run) / "report.html").read_text()
            self.assertEqual(pages.words_of_picture(shown),
                             pages.words_of_picture(extract_picture.picture(report, title)))


del FormatsPage  # its tests run once, with those of Pages

if __name__ == "__main__":
    unittest.main()
