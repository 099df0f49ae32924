#!/usr/bin/env python3
"""Reads and writes tests/times.tsv, the times of all tests.

  times.py longest JUNIT [COUNT]   prints the slowest tests (20) of ctest --output-junit
  times.py costs BUILD             tells ctest these seconds, so that it starts the longest test first
  times.py write JUNIT BUILD       writes the seconds of that run into tests/times.tsv
  times.py check BUILD             exits with 1 if the table does not fit the tests of a build folder
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parent.parent
TABLE = TOP / "tests" / "times.tsv"
TIERS = ("quick", "all", "long")
QUICK_S = 10.0
TITLE = "# Seconds of each test, as launch/test.sh --write-times measured them. -: was skipped there.\n"


def tier_of(labels):
    """Returns the tier, which is a label; a test without one is quick."""
    return next((tier for tier in TIERS[1:] if tier in labels), TIERS[0])


def registered(build):
    """Returns the tier of each test that ctest knows in a build folder."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                            capture_output=True, text=True).stdout
    labels = {test["name"]: next((entry["value"] for entry in test.get("properties", ())
                                  if entry["name"] == "LABELS"), [])
              for test in json.loads(listed)["tests"]}
    return {name: tier_of(values) for name, values in labels.items()}


def measured(junit):
    """Returns the seconds of each test of a run; None for a skipped one."""
    cases = xml.etree.ElementTree.parse(junit).getroot().iter("testcase")
    return {case.get("name"): None if case.get("status") == "notrun" else float(case.get("time"))
            for case in cases}


def read_table(path=TABLE):
    """Returns rows {test: (seconds or None, tier)}, and how each tier was measured."""
    rows, origins = {}, {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            origin = re.match(r"# (\w+): (.*)", line)
            if origin:
                origins[origin[1]] = origin[2]
            continue
        name, seconds, tier = line.split("\t")
        rows[name] = (None if seconds == "-" else float(seconds), tier)
    return rows, origins


def table_text(rows, origins):
    lines = [TITLE]
    lines += [f"# {tier}: {origins[tier]}\n" for tier in TIERS if tier in origins]
    lines += [f"{name}\t{'-' if seconds is None else f'{seconds:.1f}'}\t{tier}\n"
              for name, (seconds, tier) in sorted(rows.items())]
    return "".join(lines)


def merged(old, times, tiers):
    """Returns the rows of all tests in `tiers`, with new seconds if measured."""
    return {name: (times[name] if name in times else old[name][0], tier)
            for name, tier in tiers.items() if name in times or name in old}


def problems(rows, tiers):
    """Returns the differences between the table and the existing tests.

    A few new tests may be missing, and all of tier long, which takes hours to measure."""
    found = [f"{name} takes {seconds:g} s, more than {QUICK_S:g}: it is not quick"
             for name, (seconds, tier) in rows.items() if tier == "quick" and (seconds or 0) > QUICK_S]
    found += [f"{name} is {tiers[name]}, and {rows[name][1]} in the table"
              for name in rows if name in tiers and rows[name][1] != tiers[name]]
    in_ci = {name for name, tier in tiers.items() if tier != "long"}
    unlisted = sorted(in_ci - set(rows))
    if len(unlisted) > 0.05 * len(in_ci):
        found.append(f"{len(unlisted)} tests are not in the table: " + ", ".join(unlisted))
    return found


def machine():
    """Returns cores and processor, without the name of the host."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores of {model[1] if model else 'an unknown processor'}"


def commit():
    """Returns the current commit, with a plus if files have changed since."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=TOP, check=True, capture_output=True,
                              text=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else "")


def write(junit, build):
    times, tiers = measured(junit), registered(build)
    rows, origins = read_table() if TABLE.exists() else ({}, {})
    origin = f"{commit()}, {datetime.date.today()}, {machine()}"
    origins |= {tiers[name]: origin for name in times if name in tiers}
    TABLE.write_text(table_text(merged(rows, times, tiers), origins))


def costs(build):
    """Writes the times for ctest, which replaces them by those of later runs."""
    file = pathlib.Path(build) / "Testing" / "Temporary" / "CTestCostData.txt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{name} 1 {seconds or 0:g}\n"
                                for name, (seconds, _) in read_table()[0].items()) + "---\n")


def longest(junit, count):
    times = {name: seconds for name, seconds in measured(junit).items() if seconds is not None}
    print(f"{len(times)} tests took {sum(times.values()):.0f} s one by one; longest:")
    for name in sorted(times, key=times.get, reverse=True)[:count]:
        print(f"{times[name]:8.1f} s  {name}")


def check(build):
    rows, origins = read_table()
    found = problems(rows, registered(build))
    if table_text(rows, origins) != TABLE.read_text():
        found.append("the table is not as this script writes it")
    for problem in found:
        print(f"tests/times.tsv: {problem}")
    if found:
        sys.exit("make the table again with launch/test.sh --write-times, or change a test's tier")


def main():
    match sys.argv[1:]:
        case ["longest", junit, *count]:
            longest(junit, int(count[0]) if count else 20)
        case ["costs", build]:
            costs(build)
        case ["write", junit, build]:
            write(junit, build)
        case ["check", build]:
            check(build)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
