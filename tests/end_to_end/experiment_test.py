"""Job experiment: stages that wait for each other, run at the same time, are reused and resumed."""
import json
import os
import pathlib
import random
import signal
import sys

import program

try:
    import h5py
except ImportError:
    h5py = None

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

CONF = program.TOP / "conf" / "examples"
KILLS = int(os.environ.get("MGPU_E2E_KILLS", "3"))
SEED = int(os.environ.get("MGPU_E2E_SEED", "1"))

COMMON = "schema: 1\nrun: {{name: {name}, output: {output}}}\n"
STAGES = {
    "reference": """job: train
model: {{init: {small_lm}}}
data: {{path: {conf}/pairs/answers.jsonl}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: {steps}, learning_rate: 2e-3}}
checkpoint: {{keep: 1, every: 2}}
""",
    "rollouts": """job: generate
model: {{path: {output}/reference/latest/ckpt/last}}
data: {{path: {conf}/pairs/train.jsonl, max_samples: 24}}
generate: {{max_new_tokens: 6, num_samples: 4, do_sample: "true", temperature: 1}}
reward: {{functions: [regex], regex: e}}
""",
    "value": """job: train
model: {{path: {output}/reference/latest/ckpt/last}}
data:
  path: {output}/rollouts/latest/results.jsonl
  columns: {{token_ids: prompt_ids, completion_ids: output_ids, label: reward}}
train: {{recipe: value, seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: {steps}}}
checkpoint: {{keep: 1, every: 2}}
""",
    "alone": """job: generate
model: {{path: {output}/reference/latest/ckpt/last}}
data: {{path: {conf}/pairs/held_out.jsonl, max_samples: 16}}
generate: {{max_new_tokens: 6, batch_size: 2}}
""",
}
CONFIG = """schema: 1
job: experiment
run: {name: graph}
experiment:
  folder: stages
  stages: [reference, rollouts, value, alone]
"""


# A further stage, which some tests add: the value model guides the reference.
GUIDED = """job: generate
model: {{path: {output}/reference/latest/ckpt/last}}
data: {{path: {conf}/pairs/held_out.jsonl, max_samples: 16}}
generate: {{max_new_tokens: 6, guide: {{path: {output}/value/latest/ckpt/last, eta: 0.5}}}}
"""


