#!/usr/bin/env python3
"""Tests that tests/times.py finds errors in a table of times, and writes one."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import times  # noqa: E402

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite>
  <testcase name="ran" classname="ran" time="1.25" status="run"/>
  <testcase name="failed" classname="failed" time="3" status="fail"/>
  <testcase name="skipped" classname="skipped" time="0.1" status="notrun"><skipped/></testcase>
</testsuite>
"""


class Problems(unittest.TestCase):
    def problems(self, rows, tiers=None):
        return times.problems(rows, tiers or {name: tier for name, (_, tier) in rows.items()})

    def test_a_quick_test_that_takes_long(self):
        self.assertEqual(self.problems({"a": (10.0, "quick"), "b": (11.0, "all")}), [])
        self.assertEqual(self.problems({"a": (10.1, "quick")}),
                         ["a takes 10.1 s, more than 10: it is not quick"])

    def test_another_tier_than_the_label(self):
        self.assertEqual(self.problems({"a": (1.0, "quick")}, {"a": "all"}),
                         ["a is all, and quick in the table"])

    def test_more_than_a_few_new_tests(self):
        tiers = {f"t{i}": "quick" for i in range(40)}
        rows = {name: (1.0, "quick") for name in tiers}
        for name in ("t1", "t2"):
            del rows[name]
        self.assertEqual(self.problems(rows, tiers), [])
        del rows["t3"]
        self.assertEqual(self.problems(rows, tiers), ["3 tests are not in the table: t1, t2, t3"])
        self.assertEqual(self.problems(rows, tiers | {"t2": "long", "t3": "long"}), [])


class Writing(unittest.TestCase):

    def test_a_run_replaces_its_own_rows_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "junit.xml"
            path.write_text(JUNIT)
            ran = times.measured(path)
        self.assertEqual(ran, {"ran": 1.25, "failed": 3.0, "skipped": None})
        old = {"ran": (9.0, "all"), "other": (5.0, "all"), "gone": (7.0, "quick")}
        tiers = {"ran": "quick", "skipped": "quick", "other": "all", "new": "long"}
        self.assertEqual(times.merged(old, ran, tiers),
                         {"ran": (1.25, "quick"), "skipped": (None, "quick"), "other": (5.0, "all")})

    def test_a_table_is_read_as_it_was_written(self):
        rows = {"b": (1.5, "quick"), "a": (None, "long")}
        origins = {"quick": "a1b2c3d, 2026-01-02, 2 cores", "long": "e4f5a6b, 2026-01-01, 2 cores"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "times.tsv"
            path.write_text(times.table_text(rows, origins))
            self.assertEqual(times.read_table(path), (rows, origins))

    def test_ctest_gets_the_times_once(self):
        with tempfile.TemporaryDirectory() as folder:
            times.costs(folder)
            (file,) = pathlib.Path(folder).rglob("CTestCostData.txt")
            lines = file.read_text().splitlines()
            rows, _ = times.read_table()
            self.assertEqual(lines[-1], "---")
            self.assertEqual([line.split() for line in lines[:-1]],
                             [[name, "1", f"{seconds or 0:g}"] for name, (seconds, _) in rows.items()])
            file.write_text("those of a run\n---\n")
            times.costs(folder)
            self.assertEqual(file.read_text(), "those of a run\n---\n")

    def test_labels_are_tiers(self):
        self.assertEqual([times.tier_of(labels) for labels in
                          (["e2e"], ["unit", "all"], ["long", "mpi"], ["all_of_it"], [])],
                         ["quick", "all", "long", "quick", "quick"])


if __name__ == "__main__":
    unittest.main()
