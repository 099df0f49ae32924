"""Tests that the byte script finds differences that are planted in made files."""
import json
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from compare_bytes import chosen_cases
from compare_files import compare_runs
from expected_differences import read_expectations, unmet
from spelling import Words, spelling_of

COLUMNS = ("id", "reason", "loss")


def write_tensors(path, tensors, metadata=None):
    header, data = {"__metadata__": metadata or {"format": "pt"}}, b""
    for name, values in tensors.items():
        kind = {"float32": "F32", "float16": "F16"}[values.dtype.name]
        header[name] = {"dtype": kind, "shape": values.shape,
                        "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_results(path):
    with h5py.File(path, "w") as file:
        file.attrs["job"] = "generate"
        file.create_group("run").attrs["keys"] = "data.path: a\nrun.seed: 0\n"
        table = file.create_group("samples")
        table.attrs["column-order"] = COLUMNS[1:]
        table["id"] = numpy.arange(5, dtype="int32")
        table["reason"] = numpy.array(["ab", "c", "", "d", "e"], h5py.string_dtype())
        table["loss"] = numpy.linspace(0, 1, 5, dtype="float32")
        table["loss"].attrs["units"] = "nats"
        table["loss"].attrs["crc32c"] = numpy.uint32(1)


class TwoRuns(unittest.TestCase):
    """An old run folder and a copy, into which a test plants a difference."""

    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="mgpu_bytes."))
        self.addCleanup(shutil.rmtree, self.top)
        self.old, self.new = self.top / "old", self.top / "new"
        (self.old / "ckpt" / "last").mkdir(parents=True)
        write_results(self.old / "results.h5")
        self.weights = {"b.0.w": numpy.ones((3, 4), "float32"), "b.1.w": numpy.zeros(2, "float32")}
        write_tensors(self.old / "ckpt/last/model.safetensors", self.weights)
        (self.old / "ckpt/last/config.json").write_text('{"a": {"b": 1.50}, "c": [1, 2]}')
        (self.old / "results.jsonl").write_text('{"id": 0, "loss": 0.50}\n{"id": 1}\n')
        (self.old / "results.csv").write_text("text,response_time\na,0.25\n")
        (self.old / "summary.json").write_text("1")
        shutil.copytree(self.old, self.new)

    def compare(self, expected=""):
        """Returns the Comparison, and the expectations that did not occur."""
        expectations = read_expectations(expected)
        result = compare_runs("generate.1", self.old, self.new, expectations)
        return result, [one.line for one in unmet(expectations, ["generate.1"])]

    def results(self):
        return h5py.File(self.new / "results.h5", "r+")

    def rewrite(self, name, old, new):
        path = self.new / name
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new))

    def assert_only(self, *beginnings, expected=""):
        """Asserts that these are the differences, and that everything expected occurs."""
        result, missing = self.compare(expected)
        self.assertEqual(len(result.differences), len(beginnings), result.differences)
        for text, beginning in zip(result.differences, beginnings):
            self.assertIn(beginning, text)
        self.assertEqual(missing, [])


