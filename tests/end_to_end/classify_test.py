"""Tests job classify, from a file of texts to results.h5 and its tables."""
import csv
import hashlib
import json
import shutil
import struct

import program
import report_page
import tiny_lm

CONFIG = program.HERE / "classify.yaml"
STRATEGIES = {"strategies": {
    "short": {"system_prompt": "Say what it is", "user_template": "the text {text} is"},
    "grouped": {"user_template": "{target_group} {text}",
                "parameters": {"max_tokens": 8, "temperature": 1.5}}}}


def texts(count):
    words = "the cat sat on a mat and saw the dog run".split()
    groups = ("lgbtq", "mexican", "middle_east")
    return [{"text": " ".join(words[i % 7:i % 7 + 1 + i % 4]), "label": ("normal", "hate")[i % 2],
             "target_group": groups[i % 3], "source_dataset": "made"} for i in range(count)]


def single(number):
    """Returns `number` rounded to float32."""
    return struct.unpack("f", struct.pack("f", number))[0]


class ClassifyCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.data = tiny_lm.write_rows(self.folder / "texts.jsonl", texts(30))
        self.prompts = self.folder / "prompts.json"
        self.prompts.write_text(json.dumps(STRATEGIES))

    def keys(self, *more):
        given = {key.split("=")[0] for key in more}
        keys = {"model.path": self.model, "data.path": self.data, "classify.prompt": self.prompts,
                "classify.strategy": "short", "data.columns.group": "target_group"}
        return [f"{key}={value}" for key, value in keys.items() if key not in given] + list(more)

    def classify(self, code, ranks, *more, **options):
        return self.run_to(code, ranks, *self.keys(*more), config=CONFIG, **options)

    def rows(self):
        folder = self.run_folder()
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    def sha256(self):
        return hashlib.sha256((self.run_folder() / "results.h5").read_bytes()).hexdigest()

    def start_over(self):
        shutil.rmtree(self.output)


class ChatTemplates(ClassifyCase):

    def test_a_template_of_a_file(self):
        template = self.folder / "plain.jinja"
        template.write_text("{{ messages[0].content }}\n\n{{ messages[1].content }}")
        self.classify(0, 1, "data.chat_template=auto")
        of_folder = [row["n_prompt_tokens"] for row in self.rows()]
        self.start_over()
        self.classify(0, 2, f"data.chat_template={template}")
        of_file = [row["n_prompt_tokens"] for row in self.rows()]
        self.start_over()
        self.classify(0, 1)  # without a template: the same text after <s>
        plain = [row["n_prompt_tokens"] for row in self.rows()]
        self.assertEqual(of_file, [count - 1 for count in plain])
        self.assertNotEqual(of_file, of_folder)


