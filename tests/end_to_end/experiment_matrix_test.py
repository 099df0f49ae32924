"""Job experiment: stage files that are repeated for algorithms, data sets, etas and rounds."""
import json
import math
import pathlib
import re
import shutil
import sys

import program

try:
    import h5py
except ImportError:
    h5py = None

EXAMPLES = program.TOP / "conf" / "examples"
SHIPPED = program.TOP / "conf" / "experiment"

FILES = {
    "reference": """schema: 1
job: train
model: {{init: {conf}/tiny_lm/model}}
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
        (self.stages / f"{name}.yaml").write_text(text.format(conf=EXAMPLES))

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
        self.write("reference", FILES["reference"].replace("{conf}/tiny_lm/model", str(model)))
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


class Shipped(program.ProgramTest):

    def test_every_shipped_experiment_is_planned(self):
        for config in sorted(SHIPPED.glob("*.yaml")):
            if not (SHIPPED / config.stem).is_dir():
                continue  # its stages read outputs of the working directory
            ended = self.run_to(0, 1, "--plan", config=config, env=self.models_and_questions())
            self.assertIn("stage ", ended.out, config)

    def models_and_questions(self, train=600, test=20, answer=lambda i: i + 1):
        """Makes a hub cache with a small model for each model of the shipped experiments, and
        questions in the form of GSM8K. Returns environment variables with their folders."""
        hub = self.folder / "hub"
        names = {name for path in SHIPPED.glob("pita/models/*/*.yaml")
                 for name in re.findall(r": ([\w-]+/[\w.-]+)}", path.read_text())}
        self.assertGreater(len(names), 5)
        for name in names:
            model = hub / f"models--{name.replace('/', '--')}"
            if not model.exists():
                shutil.copytree(EXAMPLES / "tiny_lm" / "model", model / "snapshots" / "1")
                (model / "refs").mkdir()
                (model / "refs" / "main").write_text("1")
        questions = self.folder / "gsm8k"
        questions.mkdir(exist_ok=True)
        for split, rows in (("train", range(1000, 1000 + train)), ("test", range(test))):
            (questions / f"{split}.jsonl").write_text("".join(
                json.dumps({"question": f"What is {i}?", "answer": f"#### {answer(i)}"}) + "\n"
                for i in rows))
        return {"HF_HUB_CACHE": str(hub), "GSM8K": str(questions)}

    def copy(self, name, **changes):
        """Copies an experiment, with other values in its stage files: {file: {old: new}}."""
        shutil.copytree(EXAMPLES, self.folder / "conf" / "examples")
        there = self.folder / "conf" / "experiment"
        shutil.copytree(SHIPPED, there)
        for file, values in changes.items():
            path = there / name / f"{file}.yaml"
            text = path.read_text()
            for old, new in values.items():
                self.assertIn(old, text)
                text = text.replace(old, new)
            path.write_text(text)
        return there / f"{name}.yaml"

    def test_a_small_star_graph_follows_the_closed_form(self):
        command = {"python3 conf": f"{sys.executable} conf"}
        config = self.copy("star_graph", start={"max_steps: 1000": "max_steps: 600"},
                           reference={"max_steps: 1500": "max_steps: 600"},
                           value={"max_steps: 800": "max_steps: 400"},
                           grpo_train={"max_steps: 200": "max_steps: 10", **command},
                           dpo_train={"max_steps: 200": "max_steps: 10"})
        job = self.start(2, "experiment.algorithms=[qsharp, grpo, dpo]",
                         "experiment.etas=[0.5]", config=config)
        ended = job.wait(deadline_s=900)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        with h5py.File(self.run_folder("star_graph") / "results.h5") as file:
            names = file["cells/algorithm"].asstr()[:].tolist()
            reward = dict(zip(names, file["cells/reward"][:]))
            best = dict(zip(names, file["cells/best_reward"][:]))
        self.assertAlmostEqual(reward["reference_alone"], 0.5, delta=0.03)
        self.assertAlmostEqual(reward["qsharp"], 0.8808, delta=0.05)
        self.assertAlmostEqual(reward["qsharp"], best["qsharp"], delta=0.03)
        for control in ("grpo", "dpo"):
            self.assertAlmostEqual(reward[control], 0.5, delta=0.04)

    def test_a_tiny_arithmetic_runs_two_rounds(self):
        steps = {file: {f"max_steps: {old}": "max_steps: 3"}
                 for file, old in (("qsharp_value_first", 450), ("qsharp_value_later", 900),
                                   ("pita_value", 300), ("grpo_train", 100), ("proxy", 400))}
        command = {"python3 conf": f"{sys.executable} conf"}
        steps["grpo_train"] |= command
        config = self.copy("arithmetic", **steps, rollouts=command, judged=command,
                           data_sums={"50, rows: [3600, 100, 1200]": "6, rows: [70, 10, 18]"},
                           reference={"max_steps: 3000": "max_steps: 100"})
        job = self.start(2, config=config)
        ended = job.wait(deadline_s=600)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        with h5py.File(self.run_folder("arithmetic") / "results.h5") as file:
            cells = list(zip(file["cells/algorithm"].asstr()[:], file["cells/round"].asstr()[:]))
        guided = [(name, number) for name in ("pita", "qsharp") for number in "01" for _ in range(2)]
        self.assertEqual(sorted(cells), [("grpo", ""), ("grpo_hf", ""), *guided,
                                         ("reference_alone", "")])
        stages = self.run_folder("arithmetic").parent / "stages"
        rounds = ["judged-sums/latest/pairs.jsonl", "pairs-sums-r1/latest/pairs.jsonl"]
        joined, = stages.glob("pairs-sums-r1/2*/all_rounds_*/pairs.jsonl")
        self.assertEqual(joined.read_bytes(), b"".join((stages / r).read_bytes() for r in rounds))

    def sometimes_right_model(self, variables):
        """Replaces the models of the hub cache by one that answers 5 or 6 at random."""
        keys = ("data.synthetic_texts=0", "data.dataset=gsm8k", f"data.gsm8k.path={variables['GSM8K']}",
                "data.gsm8k.validation_rows=4", "train.max_steps=60", "train.seq_len=128",
                "train.global_batch_size=16", "run.name=guesses")
        self.run_to(0, 2, *keys, config=program.TOP / "conf/train/tiny_lm.yaml")
        trained = self.output / "guesses" / "latest" / "ckpt" / "last"
        for model in pathlib.Path(variables["HF_HUB_CACHE"]).iterdir():
            shutil.rmtree(model / "snapshots" / "1")
            shutil.copytree(trained, model / "snapshots" / "1")

    def test_a_tiny_pita_runs_two_rounds(self):
        variables = self.models_and_questions(train=20, test=4, answer=lambda i: 5 + i * 7 % 2)
        self.sometimes_right_model(variables)
        config = self.copy("pita", data_gsm8k={"path: $GSM8K": "path: $GSM8K, validation_rows: 4"},
                           answers={"max_new_tokens: 512": "max_new_tokens: 24"},
                           grpo_train={"max_new_tokens: 512": "max_new_tokens: 24"},
                           train={"max_steps: 1000": "max_steps: 2", "seq_len: 1024": "seq_len: 128"},
                           judge_gsm8k={"python3 conf": f"{sys.executable} conf"})
        job = self.start(2, "experiment.models=[gpt2]", "experiment.etas=[1]", config=config,
                         env=variables)
        ended = job.wait(deadline_s=600)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        with h5py.File(self.run_folder("pita") / "results.h5") as file:
            self.assertEqual(len(file["cells/algorithm"]), 8)
            self.assertTrue((file["cells/state"].asstr()[:] == "EVAL_COMPLETED").all(),
                            file["cells/state"].asstr()[:])
        stages = self.run_folder("pita").parent / "stages"
        for stage in ("rollouts-gsm8k-gpt2-r1", "ends-gsm8k-gpt2", "guided_ends-gsm8k-gpt2-r1"):
            file, = (stages / stage).glob("2*/results.h5")
            self.run_to(0, 1, "--export", "jsonl", str(file.parent), config=None)
            rows = [json.loads(line) for line in
                    (file.parent / "results.jsonl").read_text().splitlines()]
            self.assertEqual({row["reward"] for row in rows}, {0, 1}, stage)
            for row in rows:
                number = int(re.search(r"What is (\d+)", row["prompt"])[1])
                right = f"boxed{{{5 + number * 7 % 2}}}" in row["output"]
                self.assertEqual(row["reward"], float(right), row)


if __name__ == "__main__":
    program.main()