class Noticed(TwoRuns):

    def test_copies_are_equal_and_all_of_them_is_counted(self):
        (self.new / "summary.json").write_text("2")  # a record of how the run went

        result, _ = self.compare()

        self.assertEqual(result.differences, [])
        self.assertEqual((result.files, result.data_sets, result.attributes), (5, 9, 9))

    def test_a_byte_in_a_data_set(self):
        with self.results() as file:
            file["samples/loss"][3] = numpy.nextafter(numpy.float32(0.75), numpy.float32(1))
        self.assert_only("results.h5: samples/loss: b'")

    def test_a_checksum_without_its_data_set(self):
        with self.results() as file:
            file["samples/loss"].attrs["crc32c"] = numpy.uint32(2)
        self.assert_only("results.h5: samples/loss@crc32c: ")
        with self.results() as file:
            file["samples/loss"][0] = 1
        self.assert_only("results.h5: samples/loss: ")

    def test_a_missing_and_an_added_column(self):
        with self.results() as file:
            del file["samples/id"]
            file["samples/status"] = [1]
        self.assert_only("results.h5: samples/id: in the old file only",
                         "results.h5: samples/status: in the new file only")

    def test_another_type_with_the_same_bytes(self):
        with self.results() as file:
            values = file["samples/id"][:]
            del file["samples/id"]
            file["samples/id"] = values.view("uint32")
        self.assert_only("results.h5: samples/id: type <i4 -> <u4")

    def test_another_shape_with_the_same_bytes(self):
        with self.results() as file:
            values = file["samples/id"][:]
            del file["samples/id"]
            file["samples/id"] = values.reshape(5, 1)
        self.assert_only("results.h5: samples/id: shape (5,) -> (5, 1)")

    def test_texts_that_are_cut_elsewhere(self):
        with self.results() as file:
            file["samples/reason"][:2] = ["a", "bc"]
        self.assert_only("results.h5: samples/reason: ")

    def test_attributes_and_the_order_of_columns(self):
        with self.results() as file:
            file.attrs["job"] = "teacher"
            file["samples/loss"].attrs["units"] = "bits"
            file["samples"].attrs["column-order"] = ["loss", "reason"]
            file["samples"].attrs["more"] = 1
        self.assert_only("results.h5: @job: ", "samples/loss@units: ", "samples@column-order: ",
                         "samples@more: in the new file only")

    def test_a_key_of_the_configuration(self):
        with self.results() as file:
            file["run"].attrs["keys"] = "data.path: a\nrun.seed: 1\n"
        self.assert_only("results.h5: run@keys:run.seed: b'0' -> b'1'")

    def test_a_group_without_anything_in_it(self):
        with self.results() as file:
            file.create_group("arrays")
        self.assert_only("results.h5: arrays: in the new file only")

    def test_a_weight_its_type_and_its_name(self):
        path = self.new / "ckpt/last/model.safetensors"
        changed = self.weights | {"b.0.w": self.weights["b.0.w"].copy()}
        changed["b.0.w"][2, 3] += 1e-7
        write_tensors(path, changed)
        self.assert_only("ckpt/last/model.safetensors: b.0.w: 1 of 48 bytes differ")
        write_tensors(path, {"b.0.w": self.weights["b.0.w"].astype("float16"),
                             "c": self.weights["b.1.w"]})
        self.assert_only("b.0.w: type F32 -> F16", "b.1.w: in the old", "c: in the new")

    def test_metadata_of_weights(self):
        write_tensors(self.new / "ckpt/last/model.safetensors", self.weights, {"format": "np"})
        self.assert_only("model.safetensors: __metadata__@format: b'pt' -> b'np'")

    def test_a_file_on_one_side(self):
        (self.new / "results.csv").unlink()
        (self.new / "ckpt/last/more.txt").write_text("")
        self.assert_only("ckpt/last/more.txt: in the new run only",
                         "results.csv: in the old run only")

    def test_numbers_that_are_written_otherwise(self):
        self.rewrite("results.jsonl", "0.50", "0.5")
        self.rewrite("ckpt/last/config.json", "1.50", "1.5")
        self.assert_only("config.json: a.b: ", "results.jsonl: loss: ")

    def test_other_bytes_of_equal_items(self):
        self.rewrite("ckpt/last/config.json", '"c": ', '"c":')
        self.assert_only("config.json: (bytes): ")

    def test_clocked_columns_are_left_out_alone(self):
        self.rewrite("results.csv", "0.25", "0.5")
        self.assert_only()
        self.rewrite("results.csv", "\na,", "\nb,")
        self.assert_only("results.csv: text: ")
        self.rewrite("results.csv", "response_time", "time")
        self.assert_only("response_time: in the old", "text: ", "time: in the new")


class Stages(unittest.TestCase):

    def test_stages_are_compared_but_not_where_they_are(self):
        with tempfile.TemporaryDirectory() as top:
            runs = []
            for side, date in (("old", "2026-01-02_03-04-05"), ("new", "2026-01-02_03-04-06")):
                output = pathlib.Path(top) / side
                stage = output / "graph/stages/a/latest"
                stage.mkdir(parents=True)
                runs.append(output / "graph" / date)
                runs[-1].mkdir()
                self.write(stage, f"{output}/b/{date}/ckpt/last")
            self.assertEqual(compare_runs("experiment.2", *runs, []).differences, [])
            self.write(stage, f"{output}/c/{date}/ckpt/last")
            found = compare_runs("experiment.2", *runs, []).differences
            self.assertEqual(len(found), 1, found)
            self.assertIn("stages/a/latest/keys.json: model.path: ", found[0])

    @staticmethod
    def write(stage, path):
        (stage / "keys.json").write_text(json.dumps({"model": {"path": path}}))


