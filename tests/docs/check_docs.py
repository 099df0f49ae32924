#!/usr/bin/env python3
"""check_docs.py PROGRAM [--write]: do the pages and conf/ agree with PROGRAM?

--write updates the generated parts: the tables of keys in conf/README.md and docs/JOB.md, and
conf/JOB/full.yaml. Without it nothing is written, and the exit code is 1 when a check failed.
If MGPU_ANSWERS is the program of answer_commands.cpp, one process of it answers what needs no MPI.
"""
import atexit
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
RUNNING = TOP / "launch/README.md"
KEYS = TOP / "conf/README.md"
JOBS = [path.parent.name for path in sorted((TOP / "src/jobs").glob("*/CMakeLists.txt"))]
PAGES = [TOP / "README.md", RUNNING, TOP / "src/README.md", KEYS,
         *sorted((TOP / "docs").rglob("*.md")), *sorted((TOP / "src").glob("*/*/README.md"))]
MOST_LINES = {"README.md": 140, "src/README.md": 150}
BEGIN, END = "<!-- keys: begin -->\n", "<!-- keys: end -->\n"
REGENERATE = "regenerate it with: tests/docs/check_docs.py ./mgpu_spmd --write"
LOOKS = ("--check", "--plan", "--explain", "--print-config", "--env")  # run no job
FOLDERS = "conf|docs|launch|slurm|tests|src|include|kernels|cmake"
ANSWER = threading.Lock()
program = pathlib.Path()


@functools.cache
def answerer():
    """Returns a process that answers command lines; None without MGPU_ANSWERS."""
    if "MGPU_ANSWERS" not in os.environ:
        return None
    process = subprocess.Popen([os.environ["MGPU_ANSWERS"]], cwd=TOP, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.communicate)  # ends it, because its stdin ends
    return process


def answer_of(arguments):
    """Returns what the answering process says, at most 60 s later; None without MGPU_ANSWERS."""
    with ANSWER:
        process = answerer()
        if process is None:
            return None
        too_late = threading.Timer(60, process.kill)
        too_late.start()
        try:
            print(json.dumps(arguments), file=process.stdin, flush=True)
            line = process.stdout.readline()
        finally:
            too_late.cancel()
    if not line:
        raise AssertionError(f"{arguments}: no answer, exit {process.wait()}")
    return json.loads(line)


def ask(*arguments):
    """Returns the ended process of a command line that starts no run."""
    answer = answer_of(arguments)
    if answer and answer["code"] is not None:
        return subprocess.CompletedProcess(arguments, answer["code"], answer["out"],
                                           answer["error"])
    return subprocess.run([program, *arguments], cwd=TOP, capture_output=True, text=True,
                          timeout=60, check=False,
                          env=os.environ | {"MGPU_QUICK_EXIT": "1"})


@functools.cache
def printed(*arguments):
    answer = ask(*arguments)
    if answer.returncode != 0:
        raise AssertionError(f"{arguments}: exit {answer.returncode}\n{answer.stderr}")
    return answer.stdout


