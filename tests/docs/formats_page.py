"""Compares docs/formats.md with the files of runs."""
import json
import re
import shutil

import h5py

import found_names
import ledger
import pages
from page_runs import EXAMPLES, PageRuns

# End-to-end tests compare these tables of formats.md.
OF_OTHER_TESTS = {"death", "error_event", "comparison", "comparison_metric", "pt_file", "pt_question",
                  "pt_path", "pt_metadata"}
KINDS = {"int32": "i32", "int64": "i64", "uint8": "u8", "uint32": "u32", "float16": "f16",
         "float32": "f32", "float64": "f64"}


def kind_of(dataset):
    if h5py.check_enum_dtype(dataset.dtype):
        return "enum"
    kind = "text" if dataset.dtype.kind == "S" else KINDS[dataset.dtype.name]
    return kind + (" x" if dataset.ndim == 2 else "")


def columns_of(file, table):
    """Returns {name: (type, unit)} of a table in a result file; widths of items are left out."""
    found = {name: (kind_of(column), column.attrs.get("units", ""))
             for name, column in file[table].items()}
    for name, column in file.get(f"arrays/{table}", {}).items():
        values = column["values"]
        kind = "text" if column.attrs.get("is_text") else f"list of {kind_of(values)}"
        found[name] = (kind, values.attrs.get("units", ""))
    return found


def tables_of_page():
    """Yields (run, file, table, names of the only compared columns, {name: (type, unit)})."""
    for marker in re.findall(r"<!-- (columns: .*) -->", pages.FORMATS.read_text()):
        where, _, only = marker.removeprefix("columns: ").partition(" + ")
        columns = {name.strip("`"): (re.sub(r" x \w+", " x", kind), unit)
                   for name, kind, unit, *_ in pages.table(marker)}
        yield *where.split(), only.split(), columns


