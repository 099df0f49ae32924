#!/usr/bin/env python3
"""check_docs.py PROGRAM [--write]: do README.md, those of folders and conf/ say what PROGRAM says?

--write brings the generated parts up to date: the key reference in conf/README.md and
conf/full.JOB.yaml. Without it nothing is written, and the exit code is 1 when a check failed.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
README = TOP / "README.md"
RUNNING = TOP / "launch/README.md"
KEYS = TOP / "conf/README.md"
JOBS = ("train", "generate", "teacher", "classify")
BEGIN, END = "<!-- keys: begin -->\n", "<!-- keys: end -->\n"
REGENERATE = "regenerate it with: tests/docs/check_docs.py ./mgpu_spmd --write"
LOOKS = ("--check", "--plan", "--explain", "--print-config", "--env")  # run no job
program = pathlib.Path()


def ask(*arguments):
    """What the program prints; it starts no run for these arguments."""
    return subprocess.run([program, *arguments], cwd=TOP, capture_output=True, text=True,
                          timeout=60, check=False)


def printed(*arguments):
    answer = ask(*arguments)
    if answer.returncode != 0:
        raise AssertionError(f"{arguments}: exit {answer.returncode}\n{answer.stderr}")
    return answer.stdout


def side_by_side(function, values):
    """The results of function(value), on all cores, as most of its time is the program's start."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, values))


def key_names(node, prefix=""):
    for name, value in node.items():
        if isinstance(value, dict):
            yield from key_names(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def split_keys():
    """conf/README.md before, inside and after the markers of the key reference."""
    before, rest = KEYS.read_text().split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after


def full_of(job):
    return TOP / f"conf/full.{job}.yaml"


def hand_written():
    before, _, after = split_keys()
    others = [README, RUNNING, TOP / "src/README.md"]
    return before + after + "".join(page.read_text() for page in others)


def commands(text):
    """The words of each command in the fenced blocks that show some."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                yield words


def program_arguments(words):
    """What the program gets of a command that starts it; None for another command."""
    if words[0] == "launch/run.sh":
        rest = words[1:]
        return rest[2:] if rest[:1] == ["-np"] else rest
    if words[0] == "sbatch":
        script = next(i for i, word in enumerate(words) if word.endswith(".sbatch"))
        return words[script + 1:]
    if "./mgpu_spmd" in words:
        return words[words.index("./mgpu_spmd") + 1:]
    return None


class Docs(unittest.TestCase):
    maxDiff = None

    def test_key_reference_is_the_programs(self):
        self.assertEqual(split_keys()[1], printed("--print-config=markdown"), REGENERATE)

    def test_full_config_is_the_programs(self):
        for job in JOBS:
            self.assertEqual(full_of(job).read_text(), printed(f"job={job}", "--print-config=full"),
                             REGENERATE)

    def test_every_config_is_accepted(self):
        configs = sorted((TOP / "conf").glob("*.yaml"))
        self.assertGreaterEqual(len(configs), 4)
        side_by_side(lambda config: printed(str(config), "--print-config"), configs)

    def test_every_named_key_exists(self):
        keys = {name for job in JOBS
                for name in key_names(json.loads(printed(f"job={job}", "--print-config=json")))}
        sections = {key.split(".")[0] for key in keys if "." in key}
        pattern = rf"`((?:{'|'.join(sections)})\.[a-z_0-9]+)(?:[:=][^`]*)?`"
        files = {"report.html", "run.log", "run.h5"}
        named = set(re.findall(pattern, hand_written())) - files
        self.assertGreater(len(named), 10)
        for name in named - keys:
            self.assertIn("accepted without effect", printed("--explain", name))

    def test_every_command_is_understood(self):
        found = [arguments for words in commands(README.read_text() + RUNNING.read_text())
                 if (arguments := program_arguments(words)) is not None]
        self.assertGreater(len(found), 5)
        side_by_side(self.expect_understood, found)

    def expect_understood(self, arguments):
        if any(word.startswith(LOOKS) for word in arguments):
            printed(*arguments)
            return
        if "--export" in arguments:  # of a run that is perhaps not here
            self.assertIn(ask(*arguments).returncode, (0, 66))
            return
        has_config = any(word.endswith(".yaml") for word in arguments)
        default = [] if has_config else ["conf/quickstart.yaml"]
        printed(*default, *arguments, "--print-config")

    def test_every_named_error_exists(self):
        codes = sorted(set(re.findall(r"\bE[1-9]\d\d\b", hand_written())))
        for code, page in zip(codes, side_by_side(lambda code: printed("--explain", code), codes)):
            self.assertTrue(page.startswith(code))

    def test_every_named_file_exists(self):
        named = re.findall(r"[`\s(]((?:conf|launch|slurm|tests|src|include|kernels|cmake)/"
                           r"[\w./-]*\w)", hand_written())
        self.assertGreater(len(named), 20)
        for name in set(named) - {"slurm/site.sh"}:  # the user's own
            if not re.search(r"/(x|NAME)[._]|_x_", name):  # placeholders
                self.assertTrue((TOP / name).exists(), name)

    def test_exit_codes_are_those_of_the_program(self):
        source = (TOP / "include/mgpu/base/error.hpp").read_text()
        codes = set(re.findall(r"^  \w+ = (\d+),", source, re.M))
        table = set(re.findall(r"^\| (\d+) \|", RUNNING.read_text(), re.M))
        self.assertEqual(table, codes)


def write():
    before, _, after = split_keys()
    KEYS.write_text(before + BEGIN + printed("--print-config=markdown") + END + after)
    for job in JOBS:
        full_of(job).write_text(printed(f"job={job}", "--print-config=full"))


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:] == ["--write"]:
        write()
    else:
        unittest.main(argv=sys.argv[:1])
