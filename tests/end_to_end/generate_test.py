"""Job generate, from a file of prompts to results.h5 and its JSON lines."""
import json
import signal

from generate_case import CONFIG, GREEDY, GenerateCase
import program
import tiny_lm


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
            self.assertIn(row["finish"], ("stop_token", "length"))
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
        printed = self.folder / "printed.yaml"
        printed.write_text((self.run_folder() / "repro/config.resolved.yaml").read_text())
        self.start_over()
        self.run_to(0, 1, config=printed)
        self.assertEqual(self.sha256(), golden)
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
            self.assertEqual(row["finish"], "scored")
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
        self.assertEqual(stopped[0]["finish"], "stop_string")
        for row, text in zip(stopped, free, strict=True):
            if stop in text:
                self.assertEqual(row["output"], text[:text.index(stop) + len(stop)])
                self.assertEqual(row["finish"], "stop_string")
            else:
                self.assertEqual(row["output"], text)

    def test_a_prompt_that_is_too_long_fails_alone(self):
        self.model = tiny_lm.make_folder(self.folder / "gpt2", "gpt2")  # 48 positions
        rows = [{"prompt": "a b"}, {"prompt": "a" * 60}, {"prompt": "c"}]
        path = tiny_lm.write_rows(self.folder / "long.jsonl", rows)
        ended = self.generate(1, 2, f"data.path={path}", "run.chunk_size=1")
        self.assertIn("2 samples failed: column `reason` of results.h5 says why", ended.out)
        self.assertEqual([row["reason"] for row in self.rows()],
                         [""] * 2 + ["61 tokens in a model of 48 positions"] * 2 + [""] * 2)
        self.assertEqual([row["status"] for row in self.rows()],
                         ["ok"] * 2 + ["too_long"] * 2 + ["ok"] * 2)
        self.start_over()
        ended = self.generate(0, 1, f"data.path={path}", "output.max_failed=0.4",
                              "output.text=false", "output.file=other.h5")
        self.assertIn("column `status` of other.h5 marks them", ended.out)

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
        for words in ("Completions of the first prompts", "How it was generated", "Length of the completions", "Tokens per second of each",
                      ">machine</td>"):
            self.assertIn(words, page)
        for what in ("of the rows", "tokenizer and the ends of each tensor"):
            self.assertRegex(page, rf"{what}</td><td[^>]*>found")
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["results"]["output_tokens"]["value"],
                         sum(row["n_output_tokens"] for row in self.rows()))


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