class FormatsPage(PageRuns):

    def test_formats_page_names_all_columns(self):
        compared = 0
        for run, name, table, only, columns in tables_of_page():
            with self.subTest(table=f"{run} {name} {table}"), \
                    h5py.File(self.run_folder(run) / name) as file:
                stored = columns_of(file, table)
                self.assertEqual(columns, {key: stored[key] for key in only or stored})
                compared += 1
        self.assertEqual(compared, 39)

    def test_metrics_of_held_out_rows_are_those_of_training(self):
        for run in ("dpo", "kto", "reward", "value", "prm"):
            with self.subTest(run=run), h5py.File(self.run_folder(run) / "results.h5") as file:
                trained = columns_of(file, "metrics/train")
                for name in ("learning_rate", "grad_norm"):
                    del trained[name]
                self.assertEqual(columns_of(file, "metrics/eval"), trained)

    def test_results_have_the_keys_that_their_job_reads_and_no_others(self):
        rows = re.findall(r"^\| `(\S+)` \|.*\| ([a-z, ]+) \|$",
                          (pages.TOP / "conf/README.md").read_text(), re.MULTILINE)
        jobs_of = {key: set(jobs.split(", ")) for key, jobs in rows}
        self.assertGreater(len(jobs_of), 250)
        for run in self.all_runs():
            with self.subTest(run=run.parent.name), h5py.File(run / "results.h5") as file:
                job = file.attrs["job"].decode() if isinstance(file.attrs["job"], bytes) \
                    else file.attrs["job"]
                stored = {line.partition(":")[0]
                          for line in str(file["run"].attrs["keys"]).splitlines()}
                self.assertIn("run.seed", stored)
                others = {key for key in stored if not jobs_of[key] & {job, "all"}}
                self.assertEqual(others, set())
                own = {key for key in jobs_of if key.startswith(f"{job}.")} - stored
                for key in own:
                    self.assertIn("identity no", self.explained(key), key)

    def explained(self, key):
        return self.call("--explain", key)

    def names_of_files(self):
        """Returns {marker of formats.md: names that files have}."""
        runs = self.all_runs()
        histories = self.run_folder("ad") / "histories.h5"
        root = found_names.attributes([*self.results(), histories])
        of_run_h5 = found_names.attributes([run / "run.h5" for run in runs])
        checkpoint, _ = found_names.of_checkpoint(self.run_folder("ad"))
        experiment = self.run_folder("experiment")
        stage = experiment.parent / "stages/labels/latest"
        return {
            "root_attributes": root,
            "run_attributes": found_names.attributes(self.results(), "run"),
            "object_attributes": found_names.object_attributes(
                [*self.results(), histories, *(run / "run.h5" for run in runs)]),
            "teacher_attributes": found_names.attributes(self.results(), "teacher"),
            "classify_attributes": found_names.attributes(self.results(), "classify"),
            "collect_attributes": found_names.attributes(self.results(), "collect"),
            "run_h5_attributes": of_run_h5 - (root - {"job"}),
            "event": found_names.event_fields(runs)[0],
            "event_fields": set(found_names.event_fields(runs)[1]),
            "summary": found_names.members(found_names.summaries(runs)),
            "summary_items": set(found_names.summary_items(runs)),
            "run_json": found_names.members(
                [json.loads((run / "run.json").read_text()) for run in runs]),
            "attempt": found_names.members(
                [json.loads((run / "attempts/0001.json").read_text()) for run in runs]),
            "job_states": found_names.members(
                json.loads((experiment / "job_states.json").read_text())["stages"]),
            "outcome": set(json.loads((stage / "outcome.json").read_text())),
            **checkpoint,
            **found_names.of_exports(self.copy_of("teacher"), self.copy_of("classify"),
                                     self.copy_of("roll_in")),
        }

    def test_formats_page_names_all_members(self):
        found = self.names_of_files()
        self.assertEqual(set(found) | {"files"} | OF_OTHER_TESTS, pages.keys_of_names())
        for key, names in found.items():
            with self.subTest(table=key):
                shown = pages.names(key)
                if isinstance(names, list):
                    self.assertEqual(shown, names)
                    continue
                if key == "run_attributes":  # one of them needs several ranks per model
                    self.assertTrue(found_names.is_in_source("ranks_of_a_model"))
                    names = names | {"ranks_of_a_model"}
                self.assertEqual(set(shown), names)
                self.assertEqual(len(shown), len(names))

    def test_formats_page_names_what_items_have(self):
        runs = self.all_runs()
        self.assertEqual(pages.fields("event_fields"), found_names.event_fields(runs)[1])
        self.assertEqual(pages.fields("summary_items"), found_names.summary_items(runs))
        _, of_file = found_names.of_checkpoint(self.run_folder("sft"))
        self.assertEqual(pages.fields("manifest")["files"], of_file)
        for summary in found_names.summaries(runs):
            self.assertEqual(set(summary), set(pages.names("summary")))

    def test_checkpoint_of_a_language_model_is_its_folder(self):
        found, _ = found_names.of_checkpoint(self.run_folder("sft"))
        model = {path.name for path in (EXAMPLES / "model").iterdir()}
        self.assertEqual(found["checkpoint_files"], set(pages.names("checkpoint_files")) | model)

    def test_formats_page_names_all_files(self):
        shown = {re.sub("/.+", "/", name) for name in pages.names("files")}
        self.assertEqual(shown - found_names.RARE,
                         found_names.files(self.all_runs()) - found_names.RARE)
        for name in found_names.RARE:
            self.assertIn(name, shown)
            self.assertTrue(found_names.is_in_source(name), name)

    def test_ledgers_have_the_bytes_of_the_page(self):
        for run, columns in (("teacher", 10), ("ad", 7)):
            [path] = (self.run_folder(run) / "parts").iterdir()
            with self.subTest(run=run):
                chunks = list(ledger.frames(path.read_bytes()))
                self.assertEqual({attempt for attempt, *_ in chunks}, {1})
                for *_, payload in chunks:
                    _, rows, found = ledger.columns(payload)
                    self.assertGreater(rows, 0)
                    self.assertGreaterEqual(len(found), columns)

    def test_lists_in_ledgers_begin_with_their_lengths(self):
        [path] = (self.run_folder("teacher") / "parts").iterdir()
        with h5py.File(self.run_folder("teacher") / "results.h5") as file:
            tokens = file["samples/n_tokens"][:]
            ids = file["arrays/samples/token_ids/values"][:]
        ends = tokens.cumsum()
        seen = 0
        for *_, payload in ledger.frames(path.read_bytes()):
            first, rows, (lengths, _, lists, *_) = ledger.columns(payload)
            mine = tokens[first:first + rows]
            of_rows = ids[ends[first] - tokens[first]:ends[first + rows - 1]]
            self.assertEqual(lengths, mine.tobytes())
            self.assertEqual(lists, mine.astype("<u8").tobytes() + of_rows.tobytes())
            seen += rows
        self.assertEqual(seen, len(tokens))

    def add_columns(self, path):
        """Adds what a later version might: a column of each kind, an attribute, a table."""
        with h5py.File(path, "r+") as file:
            rows = len(file["samples/id"])
            file["samples"]["later"] = list(range(rows))
            file["arrays/samples/later_list/values"] = list(range(rows))
            file["arrays/samples/later_list/row_offsets"] = list(range(rows + 1))
            file["later_table/value"] = [1.0]
            file.attrs["later"] = 1

    def later(self, run):
        """Returns a copy of a run whose results have more columns."""
        folder = self.folder / f"later_{run}"
        shutil.copytree(self.run_folder(run), folder)
        self.add_columns(folder / "results.h5")
        return folder

    def test_exports_read_files_with_more_columns(self):
        for run, kind, out in (("teacher", "padded-h5", "teacher_logits.h5"),
                               ("classify", "csv", "results.csv")):
            folder = self.later(run)
            self.call("--export", kind, str(folder))
            self.assertEqual((folder / out).read_bytes(), (self.copy_of(run) / out).read_bytes())
        self.call("--export", "jsonl", str(folder))
        for row, text in enumerate((folder / "results.jsonl").read_text().splitlines()):
            self.assertEqual((json.loads(text)["later"], json.loads(text)["later_list"]),
                             (row, [row]))

    def merged(self, *folders):
        told = self.call("--merge", *map(str, folders))
        return (self.folder / re.search(r"merged (.*results\.h5)", told)[1]).read_bytes()

    def test_parts_with_more_columns_are_merged(self):
        parts = ("part_0", "part_1")
        self.assertEqual(self.merged(*map(self.later, parts)),
                         self.merged(*map(self.run_folder, parts)))

    def test_json_lines_have_all_columns(self):
        text = (self.copy_of("generate") / "results.jsonl").read_text()
        [columns] = [columns for run, _, table, _, columns in tables_of_page()
                     if (run, table) == ("generate", "samples")]
        self.assertEqual(set(json.loads(text.splitlines()[0])), set(columns))
