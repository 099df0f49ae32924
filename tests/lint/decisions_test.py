#!/usr/bin/env python3
"""Tests that each decision in docs/decisions has its three parts."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
ENTRY = re.compile(r"^#{2,3} ([^\n]*\(\d{4}-\d\d-\d\d\))\n(.*?)(?=^#{1,3} |\Z)", re.M | re.S)
PARTS = ("- **Decision.**", "- **Why.**", "- **Revisit when**")


def missing_parts(text):
    """Returns (heading, missing part) of the entries of a page. Sections have no date."""
    return [(heading, part) for heading, entry in ENTRY.findall(text) for part in PARTS
            if f"\n{part} " not in f"\n{entry}"]


class Decisions(unittest.TestCase):

    def test_missing_parts_are_found(self):
        whole = "- **Decision.** A.\n- **Why.** B.\n- **Revisit when** C.\n"
        lacks = "- **Decision.** A.\n- **Why.** B, **Revisit when** C.\n"
        page = (f"# Page\n\n## One (2026-01-02)\n\n{whole}\n"
                f"## Section\n\n### Two (2026-01-02)\n\n{lacks}")
        self.assertEqual(missing_parts(page), [("Two (2026-01-02)", "- **Revisit when**")])

    def test_all_pages_have_whole_entries(self):
        count = 0
        for path in sorted((TOP / "docs/decisions").glob("*.md")):
            text = path.read_text(encoding="utf-8")
            with self.subTest(path.name):
                self.assertEqual(missing_parts(text), [])
            count += len(ENTRY.findall(text))
        self.assertGreater(count, 150)


if __name__ == "__main__":
    unittest.main()