class Labels(ClassifyCase):

    def test_the_same_bytes_at_1_2_and_3_ranks_and_after_kills(self):
        self.classify(0, 1)
        golden = self.sha256()
        for ranks in (2, 3):
            self.start_over()
            self.classify(0, ranks, "classify.batch_size=3")
            self.assertEqual(self.sha256(), golden, ranks)
        for place in ("ledger.write:3", "rows.verify:1", "results.write:1"):
            self.start_over()
            self.classify(137, 2, env=program.failpoint(f"{place}:kill"))
            self.classify(0, 3)
            self.assertEqual(self.sha256(), golden, place)
        self.start_over()
        self.classify(0, 2, "devices.gpus_per_model=2")
        self.assertEqual(self.sha256(), golden)

    def test_scores_are_those_of_job_generate_and_metrics_those_of_the_rows(self):
        self.classify(0, 2)
        rows = self.rows()
        self.assertEqual([row["id"] for row in rows], list(range(30)))
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        right = sum(row["true"] == row["pred"] for row in rows)
        self.assertAlmostEqual(summary["results"]["accuracy"]["value"], right / 30)
        self.start_over()

        joint = [{"prompt": f"Say what it is\n\nthe text {row['input_text']} is {label}"}
                 for row in rows for label in ("normal", "hate")]
        path = tiny_lm.write_rows(self.folder / "joint.jsonl", joint)
        self.run_to(0, 2, f"model.path={self.model}", f"data.path={path}",
                    "generate.max_new_tokens=0", config=program.HERE / "generate.yaml")
        scored = self.rows()
        for i, row in enumerate(rows):
            scores = [sum(map(single, scored[2 * i + l]["prompt_log_probs"][-len(f" {label}"):]))
                      for l, label in enumerate(("normal", "hate"))]
            self.assertEqual(row["label_scores"], scores)
            self.assertEqual(row["pred"], max(range(2), key=lambda l: scores[l]))
            self.assertEqual(row["score"], max(scores))
            self.assertEqual(row["margin"], max(scores) - min(scores))

    def test_bad_rows_are_marked_with_their_reason(self):
        rows = texts(6)
        del rows[2]["target_group"]
        rows[4]["label"] = "other"
        path = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        keys = (f"data.path={path}", "classify.strategy=grouped")
        ended = self.classify(65, 1, *keys)
        self.assertIn("E531", ended.out + ended.err)
        self.classify(1, 2, *keys, "data.on_bad_row=mark")
        found = self.rows()
        self.assertEqual([row["status"] for row in found],
                         ["ok", "ok", "bad_row", "ok", "bad_row", "ok"])
        self.assertIn("target_group", found[2]["reason"])
        self.assertIn("which is none of ", found[4]["reason"])
        self.assertEqual([row["pred"] for row in found if row["status"] == "bad_row"], [-1, -1])

    def test_labels_of_a_table_have_names_and_the_prompt_is_a_text(self):
        table = self.folder / "tweets.csv"
        table.write_text("class,tweet\n0,the cat\n1,a mat\n2,on a mat\n0,dog\n")
        keys = (f"data.path={table}", "data.columns.text=tweet", "data.columns.label=class",
                "data.columns.group=null", "classify.prompt=say {tweet} or {text} so",
                "classify.strategy=null")
        ended = self.classify(65, 1, *keys, "classify.labels={hate: 0, rude: 1}")
        self.assertIn('tweets.csv:4: `class` is "2", which is none of "0" (hate), "1" (rude)',
                      ended.err)
        self.classify(0, 2, *keys, "classify.labels={hate: 0, rude: 1, none: 2}")
        self.assertEqual([row["true_label"] for row in self.rows()],
                         ["hate", "rude", "none", "hate"])
        page = report_page.read(self, self.run_folder())
        for label in ("hate", "rude", "none"):
            self.assertIn(f"ROC curve of {label}", page.headings)
        self.assertIn("Each label, with 95 % intervals (Wilson)", page.captions)
        self.assertIn("What was set", page.captions)

    def test_long_texts_are_cut_and_prompts_stay_whole(self):
        path = tiny_lm.write_rows(self.folder / "long.jsonl",
                                  [{"text": letter * count, "target_group": "g"}
                                   for letter, count in (("a", 400), ("b", 20))])
        self.classify(0, 1, f"data.path={path}", "data.max_length=80")
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["truncated", "ok"])
        # The prompt with the longer label has exactly the allowed length.
        self.assertEqual(rows[0]["n_prompt_tokens"] + len(" normal"), 80)


    def test_what_a_killed_run_has_can_be_merged(self):
        self.classify(137, 1, "output.text=false", env=program.failpoint("ledger.write:4:kill"))
        merged = self.run_to(0, 1, "--merge", str(self.run_folder()), config=None)
        self.assertRegex(merged.out, r"labels +\d+ of 30 samples")
        rows = self.rows()
        self.assertTrue(0 < len(rows) < 30)
        self.assertNotIn("input_text", rows[0])
        self.classify(0, 2, "output.text=false")
        self.assertEqual(len(self.rows()), 30)


class Parts(ClassifyCase):
    """Runs that each do one part, and their result after --merge."""

    def golden_of(self, *keys):
        self.classify(0, 1, *keys)
        golden = self.sha256()
        self.start_over()
        return golden

    def make_parts(self, count, *keys, ranks=1):
        folders = []
        for part in range(count):
            ended = self.classify(0, ranks, f"--only={part}/{count}", *keys)
            self.assertIn(f"part {part} of {count}", ended.out)
            folders.append(self.run_folder())
        return folders

    def merge(self, code, *folders):
        return self.run_to(code, 2, "--merge", *map(str, folders), config=None)

    def test_merged_parts_are_the_bytes_of_one_run(self):
        for keys in ((), ("classify.score=generate", "classify.strategy=grouped")):
            golden = self.golden_of(*keys)
            folders = self.make_parts(3, *keys, ranks=2)
            self.assertEqual(self.num_runs(), 3)
            for folder in folders:
                self.assertEqual((folder / "results.h5").read_bytes().count(b"macro_f1"), 0)
                self.assertIn(b"partial", (folder / "results.h5").read_bytes())
                self.assertFalse((folder / "rows.h5.part").exists())
            merged = self.merge(0, *reversed(folders))
            self.assertEqual(self.sha256(), golden, keys)
            self.assertRegex(merged.out, r"labels +30 of 30 samples")
            self.assertGreater(
                (self.run_folder() / "results.h5").read_bytes().count(b"macro_f1"), 0)
            self.start_over()

    def test_more_parts_than_chunks(self):
        golden = self.golden_of("run.chunk_size=20")
        folders = self.make_parts(3, "run.chunk_size=20")  # of two chunks
        self.merge(0, *folders)
        self.assertEqual(self.sha256(), golden)

    def test_what_is_missing_is_named_and_a_killed_part_goes_on(self):
        golden = self.golden_of()
        self.classify(137, 1, "--only=1/2", env=program.failpoint("ledger.write:3:kill"))
        killed = self.run_folder()
        self.classify(0, 1, "--only=0/2")
        first = self.run_folder()
        ended = self.merge(65, first, killed)
        self.assertIn("not finished", ended.err)
        self.classify(0, 2, "--only=1/2")
        self.assertEqual(self.num_runs(), 2)
        ended = self.merge(65, first, first)
        self.assertIn("part 1 of 2", ended.err)
        self.merge(0, first, killed)
        self.assertEqual(self.sha256(), golden)

    def test_the_plan_of_a_part(self):
        part = json.loads(self.classify(0, 1, "--plan=json", "--only=1/2", "devices.world=2").out)
        self.assertEqual([share["count"] for share in part["shares"]], [8, 6])
        self.assertIn("this run does part 1 of 2: 14 of 30 samples", part["notes"])