def host_bytes():
    """Returns the memory of this machine, or the limit of its control group."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = pathlib.Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    return total if text == "max" else min(total, int(text))


def write_stages(folder, output, steps, **more):
    """Writes a file for each of STAGES; `more` adds lines to the files that it names."""
    for name, text in STAGES.items():
        values = {"name": name, "output": output, "conf": CONF, "steps": steps,
                  "small_lm": program.SMALL_LM}
        (folder / f"{name}.yaml").write_text((COMMON + text).format(**values) + more.get(name, ""))


class ExperimentCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.stages = self.folder / "stages"
        self.stages.mkdir()
        self.write_stages(steps=4)
        self.config = self.folder / "experiment.yaml"
        self.config.write_text(CONFIG)

    def write_stages(self, steps, **more):
        write_stages(self.stages, self.output, steps, **more)

    def experiment(self, code, ranks, *arguments):
        return self.run_to(code, ranks, *arguments, config=self.config)

    def states(self):
        found = json.loads((self.run_folder("graph") / "job_states.json").read_text())
        return {stage["name"]: stage for stage in found["stages"]}

    def state_names(self):
        return {name: stage["state"] for name, stage in self.states().items()}

    def stage(self, name):
        return self.output / "graph" / "stages" / name / "latest"

    def contents(self):
        """Returns all bytes that must depend on neither ranks nor interruptions."""
        found = {}
        for name in self.states():
            with h5py.File(self.stage(name) / "results.h5") as file:
                def take(path, item, name=name):
                    if isinstance(item, h5py.Dataset):
                        found[name, path] = item[()].tobytes()
                file.visititems(take)
        for name in ("reference", "value"):
            weights = self.stage(name) / "ckpt" / "last" / "model.safetensors"
            found[name, "weights"] = weights.read_bytes()
        found["export"] = (self.stage("rollouts") / "results.jsonl").read_bytes()
        return found

    def start_over(self):
        (self.output).rename(self.folder / f"outputs{random.randrange(10**9)}")


class Experiment(ExperimentCase):

    def test_stages_wait_for_what_they_read_and_run_at_the_same_time(self):
        ended = self.experiment(0, 3)
        self.assertIn("Result:        4 of 4 stages are done", ended.out)
        states = self.states()
        self.assertEqual(set(self.state_names().values()), {"done"})
        for before, after in (("reference", "rollouts"), ("rollouts", "value"),
                              ("reference", "alone")):
            self.assertLessEqual(states[before]["end_s"], states[after]["begin_s"])
        at_once = [states[name] for name in ("rollouts", "alone")]
        self.assertFalse(set(at_once[0]["ranks"]) & set(at_once[1]["ranks"]))
        self.assertLess(max(stage["begin_s"] for stage in at_once),
                        min(stage["end_s"] for stage in at_once))
        with h5py.File(self.run_folder("graph") / "results.h5") as file:
            self.assertEqual(file["stages/state"].asstr()[:].tolist(), ["done"] * 4)
        page = (self.run_folder("graph") / "report.html").read_text()
        self.assertIn("Stages over time", page)

    def test_stages_that_do_not_fit_together_run_one_after_the_other(self):
        margin = 1 - 300 * 2**20 / host_bytes()  # a rank of each stage needs about 190 MiB
        planned = self.experiment(0, 3, "--plan", f"devices.memory_margin={margin}").out
        self.assertRegex(planned, r"stage (alone|rollouts) waits until its memory fits")
        ended = self.experiment(0, 3, f"devices.memory_margin={margin}")
        self.assertRegex(ended.err + ended.out, r"stage (alone|rollouts) waits for memory: a rank "
                                                r"needs 1\d\d\.\d MiB, and other stages")
        states = self.states()
        spans = sorted((stage["begin_s"], stage["end_s"]) for stage in states.values())
        for before, after in zip(spans, spans[1:]):
            self.assertLessEqual(before[1], after[0])
        self.assertEqual(set(self.state_names().values()), {"done"})

    def test_1_2_and_4_ranks_give_the_same_bytes(self):
        self.experiment(0, 1)
        expected = self.contents()
        for ranks in (2, 4):
            self.start_over()
            self.experiment(0, ranks)
            self.assertEqual(self.contents(), expected, f"{ranks} ranks")

    def test_equal_stages_are_reused_and_changed_ones_run_again(self):
        self.experiment(0, 2)
        first = self.states()
        plan = self.run_to(0, 1, "--plan", config=self.config).out
        self.assertEqual(plan.count("reused from"), 4, plan)
        self.experiment(0, 1)
        self.assertEqual(set(self.state_names().values()), {"reused"})
        self.assertEqual({name: stage["result"] for name, stage in self.states().items()},
                         {name: stage["result"] for name, stage in first.items()})
        self.write_stages(4, value="value: {lm_weight: 0.5}\n")
        plan = self.run_to(0, 1, "--plan", config=self.config).out
        self.assertIn("stage value: job train, after reference, rollouts; new, because", plan)
        self.experiment(0, 2)
        self.assertEqual(self.state_names(), {"reference": "reused", "rollouts": "reused",
                                              "value": "done", "alone": "reused"})
        self.experiment(0, 2, "run.seed=5")  # of all stages
        self.assertEqual(set(self.state_names().values()), {"done"})

    def test_a_stage_that_reads_a_changed_file_runs_again(self):
        rows = self.folder / "rows.jsonl"
        rows.write_bytes((CONF / "pairs" / "held_out.jsonl").read_bytes())
        alone = self.stages / "alone.yaml"
        alone.write_text(alone.read_text().replace(f"{CONF}/pairs/held_out.jsonl", str(rows)))
        self.experiment(0, 2)
        rows.write_bytes((CONF / "pairs" / "train.jsonl").read_bytes())
        self.experiment(0, 2)
        expected = {"reference": "reused", "rollouts": "reused", "value": "reused",
                    "alone": "done"}
        self.assertEqual(self.state_names(), expected)
        (self.stage("alone") / "outcome.json").write_text("{")  # so that run cannot be reused
        self.experiment(0, 2)
        self.assertEqual(self.state_names(), expected)

    def test_a_failed_stage_stops_those_that_need_it_and_no_others(self):
        self.write_stages(4, rollouts="run.max: 1\n")
        ended = self.experiment(78, 2)  # found before any work
        self.assertIn("rollouts.yaml", ended.err)
        self.assertFalse((self.output / "graph").exists())
        self.write_stages(4)
        value = self.stages / "value.yaml"
        value.write_text(value.read_text().replace("label: reward", "label: no_column"))
        ended = self.experiment(1, 2)
        self.assertEqual(self.state_names(), {"reference": "done", "rollouts": "done",
                                              "value": "failed", "alone": "done"})
        self.assertIn("3 of 4 stages are done; 1 failed", ended.out)
        self.assertIn("no_column", self.states()["value"]["error"] + ended.out + ended.err)
        self.check_error_event()
        self.write_stages(4)
        self.experiment(0, 2)
        self.assertEqual(self.state_names(), {"reference": "reused", "rollouts": "reused",
                                              "value": "done", "alone": "reused"})

    def check_error_event(self):
        """Compares the members of the failed stage's event with docs/formats.md."""
        lines = (self.run_folder("graph") / "events.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        [error] = [event for event in events if event["event"] == "error"]
        self.assertEqual(error["session"], "value")
        of_all = set.intersection(*map(set, events)) | {"session"}
        self.assertEqual(set(error) - of_all, pages.fields("error_event")["error"])

    def test_a_soft_stop_is_resumed(self):
        self.write_stages(20)
        mark = self.folder / "mark"
        slow = program.failpoint("train.pass@0:20:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
        job = self.start(2, config=self.config, env=slow)
        self.assertTrue(job.wait_until(mark.exists))
        for rank in job.ranks():
            program.send(rank, signal.SIGUSR1)
        ended = job.wait()
        self.assertEqual(ended.code, 75, ended.out[-1000:] + ended.err[-1000:])
        self.assertEqual(self.state_names()["reference"], "stopped")
        self.assertEqual(self.state_names()["value"], "waiting")
        self.experiment(0, 4)
        self.assertEqual(self.num_runs("graph"), 1)
        self.assertEqual(set(self.state_names().values()), {"done"})

    def test_three_starters_give_the_same_bytes(self):
        self.experiment(0, 1)
        expected = self.contents()
        self.start_over()
        jobs = [self.start(2, config=self.config, env=program.AT_ONCE) for _ in range(3)]
        for job in jobs:
            ended = job.wait()
            self.assertIn(ended.code, (0, 81), ended.out[-2000:] + ended.err[-2000:])
        self.assertEqual(self.contents(), expected)
        runs = list((self.output / "graph").glob("2*"))
        self.assertGreaterEqual(len(runs), 1)
        tables = set()
        for run in runs:
            with h5py.File(run / "results.h5") as file:
                tables.add(tuple(tuple(file[f"stages/{column}"].asstr()[:])
                                 for column in ("name", "job", "state", "after")))
        self.assertEqual(len(tables), 1, tables)

    def test_a_rank_that_hangs_in_a_stage_is_named_while_others_wait(self):
        self.write_stages(4000)
        job = self.start(3, "watchdog.limit_s=5", "experiment.ranks={reference: 2}",
                         config=self.config)
        self.assertTrue(job.wait_until(lambda: " step 1" in job.out() + job.err()))
        program.send(sorted(job.ranks())[1], signal.SIGSTOP)
        ended = job.wait()
        self.assertEqual(ended.code, 76, ended.out[-1000:] + ended.err[-1000:])
        self.assertRegex(ended.err, r"error\[E405\]: rank [01] .* hangs")

    def test_a_full_disk_in_one_stage_fails_that_stage(self):
        ended = self.run_to(1, 1, config=self.config,
                            env=program.failpoint("results.create:3:ENOSPC"))  # two per file
        self.assertEqual(self.state_names(), {"reference": "done", "rollouts": "failed",
                                              "value": "left out", "alone": "done"})
        self.assertIn("No space left", self.states()["rollouts"]["error"])
        self.assertIn("results.h5", ended.err + ended.out)

    def test_a_stage_is_merged_or_resumed_by_its_directory(self):
        full = program.failpoint("results.create:3:ENOSPC")
        for is_merged in (True, False):
            with self.subTest(is_merged=is_merged):
                self.run_to(1, 1, config=self.config, env=full)
                [stage] = (self.output / "graph" / "stages" / "rollouts").glob("2*")
                if is_merged:
                    self.run_to(0, 1, "--merge", str(stage), config=None)
                else:
                    self.run_to(0, 1, f"--resume={stage}",
                                config=stage / "repro" / "config.resolved.yaml")
                with h5py.File(stage / "results.h5") as file:
                    self.assertEqual(file.attrs["status"], "complete")
                self.start_over()

    def test_a_stage_that_failed_once_begins_again(self):
        ended = self.run_to(0, 1, "experiment.retries=1", config=self.config,
                            env=program.failpoint("results.create:3:ENOSPC"))
        self.assertIn("stage rollouts failed and begins again", ended.out + ended.err)
        self.assertEqual(set(self.state_names().values()), {"done"})

    def test_states_that_cannot_be_written_end_no_stage(self):
        ended = self.run_to(0, 1, config=self.config,
                            env=program.failpoint("job_states.write:2:ENOSPC"))
        self.assertIn("job_states.json", ended.err + ended.out)
        self.assertEqual(set(self.state_names().values()), {"done"})

    def test_wrong_graphs_are_refused_before_any_work(self):
        alone = self.stages / "alone.yaml"
        reference = self.stages / "reference.yaml"
        cases = (
            (("experiment.stages=[]",), "needs `experiment.stages`"),
            (("experiment.stages=[a, a]",), "a stage comes twice"),
            (("experiment.stages=[nothing]",), "nothing.yaml"),
            (("experiment.after={alone: none}",), "the experiment has no stage `none`"),
            (("experiment.ranks={valu: 2}",), "did you mean `value`?"),
            (("experiment.stages=[]", "experiment.ranks={value: 2}"), "needs `experiment.stages`"),
            (("experiment.after={reference: value}",), "wait for each other"),
            (("experiment.ranks={alone: many}",), "no number of ranks"),
            (("run.schedule=dynamic",), "run.schedule"),
        )
        for arguments, words in cases:
            ended = self.run_program(1, *arguments, config=self.config)
            self.assertIn(ended.code, (66, 78), words)
            self.assertIn(words, ended.err)
            self.assertEqual(ended.err.count("error[") + ended.err.count("error:"), 1, ended.err)
        alone.write_text(alone.read_text().replace("name: alone", "name: reference"))
        self.assertIn("the same run.name and run.output", self.experiment(78, 1).err)
        self.write_stages(4)
        reference.write_text(reference.read_text().replace("job: train", "job: experiment"))
        self.assertIn("is an experiment itself", self.experiment(78, 2).err)
        self.assertFalse((self.output / "graph").exists())


class KilledExperiment(ExperimentCase):

    def kill_once(self, draws):
        """Starts the experiment and kills one or all ranks. Returns the exit code."""
        job = self.start(draws.choice((1, 2, 3, 4)), config=self.config, env=program.AT_ONCE)
        job.wait_until(lambda: False, deadline_s=draws.uniform(0.3, 4.0))
        for rank in job.ranks()[:draws.choice((1, 4))]:
            program.send(rank, signal.SIGKILL)
        return job.wait().code

    def test_kills_at_any_instant_give_the_same_bytes(self):
        self.write_stages(24)
        values = {"name": "guided", "output": self.output, "conf": CONF}
        (self.stages / "guided.yaml").write_text((COMMON + GUIDED).format(**values))
        self.config.write_text(CONFIG.replace("alone]", "alone, guided]"))
        self.experiment(0, 1)
        expected = self.contents()
        self.start_over()
        draws = random.Random(SEED)
        kills = 0
        while kills < KILLS:
            if self.kill_once(draws) != 0:
                kills += 1
                continue
            self.assertEqual(self.contents(), expected, f"after {kills} kills")
            self.start_over()
        self.experiment(0, 2)
        self.assertEqual(self.contents(), expected)


if __name__ == "__main__":
    program.main()
