"""Job generate, from a file of prompts to results.h5 and its JSON lines."""
import hashlib
import json
import shutil
import signal

import program
import tiny_lm

CONFIG = program.HERE / "generate.yaml"
GREEDY = ("generate.do_sample=false", "generate.temperature=auto", "generate.num_samples=1")


class GenerateCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.model = tiny_lm.make_folder(self.folder / "model")
        self.prompts = tiny_lm.write_rows(self.folder / "prompts.jsonl", tiny_lm.mixed_rows(30))

    def keys(self, *more):
        given = {key.split("=")[0] for key in more}
        keys = {"model.path": self.model, "data.path": self.prompts}
        return [f"{key}={value}" for key, value in keys.items() if key not in given] + list(more)

    def generate(self, code, ranks, *more, **options):
        return self.run_to(code, ranks, *self.keys(*more), config=CONFIG, **options)

    def start_generate(self, ranks, *more, **options):
        return self.start(ranks, *self.keys(*more), config=CONFIG, **options)

    def rows(self):
        """What --export makes of the newest run."""
        folder = self.run_folder()
        self.run_to(0, 1, "--export", "jsonl", str(folder), config=None)
        lines = (folder / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def sha256(self):
        return hashlib.sha256((self.run_folder() / "results.h5").read_bytes()).hexdigest()

    def start_over(self):
        shutil.rmtree(self.output)


class Results(GenerateCase):

    def test_one_row_per_prompt_and_sample_in_the_order_of_the_input(self):
        self.generate(0, 2)
        rows = self.rows()
        self.assertEqual([(row["prompt_index"], row["sample"]) for row in rows],
                         [(i, s) for i in range(30) for s in range(2)])
        self.assertEqual([row["id"] for row in rows], list(range(60)))
        self.assertEqual(rows[0]["prompt"], "the")
        self.assertEqual(rows[0]["prompt_ids"][0], 1)  # <s>, of the tokenizer
        self.assertTrue(rows[2]["prompt"].startswith("<s>user."))
        self.assertTrue(rows[2]["prompt"].endswith(".assistant."))
        self.assertEqual(rows[2]["prompt_ids"].count(1), 1)  # the template's own
        self.assertEqual(rows[4]["prompt_ids"], [1, 2, 9, 16])
        for row in rows:
            self.assertEqual(len(row["prompt_ids"]), row["n_prompt_tokens"])
            self.assertEqual(len(row["prompt_log_probs"]), row["n_prompt_tokens"])
            self.assertEqual(len(row["output_ids"]), row["n_output_tokens"])
            self.assertEqual(len(row["output_log_probs"]), row["n_output_tokens"])
            self.assertAlmostEqual(sum(row["output_log_probs"]), row["output_log_prob"], places=4)
            self.assertIsNone(row["prompt_log_probs"][0])
            self.assertIn(row["reason"], ("stop_token", "length"))
            text = "".join(tiny_lm.CHARACTERS[i] for i in row["output_ids"] if i > 2)
            self.assertEqual(row["output"], text.replace("Ġ", " "))
        self.assertNotEqual([row["output"] for row in rows[::2]],
                            [row["output"] for row in rows[1::2]])

    def test_the_same_bytes_at_1_2_and_3_ranks(self):
        self.generate(0, 1)
        golden = self.sha256()
        for ranks in (2, 3):
            self.start_over()
            self.generate(0, ranks, "generate.batch_size=3")
            self.assertEqual(self.sha256(), golden, ranks)
        self.start_over()
        self.generate(0, 2, "run.seed=5")
        self.assertNotEqual(self.sha256(), golden)

    def test_a_completion_scored_later_has_the_log_probs_of_its_sampling(self):
        self.generate(0, 2)
        sampled = self.rows()
        whole = [{"token_ids": row["prompt_ids"] + row["output_ids"]} for row in sampled]
        self.start_over()
        path = tiny_lm.write_rows(self.folder / "whole.jsonl", whole)
        ended = self.generate(0, 2, f"data.path={path}", "generate.max_new_tokens=0", *GREEDY)
        self.assertIn("perplexity", ended.out)
        self.assertIn("only scores the prompts, without generate.do_sample=false", ended.out)
        for row, before in zip(self.rows(), sampled, strict=True):
            self.assertEqual(row["reason"], "scored")
            self.assertEqual(row["output_ids"], [])
            expected = before["prompt_log_probs"] + before["output_log_probs"]
            self.assertEqual(row["prompt_log_probs"], expected)

    def test_stop_string(self):
        self.generate(0, 1, *GREEDY, "generate.max_new_tokens=30")
        free = [row["output"] for row in self.rows()]
        stop = free[0][3:5]
        self.start_over()
        self.generate(0, 2, *GREEDY, "generate.max_new_tokens=30", f"generate.stop=[{stop!r}]")
        stopped = self.rows()
        self.assertEqual(stopped[0]["reason"], "stop_string")
        for row, text in zip(stopped, free, strict=True):
            if stop in text:
                self.assertEqual(row["output"], text[:text.index(stop) + len(stop)])
                self.assertEqual(row["reason"], "stop_string")
            else:
                self.assertEqual(row["output"], text)

    def test_a_prompt_that_is_too_long_fails_alone(self):
        self.model = tiny_lm.make_folder(self.folder / "gpt2", "gpt2")  # 48 positions
        rows = [{"prompt": "a b"}, {"prompt": "a" * 60}, {"prompt": "c"}]
        path = tiny_lm.write_rows(self.folder / "long.jsonl", rows)
        ended = self.generate(1, 2, f"data.path={path}", "run.chunk_size=1")
        self.assertIn("2 samples failed: column `reason` of results.h5 says why", ended.out)
        reasons = [row["reason"] for row in self.rows()]
        self.assertEqual(reasons[2:4], ["failed: 61 tokens in a model of 48 positions"] * 2)
        self.assertEqual(sum(reason.startswith("failed") for reason in reasons), 2)
        self.start_over()
        ended = self.generate(0, 1, f"data.path={path}", "output.max_failed=0.4",
                              "output.text=false", "output.file=other.h5")
        self.assertIn("column `finish` of other.h5 marks them", ended.out)

    def test_token_ids_need_no_tokenizer(self):
        self.model = tiny_lm.make_folder(self.folder / "bare", tokenizer=False)
        path = tiny_lm.write_rows(self.folder / "ids.jsonl", [{"token_ids": [1, 40, 3]}])
        self.generate(0, 1, f"data.path={path}")
        self.assertEqual([row["prompt_ids"] for row in self.rows()], [[1, 40, 3]] * 2)

    def test_report_and_summary(self):
        ended = self.generate(0, 2)
        for phase in ("load", "tokenize", "generate", "seal"):
            self.assertRegex(ended.out, rf"(?m)^  {phase} ")
        self.assertRegex(ended.out, r"finished: tiny, 60 of 60 samples")
        page = (self.run_folder() / "report.html").read_text()
        for words in ("First samples", "Length of the completions", "Tokens per second of each"):
            self.assertIn(words, page)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["results"]["output_tokens"]["value"],
                         sum(row["n_output_tokens"] for row in self.rows()))


