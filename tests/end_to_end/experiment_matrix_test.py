"""Job experiment: stage files that are repeated for algorithms, data sets, etas and rounds."""
import json
import math
import re
import shutil

import program

try:
    import h5py
except ImportError:
    h5py = None

EXAMPLES = program.TOP / "conf" / "examples"

FILES = {
    "reference": """schema: 1
job: train
model: {{init: {small_lm}}}
data: {{path: {conf}/pairs/answers.jsonl}}
train: {{seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 2, learning_rate: 2e-3}}
checkpoint: {{keep: 1}}
""",
    "answers": """schema: 1
job: generate
model: {{path: "${{stage.reference}}/ckpt/last"}}
data: {{path: "{conf}/pairs/${{dataset}}.jsonl", max_samples: 12}}
generate: {{max_new_tokens: 4, num_samples: 2, do_sample: "true", temperature: 1}}
reward: {{functions: [regex], regex: e}}
""",
    "rollouts": 'include: ["rollouts_${{phase}}.yaml"]\n',
    "rollouts_first": "include: [answers.yaml]\n",
    "rollouts_later": """include: [answers.yaml]
generate: {{guide: {{path: "${{previous.value}}/ckpt/last", algorithm: qsharp, eta: 1}}}}
""",
    "value": """schema: 1
job: train
model: {{path: "${{stage.reference}}/ckpt/last"}}
data:
  path: ${{stage.rollouts}}/results.jsonl
  columns: {{token_ids: prompt_ids, completion_ids: output_ids, label: reward}}
train: {{recipe: value, seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 2}}
checkpoint: {{keep: 1}}
""",
    "alone": "include: [answers.yaml]\n",
    "qsharp": """include: [answers.yaml]
generate: {{guide: {{path: "${{stage.value}}/ckpt/last", algorithm: qsharp, eta: ${{eta}}}}}}
""",
    "cd": "include: [qsharp.yaml]\ngenerate: {{guide: {{algorithm: cd}}}}\n",
}


class MatrixCase(program.ProgramTest):

    def setUp(self):
        super().setUp()
        self.stages = self.folder / "stages"
        self.stages.mkdir()
        for name, text in FILES.items():
            self.write(name, text)
        self.config = self.folder / "experiment.yaml"
        self.config.write_text("schema: 1\njob: experiment\nrun: {name: matrix}\nexperiment:\n"
                               "  folder: stages\n"
                               "  algorithms: [qsharp, cd]\n"
                               "  datasets: [held_out]\n"
                               "  etas: [0.5]\n"
                               "  baseline: alone\n")

    def write(self, name, text):
        (self.stages / f"{name}.yaml").write_text(
            text.format(conf=EXAMPLES, small_lm=program.SMALL_LM))

    def experiment(self, code, ranks, *arguments):
        return self.run_to(code, ranks, *arguments, config=self.config)

    def states(self, name="matrix"):
        return json.loads((self.run_folder(name) / "job_states.json").read_text())

    def stage_states(self):
        return {stage["name"]: stage["state"] for stage in self.states()["stages"]}

    def plan(self, *arguments):
        """Returns the text about each stage in the plan."""
        text = " ".join(self.experiment(0, 1, "--plan", *arguments).out.split())
        return dict(re.findall(r"stage (\S+): (.*?)(?= stage \S+: job|$)", text))


