"""Job teacher gives the same result for any number of ranks, any groups and any schedule."""
import json
import math
import re
import shutil
import signal
import unittest

import program
import report_page
import tiny_lm
from teacher_case import (CONFIG, ROWS, SCHEDULES, TeacherCase, kill, kill_in_group,
                          slow_chunks)

try:
    import h5py
except ImportError as error:
    h5py = None
    NO_H5PY = f"no h5py here: {error}"


class Sharing(TeacherCase):

    def test_the_same_bytes_at_1_to_4_ranks_static_and_dynamic(self):
        golden = self.golden_of()
        for ranks in (1, 2, 3, 4):
            for schedule in SCHEDULES:
                self.start_over()
                self.teach(0, ranks, schedule)
                self.assertEqual(self.sha256(), golden, (ranks, schedule))

    @unittest.skipIf(h5py is None, NO_H5PY if h5py is None else "")
    def test_who_is_free_takes_more(self):
        golden = self.golden_of()
        self.start_over()
        ended = self.teach(0, 2, "run.schedule=dynamic",
                           env=program.failpoint(slow_chunks(1, ROWS)))
        self.assertEqual(self.sha256(), golden)
        with h5py.File(self.run_folder() / "run.h5") as file:
            shares = list(file["ranks/samples"])
        self.assertEqual(sum(shares), ROWS)
        self.assertGreaterEqual(shares[0], ROWS - 6, ended.out)  # all but two chunks
        events = (self.run_folder() / "events.jsonl").read_text().splitlines()
        seen = [json.loads(line) for line in events if '"event":"gen"' in line]
        self.assertTrue(all(event["samples"] <= event["total"] == ROWS for event in seen), seen)

    def test_a_job_without_claims_says_so(self):
        ended = self.run_program(1, "run.schedule=dynamic")
        self.assertEqual(ended.code, 78)
        self.assertIn("E124", ended.err)
        self.assertIn("job train shares its chunks out beforehand", ended.err)


class Groups(TeacherCase):

    def test_the_table_of_workers(self):
        ended = self.teach(0, 3, "devices.groups=[1, 2]")
        self.assertIn("  Total ranks available: 3 (0,1,2)\n"
                      "  Ranks per model: 1 or 2\n"
                      "  Number of workers: 2\n"
                      "\n"
                      "Worker rank assignments:\n"
                      "  Worker 0: ranks 0\n"
                      "  Worker 1: ranks 1,2\n", ended.out)

    def test_layers_on_several_ranks_give_the_bytes_of_one(self):
        golden = self.golden_of()
        for ranks, groups in ((2, "devices.gpus_per_model=2"), (4, "devices.gpus_per_model=2"),
                              (3, "devices.groups=[1, 2]")):
            for schedule in SCHEDULES:
                self.start_over()
                self.teach(0, ranks, groups, schedule)
                self.assertEqual(self.sha256(), golden, (ranks, groups, schedule))

    def test_heads_on_two_ranks_give_the_same_bytes_in_any_number_of_groups(self):
        keys = ("model.parallel=tensor", "devices.gpus_per_model=2")
        golden = self.golden_of(*keys, ranks=2)
        for schedule in SCHEDULES:
            self.start_over()
            self.teach(0, 4, *keys, schedule)
            self.assertEqual(self.sha256(), golden, schedule)


