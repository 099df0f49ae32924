#!/usr/bin/env python3
"""Plants the defects of planted_defects.toml one at a time. A quick test has to catch each of them.

  planted_defects.py check           is each text in its file, exactly once, and its test quick?
  planted_defects.py run FOLDER      copies the sources into FOLDER, builds there what the tests
                                     need, and expects each defect to fail its test
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

TOP = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_suffix(".toml")
sys.path.insert(0, str(TOP / "tests"))
import times  # noqa: E402

MODULES = ("jobs", "run", "rows", "recipes")
FEWEST = 20
LEFT_OUT = {"build", "outputs", ".git", ".deps"}  # of a copy


def read_defects():
    return tomllib.loads(LIST.read_text())["defect"]


def problem_of(defect, texts):
    """Returns why a defect cannot be planted; None if it can. `texts` maps paths to contents."""
    if not re.match(rf"src/({'|'.join(MODULES)})/", defect["file"]):
        return "it is in none of the modules that the list is about"
    if defect["file"] not in texts:
        return "there is no such file"
    count = texts[defect["file"]].count(defect["text"])
    if count != 1:
        return f"its text is there {count} times: {defect['text']!r}"
    if defect["becomes"] == defect["text"]:
        return "it changes nothing"
    return None


def problem_of_test(name, rows):
    """Returns why a test is not quick by the rows of tests/times.tsv; None if it is."""
    if name not in rows:
        return f"{name} is not in {times.TABLE.name}"
    seconds, tier = rows[name]
    if tier != "quick":
        return f"{name} has tier {tier}"
    if seconds is None:
        return f"{name} was skipped when the times were measured"
    return f"{name} takes {seconds} s" if seconds > times.QUICK_S else None


def check(defects):
    rows, _ = times.read_table()
    paths = {defect["file"] for defect in defects}
    texts = {path: (TOP / path).read_text() for path in paths if (TOP / path).is_file()}
    found = [f"{defect['file']}: {problem}" for defect in defects
             if (problem := problem_of(defect, texts))]
    found += [f"{defect['file']}: {problem}" for defect in defects
              if (problem := problem_of_test(defect["test"], rows))]
    found += [f"no defect in src/{module}" for module in MODULES
              if not any(path.startswith(f"src/{module}/") for path in paths)]
    if len(defects) < FEWEST:
        found.append(f"{len(defects)} defects, fewer than {FEWEST}")
    for problem in found:
        print(f"{LIST.name}: {problem}")
    return not found


def copy_tree(folder):
    """Makes the copy equal to the sources; files that are equal keep their time."""
    def copy(source, target):
        source, target = pathlib.Path(source), pathlib.Path(target)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)
            shutil.copymode(source, target)

    def ignore(parent, names):
        return LEFT_OUT.intersection(names) if pathlib.Path(parent) == TOP else ()

    shutil.copytree(TOP, folder, ignore=ignore, copy_function=copy, dirs_exist_ok=True)
    if not (folder / ".deps").exists():
        (folder / ".deps").symlink_to((TOP / ".deps").resolve())


def runs(folder, *command):
    """Runs a command in the copy. Returns whether its exit status is 0, and its output."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode == 0, f"{done.stdout}exit status {done.returncode}"


def build(folder, *tests):
    targets = sorted({re.sub(r"\.np\d+$", "", test) for test in tests})
    return runs(folder, "cmake", "--build", "--preset", "release", "-j1", "--target", *targets)


def passes(folder, test):
    return runs(folder, "ctest", "--test-dir", "build", "--no-tests=error",
                "--tests-regex", f"^{re.escape(test)}$")


def verdict_on(folder, defect):
    """Plants a defect and runs its test. Returns None if the test fails; otherwise the problem."""
    path = folder / defect["file"]
    whole = path.read_text()
    path.write_text(whole.replace(defect["text"], defect["becomes"]))
    try:
        is_built, said = build(folder, defect["test"])
        if not is_built:
            return "its build fails:\n" + said[-2000:]
        is_missed, _ = passes(folder, defect["test"])
        return f"{defect['test']} passes all the same" if is_missed else None
    finally:
        path.write_text(whole)


def prepare(folder, tests):
    """Builds the copy, and exits unless all tests pass without a defect."""
    copy_tree(folder)
    for step in (lambda: runs(folder, "cmake", "--preset", "release"),
                 lambda: build(folder, *tests), *(lambda t=test: passes(folder, t) for test in tests)):
        is_good, said = step()
        if not is_good:
            sys.exit(f"without a defect:\n{said[-4000:]}")


def run(defects, folder):
    prepare(folder, sorted({defect["test"] for defect in defects}))
    missed = 0
    for number, defect in enumerate(defects, start=1):
        began = time.monotonic()
        problem = verdict_on(folder, defect)
        missed += problem is not None
        print(f"{number:3d} {defect['file']:42s} {problem or 'caught by ' + defect['test']}"
              f" ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(defects) - missed} of {len(defects)} defects are caught")
    return missed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "run"))
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    defects = read_defects()
    if not check(defects):
        sys.exit(1)
    if arguments.what == "check":
        return
    if arguments.folder is None:
        parser.error("run needs a folder for the copy")
    sys.exit(0 if run(defects, arguments.folder.resolve()) else 1)


if __name__ == "__main__":
    main()