class Matrix(MatrixCase):

    def test_cells_share_the_stages_that_do_not_differ(self):
        ended = self.experiment(0, 2)
        self.assertEqual(set(self.stage_states()), {
            "reference", "alone-held_out", "rollouts-held_out-r0", "value-held_out-r0",
            "qsharp-held_out-r0-eta0.5", "cd-held_out-r0-eta0.5"})
        cells = self.states()["cells"]
        self.assertEqual([cell["algorithm"] for cell in cells], ["alone", "qsharp", "cd"])
        self.assertEqual({cell["state"] for cell in cells}, {"EVAL_COMPLETED"})
        self.assertRegex(ended.out, r"algorithm +data set +round +eta +reward +KL per token +best")
        self.assertRegex(ended.out, r"qsharp +held_out +0 +0\.5 +\d\.\d{4} \[")
        with h5py.File(self.run_folder("matrix") / "results.h5") as file:
            self.assertEqual(file["cells/eta"].asstr()[:].tolist(), ["", "0.5", "0.5"])
            rewards, kl = file["cells/reward"][:], file["cells/kl"][:]
            self.assertTrue(math.isnan(kl[0]))
            best = file["cells/best_reward"][1:]
        self.assertTrue((best >= rewards[0]).all())
        results = json.loads((self.run_folder("matrix") / "summary.json").read_text())["results"]
        key = "qsharp-held_out-r0-eta0.5.reward"
        self.assertEqual(results[key]["value"], rewards[1])
        self.assertLess(results[key]["low"], results[key]["value"])
        page = (self.run_folder("matrix") / "report.html").read_text()
        for words in ("Reward of each algorithm", "Reward and KL, held_out", "Stages over time"):
            self.assertIn(words, page)

    def test_more_etas_data_sets_and_rounds_reuse_equal_stages(self):
        self.experiment(0, 2)
        more = ("experiment.etas=[0.5, 2]", "experiment.datasets=[held_out, train]",
                "experiment.rounds=2")
        plan = self.plan(*more)
        reused = {name for name, text in plan.items() if "reused from" in text}
        self.assertEqual(reused, set(self.stage_states()))
        self.assertEqual(len(plan), 1 + 2 + 2 * 2 * (2 + 2 * 2))
        self.assertIn("value-held_out-r0", plan["rollouts-held_out-r1"])
        self.experiment(0, 2, *more)
        self.assertEqual(sorted(self.stage_states().values()),
                         ["done"] * (len(plan) - 6) + ["reused"] * 6)
        self.assertEqual(len(self.states()["cells"]), 2 + 2 * 2 * 2 * 2)

    def test_rounds_wait_for_the_last_one_of_their_cell_or_of_all(self):
        lists = ("experiment.datasets=[held_out, train]", "experiment.rounds=2")
        plan = self.plan(*lists)
        own = ["qsharp-held_out-r0-eta0.5", "cd-held_out-r0-eta0.5"]
        other = [name.replace("held_out", "train") for name in own]
        words = plan["rollouts-held_out-r1"].split("; ")[0]
        self.assertTrue(all(name in words for name in own), words)
        self.assertFalse(any(name in words for name in other), words)
        words = plan["qsharp-held_out-r1-eta0.5"].split("; ")[0]
        self.assertNotIn("cd-", words)  # it waits for its own algorithm only
        words = self.plan(*lists, "experiment.round_barrier=true")["rollouts-held_out-r1"]
        self.assertTrue(all(name in words for name in own + other), words)

    def test_some_cells_can_be_selected(self):
        self.assertEqual(set(self.plan("experiment.select={algorithm: alone}")),
                         {"reference", "alone-held_out"})
        self.assertIn("cd-held_out-r0-eta0.5", self.plan(
            "experiment.select={algorithm: \"cd alone\", round: 0}"))
        chosen = self.plan("--select", "algorithm=CD,algorithm=alone,round=0")
        self.assertIn("cd-held_out-r0-eta0.5", chosen)
        self.assertNotIn("qsharp-held_out-r0-eta0.5", chosen)
        self.assertNotIn("qsharp-held_out-r0-eta0.5",
                         self.plan("experiment.algorithms={cd: true, qsharp: false}"))
        self.assertEqual(set(self.plan("experiment.algorithms=[alone]")),
                         {"reference", "alone-held_out"})

    def test_the_plan_shows_times_and_memory_and_refuses_what_fits_no_card(self):
        card = ("devices.world=4", "devices.gpu=v100_16gb")
        text = self.experiment(0, 1, "--plan", *card).out
        self.assertRegex(text, r"a  reference +0-3 +0\.000 s +0\.\d+ s +[\d.]+ MiB of 15\.8 GiB "
                               r"+guess")
        self.assertRegex(text, r"qsharp-held_out-r0-eta0\.5 +[\d-]+ +0\.\d+ s")
        self.assertRegex(text, r"ranks over 0\.\d+ s, each letter is")
        self.assertIn("longest chain", text)
        model = self.folder / "large"
        shutil.copytree(EXAMPLES / "tiny_lm" / "model", model)
        sizes = json.loads((model / "config.json").read_text())
        sizes |= {"hidden_size": 4096, "num_hidden_layers": 24,
                  "num_attention_heads": 32, "head_dim": 128, "intermediate_size": 14336}
        (model / "config.json").write_text(json.dumps(sizes))
        self.write("reference", FILES["reference"].replace("{small_lm}", str(model)))
        ended = self.run_program(1, "--plan", *card, config=self.config)
        self.assertEqual(ended.code, 71, ended.err)
        self.assertRegex(ended.err, r"E301.*\n.*\n? *stage +ranks +memory +key")
        self.assertRegex(ended.err, r"reference +4 +[\d.]+ GiB of 15\.8 GiB")
        self.write("reference", FILES["reference"])
        self.experiment(0, 2)  # the time of a finished run replaces the guess
        text = self.experiment(0, 1, "--plan", "run.seed=9").out
        self.assertRegex(text, r"reference .* as in \d{4}-")

    def test_a_failed_stage_fails_its_cells_and_no_others(self):
        self.write("value", FILES["value"].replace("label: reward", "label: no_column"))
        ended = self.experiment(1, 2)
        self.assertEqual({cell["algorithm"]: cell["state"] for cell in self.states()["cells"]},
                         {"alone": "EVAL_COMPLETED", "qsharp": "FAILED", "cd": "FAILED"})
        self.assertRegex(ended.out, r"qsharp +held_out +0 +0\.5 +FAILED")

    def test_wrong_matrices_are_refused_before_any_work(self):
        cases = (
            ("experiment.algorithms=[qsharpp]", "no algorithm `qsharpp`", "did you mean"),
            ("experiment.algorithms={cd: false}", "no algorithm is enabled", "{cd: true}"),
            ("experiment.algorithms={cd: maybe}", "whether algorithm cd is enabled", "true"),
            ("experiment.algorithms=[cd, cd]", "a name comes twice", "remove"),
            ("experiment.etas=[]", "`experiment.etas` is empty", "experiment.etas=[0.5]"),
            ("experiment.datasets=[a/b]", "unlike `a/b`", "folders"),
            ("experiment.baseline=alon", "no algorithm `alon`", "did you mean"),
            ("experiment.select={round: 3}", "no cell has the selected values", "rounds"),
            ("experiment.select={color: 3}", "neither algorithm", "experiment.select="),
            ("experiment.stages=[rollouts_later]", "no value in round 0", "${phase}"),
        )
        for argument, words, help_words in cases:
            ended = self.run_program(1, argument, config=self.config)
            self.assertEqual(ended.code, 78, argument + ended.err)
            self.assertIn(words, ended.err)
            self.assertIn(help_words, ended.err)
            self.assertEqual(ended.err.count("error[") + ended.err.count("error:"), 1, ended.err)
        self.write("reference", FILES["reference"] + "init: ${{stage.value}}\n")
        self.assertIn("value waits for ", self.experiment(78, 2).err)
        self.write("reference", FILES["reference"])
        self.write("alone-held_out", FILES["reference"])
        self.assertIn("two stages have the name alone-held_out",
                      self.experiment(78, 1, "experiment.stages=[alone-held_out]").err)
        self.assertFalse((self.output / "matrix").exists())

    def test_1_2_and_4_ranks_give_the_same_cells(self):
        found = []
        for ranks in (1, 2, 4):
            self.experiment(0, ranks, "experiment.rounds=2")
            path = self.run_folder("matrix") / "results.h5"
            with h5py.File(path) as file:
                found.append({name: column[:].tolist() for name, column in file["cells"].items()
                              if isinstance(column, h5py.Dataset)})
            self.output.rename(self.folder / f"outputs{ranks}")
        self.assertEqual(repr(found[0]), repr(found[1]))
        self.assertEqual(repr(found[0]), repr(found[2]))


if __name__ == "__main__":
    program.main()