class Inputs(GenerateCase):
    """Rows of other files than JSON lines, and rows that cannot be used."""

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

    def test_marked_rows_are_failed_samples_with_their_reason(self):
        path = self.folder / "bad.jsonl"
        path.write_text('{"prompt": "a"}\n{"prompt": 3}\n{"token_ids": [67]}\n\n'
                        '{"prompt": "b"}\n')
        ended = self.generate(1, 2, f"data.path={path}", "data.on_bad_row=mark",
                              "run.chunk_size=1")
        self.assertIn("6 samples failed", ended.out)
        rows = self.rows()
        self.assertEqual([row["reason"] for row in rows[2:8]], [
            "failed: `prompt` is not a text"] * 2 + [
            "failed: token 67 is not in the model's vocabulary of 67"] * 2 + [
            "failed: it is an empty line"] * 2)
        self.assertEqual([row["prompt_ids"] for row in rows[2:8]], [[]] * 6)
        self.assertNotIn("failed", rows[0]["reason"] + rows[8]["reason"])
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
                         {"failed: it has none of `prompt`, `messages` and `token_ids`"})

    def test_a_column_that_is_not_there_is_named(self):
        path = self.folder / "t.csv"
        path.write_text("question\nthe cat\n")
        ended = self.generate(65, 2, f"data.path={path}")
        self.assertIn("error[E533]", ended.err)
        self.assertIn("it has `question`", ended.err)


