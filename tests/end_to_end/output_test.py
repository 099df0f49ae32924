"""Tests output and files of a run, on which users and their tools rely."""
import importlib
import json
import re
import shlex

import program
import tiny_lm


class Output(program.ProgramTest):

    def modules(self, *names):
        """Imports modules here, since they would take half of the time of the other cases."""
        try:
            return [importlib.import_module(name) for name in names]
        except ImportError as error:
            self.skipTest(f"not here: {error}")

    def test_redirected_output_is_plain_lines(self):
        ended = self.run_to(0, 2)
        for text in (ended.out, ended.err):
            self.assertNotRegex(text, "[\r\x1b]")
            self.assertLessEqual(max(map(len, text.splitlines()), default=0), 200)
        self.assertEqual(ended.err, "")

    def test_quiet_runs_show_their_result_and_folder(self):
        lines = self.run_to(0, 1, "-q").out.splitlines()
        self.assertRegex(lines[0], "^Result: +.")
        self.assertIn(f"Run:           {self.run_folder()}", lines)
        self.assertEqual(lines[-1], "mgpu_spmd: done, exit 0")
        ended = self.run_to(64, 1, "--export", "csv", str(self.run_folder()), "--color", "always",
                            config=None)
        self.assertIn("\x1b[1;31merror[E143]\x1b[0m: job train has no export format `csv`", ended.err)
        self.assertIn("= \x1b[36mhelp\x1b[0m: one of: jsonl", ended.err)

    def test_a_reader_that_goes_away_does_not_end_the_run(self):
        piped = '"$@" | head -n 2; exit "${PIPESTATUS[0]}"'
        ended = self.start_command(["bash", "-c", piped, "bash", program.PROGRAM, program.TINY,
                                    f"run.output={self.output}"]).wait()
        self.assertEqual(ended.code, 0, ended.out + ended.err)
        self.assertEqual(len(ended.out.splitlines()), 2)
        self.assertTrue((self.run_folder() / "results.h5").exists())

    def test_the_first_line_names_overlays_and_counts_overrides(self):
        overlay = self.folder / "overlay.yaml"
        overlay.write_text("train: {eval_every: 8}\n")
        first = self.run_to(0, 1, "--with", str(overlay), "run.seed=3").out.splitlines()[0]
        self.assertRegex(first, rf"  job train  \S+\.yaml \+ {re.escape(str(overlay))} "
                                rf"\+ 2 overrides$")

    def test_8_ranks_print_once(self):
        ended = self.run_to(0, 8)
        lines = ended.out.splitlines()
        for once in ("run directory ", "Number of processes: 8", "data  ", "mgpu_spmd: done, exit 0"):
            self.assertEqual(sum(line.startswith(once) for line in lines), 1, once)
        stamped = [line for line in lines if re.match(r"\d{4}-\d\d-\d\dT", line)]
        self.assertEqual(len(stamped), len(set(stamped)))
        self.assertEqual(sum(" save   step 16 " in line for line in stamped), 1)

    def test_words_that_scripts_grep_for(self):
        out = self.run_to(0, 2).out
        for pattern in (r"^Multi-GPU Training Configuration$", r"^Number of processes: 2$",
                        r"^Distributed type: DistributedType\.MULTI_CPU$",
                        r"^Mixed precision: no$", r"^Gradient accumulation steps: 4$",
                        r"^Main process device: cpu$"):
            self.assertEqual(len(re.findall(pattern, out, re.MULTILINE)), 1, pattern)

    def test_named_phases_have_nearly_all_of_the_time(self):
        timed = ("bash", "-c", 'TIMEFORMAT="took %R s"; time "$@"', "bash")
        ended = self.run_to(0, 2, "train.max_steps=600", "train.eval_every=0",
                            "checkpoint.every=100", through=timed)
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        seconds = {row["phase"]: row["seconds"] for row in summary["phases"]}
        self.assertGreater(seconds["start-up"], 0.0)
        self.assertLess(seconds["other"], max(0.2, 0.05 * summary["wall_seconds"]), seconds)
        # The shell sees the life of a rank. The table does not include the time after it is
        # printed.
        took = [float(text) for text in re.findall(r"took ([\d.]+) s", ended.err)]
        self.assertEqual(len(took), 2, ended.err)
        self.assertLessEqual(sum(seconds.values()), max(took))
        self.assertGreaterEqual(sum(seconds.values()), 0.9 * min(took) - 0.5)
        table = ended.out[ended.out.index("share"):ended.out.index("Performance:")]
        shares = [float(share) for share in re.findall(r"([\d.]+) %", table)]
        self.assertEqual(len(shares), len(seconds))
        self.assertAlmostEqual(sum(shares), 100.0, delta=0.6)  # each is rounded

    def test_skipped_batches_are_counted_across_a_restart(self):
        plan = ";".join(f"train.gradient:{hit}:EIO" for hit in (3, 4, 12, 13, 14, 15))
        self.run_to(79, 2, "train.max_skipped_steps=2", env=program.failpoint(plan))
        ended = self.run_to(0, 2)
        self.assertRegex(ended.out, r"(?m)^Skipped: +1 of 16 steps")
        summary = json.loads((self.run_folder() / "summary.json").read_text())
        self.assertEqual(summary["skipped"], 1)

    def test_verbose_tells_of_chunks_and_shares(self):
        quiet = self.run_to(0, 2).out
        self.assertNotIn("a chunk of", quiet)
        out = self.run_to(0, 2, "log.level=debug").out
        self.assertIn("histories: a chunk of 16 is done by rank 0", out)
        self.assertIn("of each batch, in ", out)

    def test_the_report_of_a_language_model_has_nats_per_token(self):
        config = self.folder / "train.yaml"
        config.write_text("schema: 1\njob: train\nrun: {name: tiny}\n"
                          "train: {seq_len: 16, global_batch_size: 2, max_steps: 2}\n")
        rows = tiny_lm.write_rows(self.folder / "texts.jsonl", [{"text": "the cat sat"}] * 4)
        self.run_to(0, 1, f"model.path={tiny_lm.make_folder(self.folder / 'model')}",
                    f"data.path={rows}", "train.warmup_steps=1", config=config)
        report = (self.run_folder() / "report.html").read_text()
        self.assertNotIn("action", report)
        self.assertIn("loss (nats per token)", report)
        self.assertIn(f"ln {len(tiny_lm.CHARACTERS)} = ", report)

    def test_report_needs_no_network(self):
        self.run_to(0, 2)
        page = (self.run_folder() / "report.html").read_text()
        self.assertNotRegex(page, r"""(?i)(src|href)\s*=\s*["']?\s*(https?:)?//""")
        self.assertNotRegex(page, r"(?i)@import|url\(\s*['\"]?(https?:)?//|<script[^>]+src")
        self.assertIn("<svg", page)
        self.assertRegex(page, r">data</td><td>CRC-32C [0-9a-f]{8} of the training data</td>")

    def test_run_directory_is_whole(self):
        self.run_to(0, 2)
        folder = self.run_folder()
        self.assertEqual((folder.parent / "latest").resolve(), folder.resolve())
        for name in ("results.h5", "run.h5", "histories.h5", "report.html", "summary.json", "events.jsonl",
                     "run.log", "run.json", "logs/rank_00.log", "logs/rank_01.log",
                     "repro/config.resolved.yaml", "repro/versions.json", "repro/seeds.json",
                     "repro/command.txt", "ckpt/last/model.safetensors", "ckpt/best"):
            self.assertTrue((folder / name).exists(), name)
        versions = json.loads((folder / "repro/versions.json").read_text())
        self.assertEqual(set(versions), {"mgpu_spmd", "git", "compiler", "cuda", "hdf5", "libtorch",
                                         "mpi", "nccl"})
        self.assertFalse(list(folder.rglob("*.tmp*")))

    def test_printed_configuration_gives_the_same_run(self):
        golden = self.golden()
        again = self.folder / "golden" / "tiny" / "latest" / "repro" / "config.resolved.yaml"
        self.run_to(0, 2, config=again)
        self.assertEqual(self.hashes(), golden)

    def test_h5py_and_pandas_open_results_in_three_lines(self):
        h5py, pandas = self.modules("h5py", "pandas")
        self.run_to(0, 2)
        results = self.run_folder() / "results.h5"

        with h5py.File(results) as file:
            samples = pandas.DataFrame({name: column[:] for name, column in
                                        file["samples"].items()})
            offsets = file["arrays/samples/path/row_offsets"][:]
        per_episode = samples.groupby(["control", "episode"])["return"].mean()

        self.assertEqual(len(samples), 3 * 8 * 2 * 2)  # controls, goals, runs, episodes
        self.assertEqual(len(per_episode), 3 * 2)
        self.assertTrue((samples["return"] <= samples["optimal"]).all())
        self.assertEqual(set(offsets[1:] - offsets[:-1]), {20})  # steps of an episode

    def test_h5py_and_pandas_open_how_the_run_went_in_three_lines(self):
        h5py, pandas = self.modules("h5py", "pandas")
        self.run_to(0, 2)
        run = self.run_folder() / "run.h5"

        with h5py.File(run) as file:
            ranks, timing, pace, attempts = (
                pandas.DataFrame({name: list(column[:]) for name, column in file[table].items()})
                for table in ("ranks", "timing", "throughput", "attempts"))
            self.assertIn("tiny.yaml", file.attrs["command"])
        per_rank = timing.groupby("rank")["seconds"].sum()

        self.assertEqual(list(ranks["rank"]), [0, 1])
        self.assertEqual(list(ranks["samples"]), [16 * 8] * 2)  # steps, half of a batch
        self.assertTrue((abs(ranks["busy_s"] + ranks["wait_s"] - per_rank) < 1e-6).all())
        waits = timing[timing["phase"].isin(
            [b"waiting for data", b"waiting for ranks", b"allreduce, exposed"])]
        self.assertIn(b"waiting for ranks", set(waits["phase"]))
        waited = waits.groupby("rank")["seconds"].sum()
        self.assertTrue((abs(ranks["wait_s"] - waited) < 1e-6).all())
        self.assertTrue((ranks["host_peak_bytes"] > 2**20).all())
        self.assertEqual(list(pace["step"]), list(range(1, 17)))
        self.assertTrue((pace["samples_per_second"] > 0).all())
        self.assertEqual(list(attempts["exit"]), [0])

    def test_tensorboard_reads_the_curves(self):
        reader, = self.modules("tensorboard.backend.event_processing.event_accumulator")
        self.run_to(0, 2)
        events = reader.EventAccumulator(str(self.run_folder() / "tb"))
        events.Reload()
        tags = events.Tags()["scalars"]
        for tag in ("train/loss", "train/learning_rate", "train/grad_norm",
                    "train/mean_token_accuracy", "train/epoch", "eval/return",
                    "episodes/agent", "episodes/hide_rewards", "episodes/source",
                    "perf/samples_per_second", "perf/step_ms"):
            self.assertIn(tag, tags)
        self.assertEqual([event.step for event in events.Scalars("train/loss")],
                         list(range(1, 17)))
        self.assertIn("_hparams_/session_start_info", events.summary_metadata)
        self.assertIn("_hparams_/session_end_info", events.summary_metadata)

    def test_the_printed_folder_of_curves_is_there_for_the_shell(self):
        for output, shown in (("outputs", "runs"), ("elsewhere", "elsewhere/runs")):
            out = self.run_to(0, 2, f"run.output={output}").out
            self.assertRegex(out, rf"(?m)^ +tensorboard --logdir {shown}$")
            (link,) = (self.folder / shown).glob("tiny_2*")
            self.assertTrue(list(link.glob("events.out.tfevents.*")))

    def test_only_what_differs_from_its_default_is_not_default(self):
        out = self.run_to(0, 2, "run.seed=0", "train.max_steps=12").out
        facts = out[out.index("not default "):]
        facts = facts[:re.search(r"\n\S", facts).start()]
        for given_default in ("schema=", "job=", "data.env=", "run.seed="):
            self.assertNotIn(given_default, facts)
        self.assertIn("train.max_steps=12 (command line", facts)

    def test_the_command_for_again_goes_through_a_shell(self):
        out = self.run_to(0, 2, f"run.output={self.folder}/it's $$HERE").out
        (again,) = re.findall(r"(?m)^again: +(.*)$", out)
        *_, program_name, config = shlex.split(again)
        self.assertEqual(program_name, "./mgpu_spmd")
        self.assertIn("/it's $HERE/", config)
        self.run_to(0, 1, "--check", config=config)

    def test_rank_logs_name_the_device(self):
        self.run_to(0, 2)
        for rank in range(2):
            head = (self.run_folder() / "logs" / f"rank_0{rank}.log").read_text()
            self.assertRegex(head, rf"rank {rank} of 2 on \S+, device (cpu|cuda:\d+ GPU-\S+), since ")


if __name__ == "__main__":
    program.main()