def side_by_side(function, values):
    """Returns function(value) for all `values`. Several are computed at once."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, values))


def key_names(node, prefix=""):
    for name, value in node.items():
        if isinstance(value, dict):
            yield from key_names(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def split_keys(page):
    """Cuts a page into the parts before, inside and after its table of keys."""
    before, rest = page.read_text().split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after


def keys_of(job, reference):
    """Returns the rows of the reference for keys that `job` reads and that not all jobs read."""
    lines = ["| key | default | values | meaning |", "|---|---|---|---|"]
    for line in reference.splitlines():
        cells = re.split(r" ?(?<!\\)\| ?", line)
        if line.startswith("| `") and job in cells[5].split(", "):
            lines.append("| " + " | ".join(cells[1:5]) + " |")
    return "\n".join(lines) + "\n"


def tables_of_keys():
    """Returns {page: the program's table} of the pages that have a table of keys."""
    reference = printed("--print-config=markdown")
    return {KEYS: reference,
            **{TOP / f"docs/{job}.md": keys_of(job, reference) for job in JOBS}}


def full_of(job):
    return TOP / f"conf/{job}/full.yaml"


def hand_written(page):
    if BEGIN not in page.read_text():
        return page.read_text()
    before, _, after = split_keys(page)
    return before + after


def all_pages():
    return "\n".join(hand_written(page) for page in PAGES)


def commands(text):
    """Yields the words of each command in the fenced blocks that show some."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                yield words


def program_arguments(words):
    """Returns the arguments of a command that starts the program; None for another command."""
    if words[0] == "launch/run.sh":
        rest = words[1:]
        return rest[2:] if rest[:1] == ["-np"] else rest
    if words[0] == "sbatch":
        script = next(i for i, word in enumerate(words) if word.endswith(".sbatch"))
        return words[script + 1:]
    if "./mgpu_spmd" in words:
        return words[words.index("./mgpu_spmd") + 1:]
    return None


def is_placeholder(name):
    """Returns whether a part of a path stands for a name: conf/JOB/NAME.yaml, x_test.cpp."""
    return re.search(r"(^|[/._])([A-Z]{3,}|x)([/._]|$)", name) is not None \
        and not name.endswith("README.md")


class Docs(unittest.TestCase):
    maxDiff = None

    def test_tables_of_keys_are_the_programs(self):
        for page, table in tables_of_keys().items():
            self.assertEqual(split_keys(page)[1], table, f"{page}: {REGENERATE}")

    def test_full_config_is_the_programs(self):
        for job in JOBS:
            self.assertEqual(full_of(job).read_text(), printed(f"job={job}", "--print-config=full"),
                             REGENERATE)

    def test_every_config_is_accepted(self):
        stages = set((TOP / "conf/experiment").glob("*/**/*.yaml"))  # --plan reads them
        configs = sorted(set((TOP / "conf").rglob("*.yaml")) - stages)
        self.assertGreaterEqual(len(configs), 14)
        side_by_side(lambda config: printed(str(config), "--print-config"), configs)

    def test_old_names_of_configs_are_the_new_files(self):
        old = [*(TOP / "conf").glob("*.yaml"), *(TOP / "conf/sms_spam").glob("*.yaml")]
        self.assertEqual(len(old), 10)
        for config in old:
            there = re.fullmatch(r"include: \[(.*)\]  #.*\n", config.read_text())[1]
            new = (config.parent / there).resolve()
            self.assertEqual(printed(str(config), "--print-config"),
                             printed(str(new), "--print-config"))
        for name in ("prompts", "prompts.jsonl", "tiny_lm", "sms_spam/prepare.py"):
            self.assertTrue((TOP / "conf" / name).exists(), name)

    def test_every_named_key_exists(self):
        keys = {name for job in JOBS
                for name in key_names(json.loads(printed(f"job={job}", "--print-config=json")))}
        sections = {key.split(".")[0] for key in keys if "." in key}
        pattern = rf"`((?:{'|'.join(sections)})\.[a-z_0-9]+(?:\.[a-z_0-9]+)?)(?:[:=][^`]*)?`"
        files = (".html", ".log", ".h5", ".json", ".safetensors", ".hpp", ".cpp")
        named = {name for name in re.findall(pattern, all_pages()) if not name.endswith(files)}
        groups = {key.rsplit(".", 1)[0] for key in keys}  # `data.columns`
        self.assertGreater(len(named), 40)
        for name in named - keys - groups:
            self.assertIn("accepted without effect", printed("--explain", name))

    def test_every_command_is_understood(self):
        found = {tuple(arguments) for words in commands(all_pages())
                 if (arguments := program_arguments(words)) is not None}
        self.assertGreater(len(found), 20)
        side_by_side(self.expect_understood, found)

    def expect_understood(self, arguments):
        if any(word.startswith(LOOKS) for word in arguments):
            printed(*arguments)
            return
        if {"--export", "--merge", "--compare"} & set(arguments):  # runs are perhaps not here
            self.assertIn(ask(*arguments).returncode, (0, 66))
            return
        has_config = any(word.endswith(".yaml") for word in arguments)
        default = () if has_config else ("conf/train/quickstart.yaml",)
        printed(*default, *arguments, "--print-config")

    def test_every_named_error_exists(self):
        named = set(re.findall(r"\bE[1-9]\d\d\b", all_pages()))
        source = "".join(path.read_text() for folder in ("include", "src")
                         for path in (TOP / folder).rglob("error_pages.hpp"))
        self.assertGreater(len(named), 10)
        self.assertLessEqual(named, set(re.findall(r'\{"(E\d+)",', source)))
        self.assertTrue(printed("--explain", max(named)).startswith(max(named)))

    def test_every_named_file_exists(self):
        named = re.findall(rf"[`\s(]((?:{FOLDERS})/[\w./-]*\w)", all_pages())
        self.assertGreater(len(named), 100)
        for name in set(named) - {"slurm/site.sh"}:  # the user's own
            if not is_placeholder(name):
                self.assertTrue((TOP / name).exists(), name)

    def test_every_link_leads_to_a_file(self):
        found = [(page, link) for page in (*PAGES, *(TOP / "tests").rglob("README.md"))
                 for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", hand_written(page))
                 if not link.startswith("http")]
        self.assertGreater(len(found), 30)
        for page, link in found:
            self.assertTrue((page.parent / link).exists(), f"{page}: {link}")

    def test_every_page_is_linked(self):
        reached = {TOP / "README.md"}
        while True:
            more = {(page.parent / link).resolve() for page in reached if page.suffix == ".md"
                    for link in re.findall(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)", page.read_text())}
            if more <= reached:
                break
            reached |= more
        for page in sorted((TOP / "docs").rglob("*.md")):
            self.assertIn(page, reached, "no page leads to it")

    def test_front_pages_are_short(self):
        for name, most in MOST_LINES.items():
            self.assertLessEqual(len((TOP / name).read_text().splitlines()), most, name)

    def test_readme_says_what_an_installation_needs(self):
        start = (TOP / "README.md").read_text().split("## Quick start")[1].split("\n## ")[0]
        for words in ("Debian 12", "root or sudo", r"downloads about [\d.]+ GB", r"\d+ GB\s+of disk",
                      r"run\.sh .*\d+ minutes", r"test\.sh .*\d+ minutes", "lists the missing packages"):
            self.assertRegex(start, words)

    def test_exit_codes_are_those_of_the_program(self):
        source = (TOP / "include/mgpu/base/error.hpp").read_text()
        codes = set(re.findall(r"^  \w+ = (\d+),", source, re.M))
        table = set(re.findall(r"^\| (\d+) \|", RUNNING.read_text(), re.M))
        self.assertEqual(table, codes)


def write():
    for page, table in tables_of_keys().items():
        before, _, after = split_keys(page)
        page.write_text(before + BEGIN + table + END + after)
    for job in JOBS:
        full_of(job).write_text(printed(f"job={job}", "--print-config=full"))


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:] == ["--write"]:
        write()
    else:
        unittest.main(argv=sys.argv[:1])