class ChatTemplates(GenerateCase):
    """data.chat_template beside the folder's own."""

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
        for value, code, words in (
                ("shrot", 66, ("E603", "has `default`, `short`")),
                (self.template, 65, ("E544", "other.jinja"))):
            self.template.write_text("{% if %}")
            ended = self.generate(code, 1, f"data.chat_template={value}")
            for word in words:
                self.assertIn(word, ended.err)
        self.template.write_text("")
        ended = self.generate(65, 1, f"data.chat_template={self.template}")
        self.assertIn("the chat template is empty", ended.err)
        ended = self.generate(65, 1, "data.chat_template=none")
        self.assertIn("chat.jsonl:1: it has messages", ended.err)


class Groups(GenerateCase):
    """One model on several ranks."""

    def test_layers_on_two_ranks_give_the_bytes_of_one(self):
        self.generate(0, 1)
        golden = self.sha256()
        for ranks, keys in ((2, ("--gpus-per-model=2",)),
                            (3, ("devices.groups=[1, 2]", "generate.batch_size=3")),
                            (2, ("devices.groups=[2]", "model.device_map=[0, 1]"))):
            self.start_over()
            ended = self.generate(0, ranks, *keys)
            self.assertEqual(self.sha256(), golden, keys)
            self.assertIn("(pipeline)", ended.out)

    def test_a_killed_run_goes_on_in_other_groups(self):
        self.generate(0, 1)
        golden = self.sha256()
        self.start_over()
        for place, ranks, keys in (("ledger.write:4", 3, "devices.groups=[1, 2]"),
                                   ("ledger.write@0:2", 2, "devices.gpus_per_model=2"),
                                   ("results.write:1", 1, "devices.groups=[1]")):
            self.generate(137, ranks, keys, env=program.failpoint(f"{place}:kill"))
        self.generate(0, 3, "devices.groups=[2, 1]")
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_heads_on_two_ranks_give_the_greedy_tokens_of_one(self):
        self.generate(0, 1, *GREEDY)
        alone = self.rows()
        self.start_over()
        self.generate(0, 2, *GREEDY, "model.parallel=tensor", "--gpus-per-model=2")
        for row, expected in zip(self.rows(), alone, strict=True):
            self.assertEqual(row["output_ids"], expected["output_ids"])
            for ours, theirs in zip(row["output_log_probs"] + row["prompt_log_probs"][1:],
                                    expected["output_log_probs"] + expected["prompt_log_probs"][1:],
                                    strict=True):
                self.assertAlmostEqual(ours, theirs, delta=1e-5)

    def test_chunks_of_other_sums_are_made_again(self):
        keys = (*GREEDY, "model.parallel=tensor")
        self.generate(0, 1, *keys)
        golden = self.sha256()
        self.start_over()
        self.generate(137, 2, *keys, "--gpus-per-model=2",
                      env=program.failpoint("ledger.write:3:kill"))
        self.generate(0, 1, *keys)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_rows_that_do_not_fit_the_model_are_named_once(self):
        rows = [{"token_ids": [1]}, {"token_ids": [67]}]
        path = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        ended = self.generate(65, 2, f"data.path={path}", "--gpus-per-model=2")
        self.assertIn("error[E531]: a line of a data file", ended.err)
        self.assertEqual(ended.err.count("token 67 is not in"), 1, ended.err)


