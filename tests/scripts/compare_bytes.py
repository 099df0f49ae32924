#!/usr/bin/env python3
"""Compares what two programs store: runs every job with both and compares the files.

  compare_bytes.py OLD_PROGRAM NEW_PROGRAM [--quick] [--jobs WORDS] [--expect FILE]

It compares the names, types, shapes, bytes and attributes of all data sets, all tensors of the last
and the best checkpoint, and exported tables. It prints a line per case. It ends with 1 if something
differs that FILE does not expect, or if an expected difference does not occur. --quick runs one or
two cases of each job. Needs numpy and h5py; PyYAML if --new-keys is given.
"""
import argparse
import concurrent.futures
import fnmatch
import pathlib
import shutil
import sys
import tempfile
import time

import byte_cases
from byte_runs import CaseRun, RunFailed
from compare_files import Comparison, compare_runs
from expected_differences import read_expectations, unmet
from spelling import Words, spelling_of

SHOWN = 12  # differences per file


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=program_path)
    parser.add_argument("new", type=program_path)
    parser.add_argument("--quick", action="store_true", help="one or two cases of each job")
    parser.add_argument("--jobs", metavar="WORDS", default="*",
                        help="jobs or patterns of cases, such as teacher,generate.p*; jobs are " +
                        ", ".join(byte_cases.JOBS))
    parser.add_argument("--expect", metavar="FILE", type=pathlib.Path,
                        help="differences that are meant; expected_differences.py says how")
    parser.add_argument("--new-keys", metavar="OLD=NEW", action="append", default=[],
                        help="a key, option or failpoint that NEW_PROGRAM spells otherwise")
    parser.add_argument("--keep", metavar="FOLDER", type=pathlib.Path,
                        help="copy the run folders of cases that differ to FOLDER")
    return parser.parse_args()


def program_path(text):
    path = pathlib.Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no program {text}")
    return path


def chosen_cases(words, is_quick):
    """Returns the cases that the words match. Raises ValueError if a word matches no case, or if no
    case is quick and `is_quick` is true."""
    chosen = set()
    for word in words.split(","):
        found = {case for case in byte_cases.CASES
                 if case.job == word or fnmatch.fnmatchcase(case.name, word)}
        if not found:
            raise ValueError(f"no case is called {word}")
        chosen |= found
    cases = [case for case in byte_cases.CASES if case in chosen and (case.quick or not is_quick)]
    if not cases:
        raise ValueError(f"none of {words} is a quick case")
    return cases


class Comparer:
    """Runs cases with both programs, one after the other."""

    def __init__(self, args, fixtures, expectations):
        self._sides = [(args.old, Words(spelling_of(args.new_keys, is_new=False))),
                       (args.new, Words(spelling_of(args.new_keys, is_new=True)))]
        self._fixtures = fixtures
        self._expectations = expectations
        self._keep = args.keep

    def compare(self, case):
        """Returns a Comparison; a run that failed is a difference."""
        try:
            config, keys = self._fixtures.config_of(case), self._fixtures.keys_of(case)
        except RunFailed as failed:
            return Comparison(differences=[f"old program, before the case: {failed}"])
        runs = [CaseRun(*side) for side in self._sides]
        try:
            with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
                made = list(pool.map(lambda run: run_folder_of(run, case, config, keys), runs))
            result = self._judge(case, *made)
            if result.differences and self._keep:
                self._keep_runs(case, runs)
            return result
        finally:
            for run in runs:
                run.close_folder()

    def _judge(self, case, old, new):
        failed = [f"{side} program: {made}" for side, made in (("old", old), ("new", new))
                  if isinstance(made, RunFailed)]
        if failed:
            return Comparison(differences=failed)
        return compare_runs(case.name, old, new, self._expectations)

    def _keep_runs(self, case, runs):
        for side, run in zip(("old", "new"), runs):
            shutil.copytree(run.folder, self._keep / case.name / side, symlinks=True,
                            ignore_dangling_symlinks=True, dirs_exist_ok=True)


def run_folder_of(run, case, config, keys):
    """Returns the run folder, or why there is no run."""
    try:
        return run.make(case, config, keys).resolve()
    except RunFailed as failed:
        return failed
    except AssertionError as late:  # a job that does not end
        return RunFailed(str(late))


def print_result(case, result, seconds):
    verdict = "DIFFERS" if result.differences else "equal"
    if result.excused:
        verdict += f", {result.excused} expected differences"
    print(f"{case.name:<18} {result.files:>5} {result.data_sets:>9} {result.attributes:>10} "
          f"{seconds:>5.1f} s  {verdict}")
    for file, texts in by_file(result.differences).items():
        for text in texts[:SHOWN]:
            print(f"    {file}: " + text.replace("\n", "\n      "))
        if len(texts) > SHOWN:
            print(f"    {file}: {len(texts) - SHOWN} more")
    sys.stdout.flush()


def by_file(differences):
    """Returns the parts `what` of texts `FILE: what` by FILE, results and weights first."""
    files = {}
    for text in differences:
        file, _, what = text.partition(": ")
        files.setdefault(file, []).append(what)
    return dict(sorted(files.items(),
                       key=lambda entry: not entry[0].endswith((".h5", ".safetensors"))))


def compare_all(args, cases, expectations, folder):
    """Compares the cases and prints a line for each. Returns whether all are equal."""
    maker = CaseRun(args.old, Words(spelling_of(args.new_keys, is_new=False)))
    try:
        comparer = Comparer(args, byte_cases.Fixtures(folder, maker.make_alone), expectations)
        print(f"{'case':<18} {'files':>5} {'data sets':>9} {'attributes':>10} {'time':>7}  verdict")
        are_equal = True
        for case in cases:
            begin = time.monotonic()
            result = comparer.compare(case)
            print_result(case, result, time.monotonic() - begin)
            are_equal &= not result.differences
        return are_equal
    finally:
        maker.close_folder()


def main():
    args = parse()
    try:
        cases = chosen_cases(args.jobs, args.quick)
        expectations = read_expectations(args.expect.read_text()) if args.expect else []
    except (OSError, ValueError) as error:
        sys.exit(f"compare_bytes.py: {error}")
    with tempfile.TemporaryDirectory(prefix="mgpu_bytes.") as folder:
        are_equal = compare_all(args, cases, expectations, pathlib.Path(folder))
    missing = unmet(expectations, [case.name for case in cases])
    for one in missing:
        print(f"expected, but did not occur: {one.line}")
    print("all equal" if are_equal and not missing else "NOT EQUAL")
    sys.exit(0 if are_equal and not missing else 1)


if __name__ == "__main__":
    main()
