"""Recipe prm on latent states: equal bytes on any number of ranks, losses and areas as computed with
numpy, and refusals."""
import json
import signal
import sys

import h5py
import numpy
from safetensors.numpy import load_file

import collect_case
import program
import tiny_lm
from latent_test import LatentCase
from planted_trees import plant_answers

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers

QUESTIONS = 60


def areas(questions, logits, right):
    """Returns the mean area under the curve of the questions, by counting pairs."""
    found = []
    for question in numpy.unique(questions):
        mine = questions == question
        above, below = logits[mine & right], logits[mine & ~right]
        if len(above) and len(below):
            difference = above[:, None] - below[None, :]
            found.append((difference > 0).mean() + 0.5 * (difference == 0).mean())
    return numpy.mean(found)


class LatentPrm(LatentCase):
    TRAIN = program.HERE / "latent_prm.yaml"

    def setUp(self):
        super().setUp()
        self.questions = tiny_lm.write_rows(self.folder / "questions.jsonl",
                                            collect_case.questions(QUESTIONS))
        self.collect(0, 2, "collect.latent.store=f32")
        self.trees = plant_answers(self.run_folder() / "results.h5", self.folder / "planted.h5")
        self.assertGreater(self.count_nodes_with_states(), len(self.trees.right))

    def count_nodes_with_states(self):
        with h5py.File(self.trees.path) as file:
            return (file["arrays/samples/node_latents/values"][()] > 0).sum()

    def train(self, code, ranks, *more):
        if not any(key.startswith("data.path=") for key in more):
            more += (f"data.path={self.trees.path}",)
        return self.run_to(code, ranks, *more, config=self.TRAIN)

    def bytes_of(self):
        folder = self.run_folder("prm")
        with h5py.File(folder / "results.h5") as file:
            tables = {name: file[name][()].tobytes()
                      for name in ("metrics/train/loss", "metrics/eval/auc_within")}
        return tables, (folder / "ckpt/last/model.safetensors").read_bytes()

    def results(self):
        summary = json.loads((self.run_folder("prm") / "summary.json").read_text())
        return {name: result["value"] for name, result in summary["results"].items()}

    def logits(self):
        weights = load_file(self.run_folder("prm") / "ckpt/last/model.safetensors")
        weights = {name: value.astype(numpy.float64) for name, value in weights.items()}
        x = self.trees.means.astype(numpy.float64) @ weights["dense.weight"].T + weights["dense.bias"]
        erf = numpy.vectorize(__import__("math").erf)
        hidden = 0.5 * x * (1 + erf(x / numpy.sqrt(2)))
        return (hidden @ weights["score.weight"].T + weights["score.bias"])[:, 0]

    def test_1_2_and_4_ranks_give_the_same_bytes(self):
        self.train(0, 1, "prm.held_out=0.3")
        golden = self.bytes_of()
        for ranks in (2, 4):
            self.train(0, ranks, "prm.held_out=0.3", "run.resume=never")
            self.assertEqual(self.bytes_of(), golden, ranks)

    def test_an_unfinished_run_is_merged_and_goes_on(self):
        self.train(0, 1, "prm.held_out=0.3")
        golden = self.bytes_of()
        self.run_folder("prm").rename(self.folder / "golden")
        mark = self.folder / "mark"
        slow = program.failpoint("train.pass@0:80:sleep") | {"MGPU_FAILPOINT_MARK": str(mark)}
        job = self.start(1, f"data.path={self.trees.path}", "prm.held_out=0.3",
                         config=self.TRAIN, env=slow)
        self.assertTrue(job.wait_until(mark.exists))
        program.send(job.process.pid, signal.SIGUSR1)
        self.assertEqual(job.wait().code, 75)
        run = self.run_folder("prm")
        done = json.loads((run / "ckpt/last/state.json").read_text())["step"]
        self.assertLess(done, 60)
        merged = self.run_to(0, 1, "--merge", str(run), config=None)
        self.assertRegex(merged.out, rf"training +{done} of 60 steps")
        with h5py.File(run / "results.h5") as file:
            self.assertEqual(file["metrics/train/loss"].shape, (done,))
        self.train(0, 2, "prm.held_out=0.3")
        self.assertEqual(self.bytes_of(), golden)

    def test_a_planted_signal_is_learned_and_shuffled_labels_are_not(self):
        ended = self.train(0, 2, "prm.held_out=0.5", "train.max_steps=300")
        self.assertIn("AUC within", ended.out)
        found = self.results()
        self.assertGreater(found["eval_auc_within"], 0.8)
        self.assertGreater(found["eval_accuracy"], 0.75)
        shuffled = ("prm.held_out=0.5", "prm.shuffle_labels=true", "run.resume=never")
        self.train(0, 2, "train.max_steps=300", *shuffled)
        self.assertLess(self.results()["eval_auc_within"], 0.65)

    def test_the_area_is_that_of_numpy(self):
        self.train(0, 1, "train.max_steps=300")
        logits = self.logits()
        self.assertGreater(areas(self.trees.of_question, logits, self.trees.right), 0.8)
        config = json.loads((self.run_folder("prm") / "ckpt/last/config.json").read_text())
        self.assertEqual(config["model_type"], "mgpu_latent_reward_head")
        self.assertEqual(config["input_size"], self.trees.means.shape[1])
        # The loss at the first weights: a step of all nodes that changes nothing.
        self.train(0, 1, f"train.global_batch_size={len(logits)}", "train.lanes=1",
                   "train.max_steps=1", "train.learning_rate=1e-12", "run.resume=never")
        logits = self.logits()
        losses = numpy.log1p(numpy.exp(-numpy.abs(logits))) + numpy.maximum(logits, 0)
        expected = (losses - self.trees.right * logits).mean()
        self.assertAlmostEqual(self.results()["loss"], expected, delta=2e-5)

    def test_pairs_and_squares_are_learned(self):
        for loss in ("pairwise", "mse"):
            self.train(0, 2, f"prm.loss={loss}", "prm.held_out=0.5", "train.max_steps=300",
                       "run.resume=never")
            self.assertGreater(self.results()["eval_auc_within"], 0.8, loss)

    def test_the_example_has_both_labels_and_the_area_of_the_page(self):
        conf = program.TOP / "conf/collect/latent"
        trained = self.start(2, config=conf / "train.yaml").wait(deadline_s=900)
        self.assertEqual(trained.code, 0, trained.err)
        model = self.output / "chain_agents_model/latest/ckpt/last"
        self.run_to(0, 2, f"model.path={model}", config=conf / "collect.yaml")
        results = self.output / "chain_agents/latest/results.h5"
        self.run_to(0, 2, f"data.path={results}", config=conf / "prm.yaml")
        with h5py.File(results) as file:
            visits = file["arrays/samples/node_visits/values"][()]
            right = file["arrays/samples/node_right/values"][()]
        shares = right[visits > 0] / visits[visits > 0]
        self.assertGreater((shares == 0).mean(), 0.2)
        self.assertGreater((shares == 1).mean(), 0.2)
        found = self.run_folder("chain_agents_prm") / "summary.json"
        area = json.loads(found.read_text())["results"]["eval_auc_within"]["value"]
        shown, = page_numbers.counts_of(r"as collected \| (0\.\d+)", "docs/prm.md")
        self.assertAlmostEqual(area, shown, delta=0.05)
        for method in ("latent_mas", "text_mas", "single"):
            self.check_method(method, conf / "collect.yaml", model)

    def check_method(self, method, config, model):
        """Collects with a method of agents, and compares the shares with those of the page."""
        self.run_to(0, 2, f"model.path={model}", f"collect.agents.method={method}",
                    f"run.name={method}", config=config)
        found = json.loads((self.run_folder(method) / "summary.json").read_text())["results"]
        shown = page_numbers.counts_of(rf"`{method}` \| ([\d.]+) % \| ([\d.]+) %", "docs/collect.md")
        for name, percent in zip(("right", "vote_right"), shown, strict=True):
            self.assertAlmostEqual(100 * found[name]["value"], percent, delta=12)

    def test_what_cannot_be_learned_is_refused(self):
        for key, code, text in (
                (f"data.path={self.questions}", 78, "needs a result file of job collect"),
                ("train.seq_len=64", 78, "has no meaning with prm.input=latents"),
                (f"model.path={self.model}", 78, "has no meaning with prm.input=latents"),
                ("prm.head=two_class", 78, "has no meaning with prm.input=latents")):
            self.assertIn(text, self.train(code, 1, key).err)
        self.start_over()
        self.collect(0, 1, "collect.latent.store=none")
        bare = self.run_folder() / "results.h5"
        self.assertIn("the file has no latent states", self.train(65, 1, f"data.path={bare}").err)
        plan = self.train(0, 1, "--plan").out
        self.assertIn("latent states, at most", plan)


if __name__ == "__main__":
    program.main()