class OutOfMemory(GenerateCase):

    def check_halving(self, ranks, places, *keys):
        """Each of `places` runs out of memory once; the bytes are those of `self.golden`."""
        self.start_over()
        ended = self.generate(0, ranks, *keys, env=program.failpoint(places))
        self.assertEqual(self.sha256(), self.golden, places)
        log = (self.run_folder() / "run.log").read_text()
        self.assertEqual(log.count("completions at once: the chunk is made again with"),
                         places.count("EIO"), log)
        return ended

    def test_the_batch_is_halved_and_the_bytes_are_the_same(self):
        self.generate(0, 1)
        self.golden = self.sha256()
        for place in ("generate.cache:1:EIO", "generate.pass:9:EIO;generate.head:20:EIO"):
            ended = self.check_halving(1, place)
            self.assertIn("with 8 completions at once", ended.out)
        for place in ("generate.cache@1:1:EIO", "generate.pass@0:6:EIO", "generate.pass@1:6:EIO",
                      "generate.head@1:6:EIO", "generate.pass@0:1:EIO;generate.pass@1:40:EIO"):
            self.check_halving(2, place, "--gpus-per-model=2")
        self.check_halving(1, "generate.pass:9:EIO", "generate.batch_size=auto")

    def test_a_cache_that_is_not_to_be_had_is_made_smaller(self):
        # 60 completions of at most 2^20 tokens: 15 GiB of keys and values, of which few are used.
        keys = ("generate.max_new_tokens=1048576", "run.chunk_size=32")
        limited = ("sh", "-c", 'ulimit -v 16000000; exec "$@"', "sh")
        ended = self.generate(0, 1, *keys, "generate.batch_size=64", through=limited)
        self.assertIn("out of memory with 64 completions at once", ended.out)
        golden = self.sha256()
        self.start_over()
        self.generate(0, 2, *keys, "generate.batch_size=4")
        self.assertEqual(self.sha256(), golden)

    def test_below_one_completion_it_says_what_fits(self):
        places = ";".join(f"generate.cache@1:{n}:EIO" for n in range(1, 5))
        ended = self.generate(71, 2, env=program.failpoint(places))
        self.assertIn("out of memory with one completion at a time", ended.err)
        self.assertRegex(ended.err, r"rank 1: .* = weights .* \+ cache .* free beside the weights")
        self.assertIn("devices.gpus_per_model=2 generate.batch_size=1", ended.err)
        self.generate(0, 2, "devices.gpus_per_model=2", "generate.batch_size=1")
        self.assertEqual(self.num_runs(), 1)

    def test_where_sums_are_shared_the_batch_is_halved_by_all(self):
        keys = (*GREEDY, "model.parallel=tensor", "--gpus-per-model=2")
        self.generate(0, 2, *keys)
        self.golden = self.sha256()
        for place in ("generate.pass@1:5:EIO", "generate.layer@0:1:EIO", "generate.layer@1:8:EIO",
                      "generate.head@0:6:EIO", "generate.drawn@1:6:EIO",
                      "generate.layer@1:9:EIO;generate.drawn@0:30:EIO"):
            self.check_halving(2, place, *keys)

    def test_where_sums_are_shared_it_says_what_fits_below_one_completion(self):
        keys = (*GREEDY, "model.parallel=tensor", "--gpus-per-model=2", "generate.batch_size=4")
        places = ";".join(f"generate.layer@1:{n}:EIO" for n in range(1, 4))
        ended = self.generate(71, 2, *keys, env=program.failpoint(places))
        self.assertIn("out of memory with one completion at a time", ended.err)
        self.assertRegex(ended.err, r"rank 1: .* = weights .* \+ cache .* free beside the weights")
        self.assertIn("a larger devices.gpus_per_model", ended.err)
        self.generate(0, 2, *keys)
        self.assertEqual(self.num_runs(), 1)

    def test_the_largest_batch_is_found_and_told(self):
        ended = self.generate(0, 2, "generate.batch_size=auto", "devices.groups=[2]")
        self.assertRegex(ended.out, r"memory +8 completions at once \(auto\): .* = weights ")


