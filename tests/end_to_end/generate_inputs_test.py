"""Tests which inputs job generate reads, and which it refuses."""
import json

from generate_case import CONFIG, GREEDY, GenerateCase
import program
import tiny_lm


class Inputs(GenerateCase):
    """Tests rows of files other than JSON lines, and rows that cannot be used."""

    def test_a_table_gives_the_bytes_of_its_lines(self):
        texts = ["the cat", "sat on", "a mat", "and saw the dog"]
        lines = tiny_lm.write_rows(self.folder / "l.jsonl", [{"prompt": text} for text in texts])
        self.generate(0, 1, f"data.path={lines}")
        golden = self.rows()
        self.start_over()
        table = self.folder / "t.csv"
        table.write_text("n,say\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
        self.generate(0, 2, f"data.path={table}", "data.columns.prompt=say")
        self.assertEqual(self.rows(), golden)
        self.start_over()
        listed = self.folder / "l.json"
        listed.write_text(json.dumps([{"prompt": text} for text in ["x"] + texts + ["y"]]))
        self.generate(0, 2, f"data.path={listed}", "data.start=1", "data.max_samples=4")
        self.assertEqual(self.rows(), golden)

    def test_few_prompts_are_shared_by_all_ranks(self):
        few = tiny_lm.write_rows(self.folder / "few.jsonl", [{"prompt": "a" * n}
                                                             for n in range(1, 18)])
        keys = (f"data.path={few}",)
        config = self.folder / "few.yaml"
        config.write_text(CONFIG.read_text().replace(", chunk_size: 4", ""))
        self.run_to(0, 2, *self.keys(*keys), config=config)
        resolved = (self.run_folder() / "repro/config.resolved.yaml").read_text()
        self.assertIn("  chunk_size: 1\n", resolved)
        golden = self.sha256()
        self.start_over()
        self.generate(0, 1, f"data.path={few}", "run.chunk_size=1")
        self.assertEqual(self.sha256(), golden)
        self.start_over()
        keys += ("run.chunk_size=auto", "data.max_samples=2")
        ended = self.generate(0, 3, *keys)
        idle = "1 of 3 ranks have nothing to do: there are 2 chunks"
        self.assertEqual(ended.out.count(idle), 2, ended.out)  # at the beginning and at the end
        self.assertIn(idle, self.generate(0, 1, "--plan", *keys, "devices.world=3").out)

    def test_prompts_beyond_the_context_are_counted_and_may_be_refused(self):
        rows = tiny_lm.write_rows(self.folder / "long.jsonl",  # the model was made for 64 tokens
                                  [{"prompt": "a"}, {"prompt": "b" * 70}, {"prompt": "c" * 80}])
        keys = (f"data.path={rows}", *GREEDY)
        ended = self.generate(0, 1, *keys)
        self.assertEqual(ended.out.count("2 rows are longer than the 64 tokens"), 1, ended.out)
        self.assertIn("prompts longer than the model was made for",
                      (self.run_folder() / "report.html").read_text())
        self.generate(1, 1, *keys, "generate.beyond_context=mark")
        marked = self.rows()
        self.assertEqual([row["status"] for row in marked], ["ok", "too_long", "too_long"])
        self.assertIn("made for 64 (max_position_embeddings)", marked[1]["reason"])
        self.refuse((65, ["E531", "long.jsonl:2: ", "long.jsonl:3: "], *keys,
                     "generate.beyond_context=stop"), ranks=1)

    def test_marked_rows_are_failed_samples_with_their_reason(self):
        path = self.folder / "bad.jsonl"
        path.write_text('{"prompt": "a"}\n{"prompt": 3}\n{"token_ids": [67]}\n\n'
                        '{"prompt": "b"}\n')
        ended = self.generate(1, 2, f"data.path={path}", "data.on_bad_row=mark",
                              "run.chunk_size=1")
        self.assertIn("6 samples failed", ended.out)
        rows = self.rows()
        self.assertEqual([row["reason"] for row in rows[2:8]], [
            "`prompt` is not a text"] * 2 + [
            "token 67 is not in the model's vocabulary of 67"] * 2 + ["it is an empty line"] * 2)
        self.assertEqual([row["prompt_ids"] for row in rows[2:8]], [[]] * 6)
        self.assertEqual([row["status"] for row in rows], ["ok"] * 2 + ["bad_row"] * 6 + ["ok"] * 2)
        self.assertEqual({row["finish"] for row in rows[2:8]}, {"none"})
        self.assertEqual({row["reason"] for row in rows[:2] + rows[8:]}, {""})
        golden = self.sha256()
        self.start_over()
        self.generate(1, 1, f"data.path={path}", "data.on_bad_row=mark", "run.chunk_size=1")
        self.assertEqual(self.sha256(), golden)
        self.start_over()
        ended = self.generate(0, 1, "--check", f"data.path={path}", "data.on_bad_row=mark")
        self.assertIn("5 prompts, 4 tokens, the longest 2; 3 rows cannot be used", ended.out)

    def test_a_file_of_bad_rows_alone_ends_with_failed_samples(self):
        path = self.folder / "bad.jsonl"
        path.write_text('{}\n{}\n')
        self.generate(1, 1, f"data.path={path}", "data.on_bad_row=mark")
        self.assertEqual({row["reason"] for row in self.rows()},
                         {"it has none of `prompt`, `messages` and `token_ids`"})

    def test_columns_of_the_rows_are_kept(self):
        rows = [{"prompt": "a", "id": "x-1", "label": 3, "source": {"page": [1, 2]}},
                {"prompt": "b", "id": "x-2", "label": None, "source": "b, \u00fc"}]
        path = tiny_lm.write_rows(self.folder / "own.jsonl", rows)
        keys = (f"data.path={path}", "generate.num_samples=1", "generate.do_sample=false",
                "generate.temperature=auto", "generate.top_k=auto", "generate.top_p=auto")
        self.generate(0, 2, *keys)
        found = self.rows()
        self.assertEqual([row["row_id"] for row in found], ["x-1", "x-2"])
        self.assertEqual([row["row_label"] for row in found], ["3", ""])
        self.assertNotIn("row_source", found[0])
        self.start_over()
        self.generate(0, 1, *keys, "output.keep_columns=[source]")
        found = self.rows()
        self.assertEqual([row["row_source"] for row in found], ['{"page":[1,2]}', "b, \u00fc"])
        self.assertNotIn("row_id", found[0])
        self.start_over()
        table = self.folder / "own.csv"
        table.write_text("question,key\na,k1\nb,k2\n")
        csv = (f"data.path={table}", "data.columns.prompt=question", "data.columns.id=key", *keys[1:])
        self.generate(0, 2, *csv)
        self.assertEqual([row["row_id"] for row in self.rows()], ["k1", "k2"])
        self.refuse((65, ("E533", "no column `kex`", "output.keep_columns=[key]"), *csv,
                     "output.keep_columns=[kex]"),
                    (78, ("E107", "a name is there twice"), *csv, "output.keep_columns=[key, key]"))

    def test_a_column_that_is_not_there_is_named(self):
        path = self.folder / "t.csv"
        path.write_text("question\nthe cat\n")
        ended = self.generate(65, 2, f"data.path={path}")
        self.assertIn("error[E533]", ended.err)
        self.assertIn("it has `question`", ended.err)


class ChatTemplates(GenerateCase):
    """Tests data.chat_template when the folder has a template, too."""

    OTHER = "{% for m in messages %}{{ m.content }}.{% endfor %}"

    def setUp(self):
        super().setUp()
        self.prompts = tiny_lm.write_rows(self.folder / "chat.jsonl", [
            {"messages": [{"role": "user", "content": "the cat"}]}, {"prompt": "a mat"}])
        self.template = self.folder / "other.jinja"
        self.template.write_text(self.OTHER)

    def prompt_texts(self, *more):
        self.generate(0, 2, *more)
        return [row["prompt"] for row in self.rows()[::2]]

    def list_templates(self):
        path = self.model / "tokenizer_config.json"
        settings = json.loads(path.read_text())
        settings["chat_template"] = [{"name": "default", "template": tiny_lm.TEMPLATE},
                                     {"name": "short", "template": self.OTHER}]
        path.write_text(json.dumps(settings))

    def test_a_file_and_a_name_outrank_the_folders_own(self):
        self.assertEqual(self.prompt_texts()[0], "<s>user.the cat.assistant.")
        self.start_over()
        by_file = self.prompt_texts(f"data.chat_template={self.template}")
        self.assertEqual(by_file, ["the cat.", "a mat"])
        self.start_over()
        self.list_templates()
        self.assertEqual(self.prompt_texts("data.chat_template=short"), by_file)

    def test_another_text_of_the_file_is_never_mixed(self):
        row = {"messages": [{"role": "user", "content": "the cat"}]}
        tiny_lm.write_rows(self.prompts, [row] * 30)
        keys = (f"data.chat_template={self.template}", "generate.max_new_tokens=64",
                "run.chunk_size=1")
        self.generate(137, 2, *keys, env=program.failpoint("ledger.write:8:kill"))
        self.template.write_text("{{ messages[0].content }}")
        self.generate(0, 2, *keys)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual({row["prompt"] for row in self.rows()}, {"the cat"})

    def test_templates_that_cannot_be_used(self):
        self.list_templates()
        self.template.write_text("{% if %}")
        self.refuse((66, ("E603", "has `default`, `short`"), "data.chat_template=shrot"),
                    (66, ("E603", "nowhere/short"), "data.chat_template=nowhere/short"),
                    (65, ("E544", "other.jinja"), f"data.chat_template={self.template}"))
        self.template.write_text("")
        ended = self.generate(65, 1, f"data.chat_template={self.template}")
        self.assertIn("the chat template is empty", ended.err)
        ended = self.generate(65, 1, "data.chat_template=none")
        self.assertIn("chat.jsonl:1: it has messages", ended.err)


class Refusals(GenerateCase):

    def test_bad_rows_are_named_by_line(self):
        path = self.folder / "bad.jsonl"
        path.write_text('{"prompt": "a"}\n{"prompt": 3}\n{"text": "b"}\n{"prompt": "c"\n'
                        '{"prompt": "d", "token_ids": [1]}\n{"token_ids": []}\n'
                        '{"messages": []}\n')
        words = ("E531", "6 lines", "bad.jsonl:2: ", "bad.jsonl:3: ", "bad.jsonl:4: ",
                 "bad.jsonl:5: ", "bad.jsonl:6: ", "and 1 more")
        self.refuse((65, words, f"data.path={path}"))

    def test_rows_that_do_not_fit_the_model_are_named_by_line(self):
        rows = [{"token_ids": [1]}, {"token_ids": [67]}, {"prompt": ""}, {"prompt": "a"}]
        path = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        words = ("bad.jsonl:2: token 67 is not in the model's vocabulary of 67",)
        self.refuse((65, words, f"data.path={path}", "run.chunk_size=1"))

    def test_an_empty_file(self):
        path = self.folder / "empty.jsonl"
        path.write_text("")
        self.refuse((65, ("empty.jsonl:1: the file is empty",), f"data.path={path}"))

    def test_files_that_are_missing(self):
        self.refuse((66, ("E603", "absent"), f"model.path={self.folder}/absent"),
                    (66, ("E603", "absent.jsonl"), f"data.path={self.folder}/absent.jsonl"))
        self.assertFalse(self.output.exists())

    def test_keys_that_mean_nothing(self):
        tensor = "model.parallel=tensor"
        self.refuse((78, ("E124", "generate.temperature"), "generate.do_sample=false"),
                    (78, ("E124", "devices.groups=[1]"), "devices.groups=[1, 2]", tensor),
                    (78, ("E124", "model.device_map"), "model.device_map=auto", tensor))
        self.refuse((78, ("E126", "2 layers for 3 ranks"), "--gpus-per-model=3"), ranks=3)
        ended = self.run_program(1, config=CONFIG)
        self.assertEqual(ended.code, 78)
        self.assertEqual(ended.err.count("error[E114]"), 2, ended.err)

    def test_what_the_folder_asks_for_and_is_not_here_is_told(self):
        path = self.model / "generation_config.json"
        asked = json.loads(path.read_text()) | {"num_beams": 4, "min_p": 0.1, "typical_p": 1.0}
        path.write_text(json.dumps(asked))
        for keys, text in (((), "the folder's num_beams, min_p\n"),
                           (GREEDY, "the folder's num_beams\n")):
            self.assertIn(text, self.generate(0, 1, *keys).out)
            self.start_over()


if __name__ == "__main__":
    program.main()