class Pictures(ClassifyCase):
    PARTS = ["Confusion", "Calibration", "Distribution of scores", "Errors of each group",
             "ROC curve of hate"]

    def page(self):
        return report_page.read(self, self.run_folder())

    def test_the_page_has_each_part_and_earlier_runs_beside_this_one(self):
        self.classify(0, 1, "classify.batch_size=4", "classify.positive=hate")
        page = self.page()
        for part in self.PARTS:
            self.assertIn(part, page.headings)
        self.assertNotIn("Samples per second, by ranks and batch", page.headings)  # of one run
        self.assertIn("The most confident mistakes", page.captions)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["series"]["speed/batch"], [4.0])
        self.assertEqual(sum(summary["series"]["roc/true_positive_rate"][-1:]), 1.0)
        self.classify(0, 2, "classify.batch_size=3", "classify.positive=hate")
        self.assertIn("1 rank, batch 4", self.page().words)
        self.assertIn("2 ranks, batch 3", self.page().words)
        # Other texts make another run, whose speed is not comparable.
        other = tiny_lm.write_rows(self.folder / "other.jsonl", texts(20))
        self.classify(0, 1, f"data.path={other}", "classify.batch_size=2",
                      "classify.positive=hate")
        self.assertNotIn("1 rank, batch 4", self.page().words)

    def test_a_damaged_summary_of_an_earlier_run_is_no_point(self):
        self.classify(0, 1)
        (self.run_folder() / "summary.json").write_text("{")
        self.classify(0, 1)
        self.assertNotIn("Samples per second, by ranks and batch", self.page().headings)

    def test_generated_answers_have_no_scores(self):
        self.classify(0, 2, "classify.score=generate", "classify.strategy=grouped")
        page = self.page()
        self.assertIn("there is no ROC curve", page.text)
        self.assertIn("Confusion", page.headings)
        self.assertNotIn("Calibration", page.headings)
        self.assertIn("log-probability of the answer", page.words)

    def test_rows_without_truth_single_rows_and_resumed_runs_have_a_page(self):
        for rows, words in (([{"text": "a cat", "target_group": "g"}], "No row has a true label"),
                            ([{"text": "a cat", "target_group": "g", "label": "hate"}], "Calibration")):
            path = tiny_lm.write_rows(self.folder / "few.jsonl", rows)
            self.classify(0, 2, f"data.path={path}")
            self.assertIn(words, self.page().text)
        self.start_over()
        self.classify(137, 2, env=program.failpoint("results.write:1:kill"))
        self.classify(0, 1)
        self.assertIn("Confusion", self.page().headings)


class Answers(ClassifyCase):

    def test_generated_answers_have_the_same_bytes_at_any_rank_count(self):
        keys = ("classify.score=generate", "classify.strategy=grouped",
                "classify.on_unparsed=retry")
        ended = self.classify(0, 1, *keys)
        golden = self.sha256()
        rows = self.rows()
        self.assertIn("texts: unknown", ended.out)
        self.assertTrue(all(row["predicted_label"] == "unknown" for row in rows
                            if row["pred"] == -1))
        self.assertTrue(all(row["n_output_tokens"] > 0 for row in rows))
        self.start_over()
        self.classify(0, 3, *keys, "classify.batch_size=3")
        self.assertEqual(self.sha256(), golden)
        self.start_over()
        refused = self.classify(65, 1, *keys[:2], "classify.on_unparsed=error")
        self.assertIn("E537", refused.out + refused.err)

    def test_columns_of_the_csv_export(self):
        self.classify(0, 2)
        folder = self.run_folder()
        ended = self.run_to(0, 1, "--export", "csv", str(folder), config=None)
        self.assertIn("note: a spreadsheet takes a cell that begins with =", ended.out)
        with (folder / "results.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), [
            "strategy", "input_text", "true_label", "predicted_label", "response_time",
            "rationale", "target_group_norm", "persona_tag", "source_dataset", "status"])
        self.assertEqual(len(rows), 30)
        self.assertEqual(rows[4]["input_text"], texts(30)[4]["text"])
        self.assertEqual(rows[4]["target_group_norm"], "mexican")
        self.assertEqual(rows[4]["status"], "success")
        self.assertTrue(all(float(row["response_time"]) > 0 for row in rows))


if __name__ == "__main__":
    program.main()