class Interrupted(GenerateCase):

    def test_kills_and_other_rank_counts_give_the_same_bytes(self):
        self.generate(0, 1)
        golden = self.sha256()
        self.start_over()
        for number, place in enumerate(("ledger.write:4", "ledger.sync:1", "results.write:1",
                                        "results.rename:1")):
            ranks = 1 + number % 3
            self.generate(137, ranks, env=program.failpoint(f"{place}:kill"))
        self.generate(0, 3)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_a_soft_stop_and_a_merge_lose_nothing(self):
        long = ("generate.max_new_tokens=64", "run.chunk_size=1")
        self.generate(0, 1, *long)
        golden = self.sha256()
        self.start_over()
        job = self.start_generate(2, *long)
        self.assertTrue(job.wait_until(self.reached('"event":"gen"')))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        merged = self.run_to(0, 1, "--merge", str(self.run_folder()), config=None)
        self.assertRegex(merged.out, r"completions +\d+ of 60 samples")
        self.assertLess(len(self.rows()), 60)
        self.generate(0, 3, *long)
        self.assertEqual(self.sha256(), golden)

    def test_other_prompts_are_never_mixed_with_journaled_ones(self):
        long = ("generate.max_new_tokens=64", "run.chunk_size=1")
        self.generate(137, 2, *long, env=program.failpoint("ledger.write:8:kill"))
        rows = tiny_lm.mixed_rows(31)[1:]
        tiny_lm.write_rows(self.prompts, rows)
        self.generate(0, 2, *long)
        self.assertEqual(self.num_runs(), 1)
        resumed = self.sha256()
        self.start_over()
        self.generate(0, 1, *long)
        self.assertEqual(self.sha256(), resumed)


class Refusals(GenerateCase):

    def refuse(self, code, words, *more, ranks=2):
        ended = self.generate(code, ranks, *more)
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        for word in words:
            self.assertIn(word, ended.err)
        return ended

    def test_bad_rows_are_named_by_line(self):
        path = self.folder / "bad.jsonl"
        path.write_text('{"prompt": "a"}\n{"prompt": 3}\n{"text": "b"}\n{"prompt": "c"\n'
                        '{"prompt": "d", "token_ids": [1]}\n{"token_ids": []}\n'
                        '{"messages": []}\n')
        self.refuse(65, ("E531", "6 lines", "bad.jsonl:2: ", "bad.jsonl:3: ", "bad.jsonl:4: ",
                         "bad.jsonl:5: ", "bad.jsonl:6: ", "and 1 more"), f"data.path={path}")

    def test_rows_that_do_not_fit_the_model_are_named_by_line(self):
        rows = [{"token_ids": [1]}, {"token_ids": [67]}, {"prompt": ""}, {"prompt": "a"}]
        path = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        self.refuse(65, ("bad.jsonl:2: token 67 is not in the model's vocabulary of 67",),
                    f"data.path={path}", "run.chunk_size=1")

    def test_an_empty_file(self):
        path = self.folder / "empty.jsonl"
        path.write_text("")
        self.refuse(65, ("empty.jsonl:1: the file is empty",), f"data.path={path}")

    def test_files_that_are_missing(self):
        self.refuse(66, ("E603", "absent"), f"model.path={self.folder}/absent")
        self.refuse(66, ("E603", "absent.jsonl"), f"data.path={self.folder}/absent.jsonl")
        self.assertFalse(self.output.exists())

    def test_keys_that_mean_nothing(self):
        self.refuse(78, ("E124", "generate.temperature"), "generate.do_sample=false")
        self.refuse(78, ("E124", "devices.groups=[1]"), "devices.groups=[1, 2]",
                    "model.parallel=tensor")
        self.refuse(78, ("E124", "model.device_map"), "model.device_map=auto",
                    "model.parallel=tensor")
        self.refuse(78, ("E126", "2 layers for 3 ranks"), "--gpus-per-model=3", ranks=3)
        ended = self.run_program(1, config=CONFIG)
        self.assertEqual(ended.code, 78)
        self.assertEqual(ended.err.count("error[E114]"), 2, ended.err)


class LookFirst(GenerateCase):

    def test_check_opens_model_and_prompts(self):
        ended = self.generate(0, 1, "--check")
        self.assertIn("67 tokens, with a chat template", ended.out)
        self.assertIn("30 prompts, ", ended.out)

    def test_plan_needs_no_mpi(self):
        ended = self.start_command([program.PROGRAM, CONFIG, *self.keys("--plan=json")]).wait()
        self.assertEqual(ended.code, 0, ended.err)
        plan = json.loads(ended.out)
        self.assertEqual(plan["name"], "tiny")
        self.assertIn("weights", [part["what"] for part in plan["memory"]])


if __name__ == "__main__":
    program.main()