class Expected(TwoRuns):

    def rename_columns(self):
        with self.results() as file:
            file.move("samples/reason", "samples/why")
            file["samples"].attrs["column-order"] = ["why", "loss"]

    def test_a_renamed_column_is_compared_with_its_new_self(self):
        line = "renamed * results.h5 samples/reason samples/why"
        self.rename_columns()
        self.assert_only(expected=line)
        with self.results() as file:
            file["samples/why"][4] = "f"
        self.assert_only("results.h5: samples/why: ", expected=line)

    def test_columns_of_one_side(self):
        with self.results() as file:
            del file["samples/loss"]
            file["samples/status"] = [1]
            file["samples"].attrs["column-order"] = ["status", "reason"]
        self.assert_only(expected="old-only gen* * samples/loss  # in it: units\n"
                                  "new-only generate.1 results.h5 samples/st*")

    def test_a_key_with_another_name(self):
        with self.results() as file:
            file["run"].attrs["keys"] = "data.source: a\nrun.seed: 0\n"
        self.assert_only(expected="renamed * *.h5 run@keys:data.path run@keys:data.source")

    def test_other_values(self):
        with self.results() as file:
            file["samples/loss"][0] = 2
            file["samples/loss"].attrs["units"] = "bits"
        self.assert_only(expected="differs * results.h5 samples/loss")
        self.assert_only("samples/loss: ", expected="differs * results.h5 samples/loss@units")

    def test_layers_with_another_name(self):
        layers = {name.replace("b.", "layers."): value for name, value in self.weights.items()}
        write_tensors(self.new / "ckpt/last/model.safetensors", layers)
        self.assert_only(expected="renamed * ckpt/*/model.safetensors b layers")

    def test_a_whole_file(self):
        (self.new / "results.csv").unlink()
        self.assert_only(expected="old-only * results.csv .")

    def test_what_does_not_occur_is_named(self):
        lines = ["renamed * results.h5 samples/reason samples/why",
                 "old-only * results.h5 samples/loss",
                 "new-only * results.h5 samples/status", "differs * results.h5 samples/*",
                 "differs generate.1 results.h5 (bytes)"]
        result, missing = self.compare("\n".join([*lines, "differs teacher.* * *"]))
        self.assertEqual(result.differences, [])
        self.assertEqual(missing, lines)  # excludes a case that did not run

    def test_a_rename_to_nothing_is_a_difference(self):
        with self.results() as file:
            del file["samples/reason"]
        line = "renamed * results.h5 samples/reason samples/why"
        result, missing = self.compare(line)
        self.assertIn("results.h5: samples/why: in the old file only", result.differences)
        self.assertEqual(missing, [line])

    def test_lines_that_cannot_be_read(self):
        for line in ("renamed * results.h5 a", "differs * results.h5 a b", "other * * *"):
            with self.assertRaisesRegex(ValueError, "line 2"):
                read_expectations("# said first\n" + line)


class Spelling(unittest.TestCase):

    def setUp(self):
        pairs = ["data.little=data.made", "guide004=padded", "train.pass=recipe.pass"]
        self.old, self.new = (Words(spelling_of(pairs, is_new)) for is_new in (False, True))

    def test_each_program_has_its_own_words(self):
        for given in ("data.little=3", "data.made=3"):
            self.assertEqual(self.old.of(given), "data.little=3")
            self.assertEqual(self.new.of(given), "data.made=3")
        self.assertEqual(self.new.of("guide004"), "padded")
        self.assertEqual(self.new.of("--only=0/2"), "--only=0/2")
        self.assertEqual(self.new.failpoint("train.pass@0:5:sleep"), "recipe.pass@0:5:sleep")

    def test_configurations_have_each_programs_keys(self):
        try:
            import yaml
        except ImportError as error:
            self.skipTest(str(error))
        text = "data: {little: 3, path: x}\ntrain: {learning_rate: 2e-3}\n"
        made = yaml.safe_load(self.new.config(text))
        self.assertEqual(made["data"], {"made": 3, "path": "x"})
        self.assertIn("learning_rate: 2e-3\n", self.new.config(text))
        self.assertEqual(Words({}).config(text), text)


class Choice(unittest.TestCase):

    def test_jobs_and_patterns_choose_cases(self):
        names = [case.name for case in chosen_cases("teacher,generate.p*", is_quick=False)]
        self.assertIn("teacher.tensor", names)
        self.assertIn("generate.pipeline", names)
        self.assertNotIn("generate.1", names)
        quick = chosen_cases("*", is_quick=True)
        self.assertEqual({case.job for case in quick},
                         {"ad", "sft", "distill", "dpo", "kto", "grpo", "reward", "value", "prm",
                          "generate", "teacher", "classify", "collect"})

    def test_a_word_that_fits_no_case(self):
        with self.assertRaisesRegex(ValueError, "no case is called train"):
            chosen_cases("ad,train", is_quick=False)

    def test_no_case_at_all(self):
        with self.assertRaisesRegex(ValueError, "none of ad.1 is a quick case"):
            chosen_cases("ad.1", is_quick=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
