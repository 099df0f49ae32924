#!/usr/bin/env python3
"""The Python code of the pages reads files of the program, and docs/formats.md names their columns.

MGPU_PROGRAM is the program. Exit 77 without h5py and pandas.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import pandas  # noqa: F401: what a page's code imports
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["MGPU_PROGRAM"]
EXAMPLES = TOP / "conf/examples/tiny_lm"
TEXTS = EXAMPLES / "texts.jsonl"
MODEL = "model.path=outputs/tiny_lm/latest/ckpt/last"
# The runs that the pages and the tables of formats.md are about.
RUNS = {
    "ad": ("quickstart", "conf/train/quickstart.yaml train.max_steps=2 train.warmup_steps=1 "
                         "train.eval_every=1 data.streams=2 evaluate.runs=1"),
    "sft": ("tiny_lm", f"conf/train/tiny_lm.yaml train.max_steps=2 train.warmup_steps=1 "
                       f"data.synthetic_texts=300 data.eval_path={TEXTS} train.eval_every=1"),
    "generate": ("generate", f"conf/generate/tiny_lm.yaml {MODEL} generate.max_new_tokens=4"),
    "teacher": ("teacher", f"conf/teacher/tiny_lm.yaml {MODEL}"),
    "packed": ("packed", f"conf/teacher/tiny_lm.yaml {MODEL} teacher.store=packed"),
    "draws": ("draws", f"job=teacher {MODEL} data.path={TEXTS} teacher.targets=random_sampling"),
    "classify": ("sms_spam_labels", f"job=classify {MODEL} data.path=rows.jsonl "
                                    "classify.labels=[ham,spam] output.keep_columns=[]"),
}
KINDS = {"int32": "i32", "int64": "i64", "uint8": "u8", "uint32": "u32", "float16": "f16",
         "float32": "f32", "float64": "f64"}


def kind_of(dataset):
    if h5py.check_enum_dtype(dataset.dtype):
        return "enum"
    kind = "text" if dataset.dtype.kind == "S" else KINDS[dataset.dtype.name]
    return kind + (" x" if dataset.ndim == 2 else "")


def columns_of(file, table):
    """{name: (type, unit)} of a table in a result file; widths of items are left out."""
    found = {name: (kind_of(column), column.attrs.get("units", ""))
             for name, column in file[table].items()}
    for name, column in file.get(f"arrays/{table}", {}).items():
        values = column["values"]
        kind = "text" if column.attrs.get("is_text") else f"list of {kind_of(values)}"
        found[name] = (kind, values.attrs.get("units", ""))
    return found


def tables_of_page():
    """(run, file, table, names of the columns that alone are compared, {name: (type, unit)})."""
    text = (TOP / "docs/formats.md").read_text()
    pattern = r"<!-- columns: (\w+) (\S+) (\S+)(?: \+ ([\w ]+))? -->\n\|.*\n\|[-|]+\n((?:\|.*\n)+)"
    for run, file, table, only, rows in re.findall(pattern, text):
        columns = {}
        for row in rows.splitlines():
            name, kind, unit = (cell.strip() for cell in row.strip("|").split("|")[:3])
            columns[name.strip("`")] = (re.sub(r" x \w+", " x", kind), unit)
        yield run, file, table, only.split(), columns


def blocks_of(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    return [block for block in blocks if "def logits(" not in block]  # readme_loader_test has it


class Pages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        rows = [{"text": f"text {i}", "label": ["ham", "spam"][i % 2], "group": "a"}
                for i in range(4)]
        (cls.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for name, arguments in RUNS.values():
            words = arguments.split()
            if not words[0].endswith(".yaml"):
                (cls.folder / "empty.yaml").write_text("schema: 1\n")
                words.insert(0, "empty.yaml")
            else:
                words[0] = str(TOP / words[0])
            cls.call(*words, f"run.name={name}", "run.output=outputs", "-q")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def call(cls, *arguments):
        ended = subprocess.run([PROGRAM, *arguments], cwd=cls.folder, capture_output=True,
                               text=True, timeout=120, check=False)
        if ended.returncode != 0:
            raise AssertionError(f"{arguments}: exit {ended.returncode}\n{ended.stderr[-2000:]}")

    def printed_by(self, block):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(block, {})
        finally:
            os.chdir(before)
        return out.getvalue()

    def test_formats_page_names_all_columns(self):
        compared = 0
        for run, name, table, only, columns in tables_of_page():
            path = self.folder / "outputs" / RUNS[run][0] / "latest" / name
            with self.subTest(table=f"{run} {name} {table}"), h5py.File(path) as file:
                stored = columns_of(file, table)
                self.assertEqual(columns, {key: stored[key] for key in only or stored})
                compared += 1
        self.assertEqual(compared, 18)

    def test_code_of_every_page_runs(self):
        pages = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
        blocks = [block for page in pages for block in blocks_of(page)]
        self.assertEqual(len(blocks), 4)
        for block in blocks:
            self.assertGreater(len(self.printed_by(block)), 20, block)

    def test_readme_reads_texts_as_they_were_written(self):
        self.call("--export", "jsonl", "outputs/generate/latest")
        lines = (self.folder / "outputs/generate/latest/results.jsonl").read_text().splitlines()
        printed = self.printed_by(blocks_of(TOP / "README.md")[0])
        self.assertIn(json.loads(lines[0])["output"], printed)
        self.assertIn("{'ok'}", printed)

    def test_table_of_returns_has_the_names_of_controls(self):
        printed = self.printed_by(blocks_of(TOP / "docs/train.md")[0])
        for name in ("none", "hide_rewards", "clear_context"):
            self.assertIn(name, printed)


if __name__ == "__main__":
    unittest.main()