class Pictures(TeacherCase):
    PARTS = ["Texts, colored by how unsure the teacher was",
             "Probability that the k best tokens keep", "Length of the samples",
             "Share of the model and use of time by rank",
             "Tokens per second of each copy of the model"]

    def page(self):
        return report_page.read(self, self.run_folder())

    def series(self):
        return json.loads((self.run_folder() / "summary.json").read_text())["series"]

    @unittest.skipIf(h5py is None, NO_H5PY if h5py is None else "")
    def test_the_page_says_what_the_file_has(self):
        for store in ("fp16", "packed"):
            self.start_over()
            self.teach(0, 2, f"teacher.store={store}")
            page = self.page()
            for part in self.PARTS:
                self.assertIn(part, page.headings)
            with h5py.File(self.run_folder() / "results.h5") as file:
                log_probs = file["arrays/samples/topk_logprobs/values"][:].astype(float)
                ends = file["arrays/samples/topk_logprobs/row_offsets"][:]
            k = log_probs.shape[1]
            kept = [min(1.0, sum(map(math.exp, row))) for row in log_probs]
            self.assertEqual(self.series()["kept_mass/k"][-1], k)
            self.assertAlmostEqual(self.series()["kept_mass/mean"][-1], sum(kept) / len(kept),
                                   delta=1e-4)
            # The list at the first token of the first row predicted the second token.
            first = int(ends[self.rows_shown(ends)[0]])
            terms = [math.exp(p) for p in log_probs[first]] + [max(1.0 - kept[first], 0.0)]
            entropy = -sum(p * math.log(p) for p in terms if p > 0.0)
            self.assertIn("nothing came before it", page.views[0])
            shown = re.search(r"Entropy ([0-9.]+) nats", page.views[1])
            self.assertAlmostEqual(float(shown.group(1)), entropy, delta=0.02)
            self.assertEqual(len(page.views), sum(min(160, int(ends[r + 1] - ends[r]))
                                                  for r in self.rows_shown(ends)))

    @staticmethod
    def rows_shown(ends):
        """Returns the longest row of each third of the rows; of equally long ones, the first."""
        lengths = [int(ends[r + 1] - ends[r]) for r in range(len(ends) - 1)]
        thirds = [range(p * len(lengths) // 3, (p + 1) * len(lengths) // 3) for p in range(3)]
        return [max(third, key=lambda r: lengths[r]) for third in thirds]

    def test_ranks_of_a_copy_have_their_layers_or_heads_and_waiting(self):
        for keys, ranks, words in (
                (("devices.groups=[1, 2]",), 3, ("all 2 layers", "layer 0", "layer 1")),
                (("devices.gpus_per_model=2", "model.parallel=tensor"), 2,
                 ("heads 0 to 1", "heads 2 to 3"))):
            self.start_over()
            self.teach(0, ranks, *keys, "run.schedule=static")  # so that each group has rows
            page = self.page()
            for word in words:
                self.assertIn(word, page.words)
            series = self.series()
            self.assertEqual(len(series["ranks/busy_seconds"]), ranks)
            self.assertGreater(sum(series["ranks/waiting_seconds"]), 0.0)
            self.assertTrue(all(s >= 0 for name in ("busy", "waiting", "idle")
                                for s in series[f"ranks/{name}_seconds"]))

    def test_draws_have_a_page_in_both_stores(self):
        for store in ("fp16", "packed"):
            self.start_over()
            self.teach(0, 1, "teacher.targets=random_sampling", "teacher.top_k=64",
                       f"teacher.store={store}")
            page = self.page()
            self.assertIn("different tokens on average", page.text)
            self.assertNotIn("Probability that the k best tokens keep", page.headings)
            self.assertIn("Entropy", page.views[1])

    def test_token_ids_without_a_tokenizer_are_shown_by_number(self):
        shutil.rmtree(self.model)
        self.model = tiny_lm.make_folder(self.model, tokenizer=False)
        self.data = tiny_lm.write_rows(self.folder / "ids.jsonl",
                                       [{"token_ids": [1, 7, 9]}, {"token_ids": [4]}])
        self.teach(0, 2)
        self.assertEqual(len(self.page().views), 3)
        self.assertIn("#7", self.page().text)

    def test_resumed_runs_parts_and_runs_of_one_row_have_a_page(self):
        self.teach(137, 2, env=kill(0, "ledger.write:3", 2))
        self.teach(0, 3)
        self.assertIn(self.PARTS[0], self.page().headings)
        self.start_over()
        self.teach(137, 1, env=program.failpoint("results.rename:1:kill"))
        self.teach(0, 1)
        self.assertIn("found all samples done", self.page().text)
        self.start_over()
        self.teach(0, 1, "--only=1/3")
        self.assertIn(self.PARTS[0], self.page().headings)
        self.start_over()
        self.teach(0, 2, "data.max_samples=1")
        self.assertIn(self.PARTS[1], self.page().headings)


class Interrupted(TeacherCase):

    def test_kills_and_other_rank_counts_give_the_same_bytes(self):
        golden = self.golden_of()
        for schedule in SCHEDULES:
            self.start_over()
            for ranks, victim, place in ((2, 0, "ledger.write:3"), (3, 1, "ledger.write:3"),
                                         (4, 3, "chunk.work:2"), (1, 0, "results.rename:1")):
                self.teach(137, ranks, schedule, env=kill(victim, place, ranks))
            self.teach(0, 2, schedule)
            self.assertEqual(self.num_runs(), 1)
            self.assertEqual(self.sha256(), golden, schedule)

    def test_a_killed_run_goes_on_in_other_groups(self):
        golden = self.golden_of()
        self.start_over()
        for victim, place, ranks, groups in (
                (2, "ledger.write:2", 3, "devices.groups=[1, 2]"),
                (1, "chunk.work:2", 4, "devices.gpus_per_model=2")):
            self.teach(137, ranks, groups, env=kill_in_group(victim, place))
        self.teach(0, 3, "devices.groups=[2, 1]")
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_a_soft_stop_ends_all_ranks_and_loses_nothing(self):
        golden = self.golden_of()
        self.start_over()
        slow = ";".join(slow_chunks(rank, 3) for rank in range(3))
        job = self.start(3, *self.keys("run.schedule=dynamic"), config=CONFIG,
                         env=program.failpoint(slow))
        self.assertTrue(job.wait_until(self.reached('"event":"gen"')))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        self.teach(0, 2)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_a_failing_rank_ends_the_others(self):
        for schedule in SCHEDULES:
            self.start_over()
            ended = self.teach(74, 3, schedule, env=program.failpoint(
                ";".join(["ledger.write@2:2:ENOSPC", slow_chunks(0, 1), slow_chunks(1, 1)])))
            self.assertIn("error[E602]", ended.err)
            self.assertIn("on rank 2", ended.err)
            self.assertLess(ended.seconds, 30)

    def test_a_rank_that_hangs_is_waited_for_no_longer_than_the_timeout(self):
        ended = self.teach(76, 2, "run.schedule=dynamic", "comm.timeout_s=2",
                           env=program.failpoint("chunk.work@0:2:stop"))
        # Either the request for a chunk or the watchdog is first.
        self.assertRegex(ended.err, r"error\[E40[25]\]")


if __name__ == "__main__":
    program.main()
