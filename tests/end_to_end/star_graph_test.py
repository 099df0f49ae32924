"""Follows docs/star_graph.md: a value model guides a reference on star graphs as the closed form says,
and methods without a value model stay at chance."""
import json
import math
import re
import sys

import program
from shipped_experiment import ShippedExperiment

sys.path.insert(0, str(program.TOP / "tests/docs"))
import pages

CONF = program.TOP / "conf/examples/star_graph"
PAGE = program.TOP / "docs/star_graph.md"


def best_accuracy(right, strength):
    """Returns the accuracy of the best policy, where exp(strength) is the weight of right paths."""
    return right * math.exp(strength) / (right * math.exp(strength) + 1 - right)


def best_kl(right, eta):
    """Returns the KL of a path from the reference under the best policy for QSharp."""
    return best_accuracy(right, 1 / eta) / eta - math.log(right * math.exp(1 / eta) + 1 - right)


def same(case, number, text, seed, delta):
    """Compares a number with that of `seed` in a cell of the page."""
    case.assertAlmostEqual(number, float(text.split(", ")[seed]), delta=delta)


def check_tables(case, cells, seed):
    """Compares {(algorithm, eta): (accuracy, KL per token)} with the tables of the page."""
    for eta, _, qsharp, cd, _, kl_qsharp, kl_cd in pages.table("star graph: qsharp and cd", PAGE):
        for algorithm, shown, kl in (("qsharp", qsharp, kl_qsharp), ("cd", cd, kl_cd)):
            if shown:  # an empty cell has no number
                same(case, cells[algorithm, eta][0], shown, seed, 0.03)
                same(case, cells[algorithm, eta][1], kl, seed, 0.02)
    for model, eta, _, shown, kl in pages.table("star graph: pita", PAGE):
        algorithm = model.strip("`").removesuffix(".yaml")
        same(case, cells[algorithm, eta][0], shown, seed, 0.03)
        same(case, cells[algorithm, eta][1], kl, seed, 0.02)
    for recipe, shown, _ in pages.table("star graph: controls", PAGE):
        same(case, cells[recipe.lower(), ""][0], shown, seed, 0.04)


class StarGraph(program.ProgramTest):

    def model(self, name):
        return f"{self.output}/{name}/latest/ckpt/last"

    def file(self, name, kind):
        return f"{self.output}/{name}/latest/{kind}.jsonl"

    def run_step(self, step, *more, name=None):
        """Runs a configuration, and returns the results of its run."""
        config = CONF / f"{step}.yaml"
        name = name or f"star_{step}"
        ended = self.start(2, *more, config=config).wait(deadline_s=600)
        self.assertEqual(ended.code, 0, ended.err)
        return json.loads((self.run_folder(name) / "summary.json").read_text())["results"]

    def draw_paths(self, *more):
        """Draws the paths that value models learn, and writes them as rows and pairs."""
        reference = f"model.path={self.model('star_reference')}"
        self.run_step("rollouts", reference, *more)
        self.run_step("held_out", reference, *more, "data.split=validation")
        for name in ("star_rollouts", "star_held_out"):
            for kind in ("jsonl", "pairs"):
                self.run_to(0, 1, "--export", kind, f"{self.output}/{name}/latest", config=None)

    def train(self, step, kind, *more, start="star_reference", name=None):
        return self.run_step(step, f"model.path={self.model(start)}",
                             f"data.path={self.file('star_rollouts', kind)}",
                             f"data.eval_path={self.file('star_held_out', kind)}", *more, name=name)

    def alone(self, *more):
        results = self.run_step("sampled", f"model.path={self.model('star_reference')}",
                                "generate.reference=null", *more)
        return results["score"]["value"]

    def guided(self, guide, algorithm, eta, *more):
        """Returns the accuracy on test graphs, and the KL per token."""
        results = self.run_step("guided", f"model.path={self.model('star_reference')}",
                                f"generate.guide.path={self.model(guide)}",
                                f"generate.guide.algorithm={algorithm}",
                                f"generate.guide.eta={eta}", *more)
        return results["score"]["value"], results["kl"]["value"]

    def sampled(self, name, *more):
        results = self.run_step("sampled", f"model.path={self.model(name)}",
                                f"generate.reference={self.model('star_reference')}", *more)
        return results["score"]["value"], results["kl"]["value"]

    def held_out_error(self, *more):
        """Returns the binary cross-entropy of the value model on held-out paths. The loss also has
        the cross-entropy of tokens, with weight value.lm_weight, so two weights give both."""
        half, one = (self.train("value", "results", f"value.lm_weight={weight}", "train.max_steps=1",
                                "train.learning_rate=1e-12", "train.warmup_steps=0",
                                "train.eval_every=1", f"run.name=weight_{weight}", *more,
                                start="star_value", name=f"weight_{weight}")["eval_loss"]["value"]
                     for weight in (0.5, 1))
        return 2 * half - one

    def check_page(self, key):
        """Runs all commands of the page. Returns {(algorithm, eta): (accuracy, KL per token)}."""
        cells = {}
        self.run_step("start", key)
        self.run_step("reference", key, f"model.path={self.model('star_start')}")
        self.draw_paths(key)
        right = self.alone(key)
        self.assertAlmostEqual(right, 0.5, delta=0.03)
        self.train("value", "results", key)
        self.assertLess(self.held_out_error(key), math.log(2) / 3 + 0.01)
        for eta in ("0.1", "0.5", "1"):
            accuracy, kl = cells["qsharp", eta] = self.guided("star_value", "qsharp", eta, key)
            self.assertAlmostEqual(accuracy, best_accuracy(right, 1 / float(eta)), delta=0.03)
            self.assertAlmostEqual(kl, best_kl(right, float(eta)) / 3, delta=0.03)
        for eta in ("0.5", "1"):
            accuracy, _ = cells["cd", eta] = self.guided("star_value", "cd", eta, key)
            self.assertAlmostEqual(accuracy, best_accuracy(right, 1 / float(eta)), delta=0.02)
        self.train("pita_hard", "pairs", key)
        cells["pita_hard", "1"] = self.guided("star_pita_hard", "pita", "1", key)
        self.assertGreaterEqual(cells["pita_hard", "1"][0], 0.97)
        self.train("pita", "pairs", key, start="star_pita_hard")
        for eta in ("0.5", "1"):
            accuracy, _ = cells["pita", eta] = self.guided("star_pita", "pita", eta, key)
            self.assertAlmostEqual(accuracy, best_accuracy(right, 2 / float(eta)), delta=0.03)
        return cells | self.controls(key)

    def controls(self, key):
        self.train("dpo", "pairs", key)
        for step in ("grpo", "reinforce"):
            self.run_step(step, key, f"model.path={self.model('star_reference')}",
                          f"reward.command={sys.executable} {CONF}/reward.py")
        cells = {}
        for name in ("dpo", "grpo", "reinforce"):
            accuracy, kl = cells[name, ""] = self.sampled(f"star_{name}", key)
            self.assertAlmostEqual(accuracy, 0.5, delta=0.04)
            self.assertGreater(kl, 0.01)
        return cells

    def test_the_whole_page(self):
        check_tables(self, self.check_page("run.seed=1"), seed=1)


class StarGraphExperiment(ShippedExperiment):

    def cells_of(self, *keys):
        """Runs the experiment. Returns {(algorithm, eta): (reward, KL per token)}; "" is no eta."""
        self.run_experiment("star_graph", *keys)
        cells = self.cells("star_graph")
        return {(algorithm, eta): numbers for algorithm, eta, *numbers in
                zip(cells["algorithm"], cells["eta"], cells["reward"], cells["kl"])}

    def check_guides(self, cells, algorithms, right, eta, tolerance):
        for algorithm in algorithms:
            reward, kl = cells[algorithm, eta]
            self.assertAlmostEqual(reward, best_accuracy(right, 1 / float(eta)), delta=tolerance)
            self.assertAlmostEqual(kl, best_kl(right, float(eta)) / 3, delta=0.03)

    def test_a_short_one_follows_the_closed_form(self):
        self.change("experiment/star_graph", start={"max_steps: 1000": "max_steps: 250"},
                    reference={"max_steps: 1500": "max_steps: 450"},
                    rollouts={"max_samples: 40000": "max_samples: 10000"},
                    evaluation={"split: test": "split: test, max_samples: 2000"},
                    value={"max_steps: 800": "max_steps: 300"})
        cells = self.cells_of("experiment.algorithms=[qsharp, cd]", "experiment.etas=[0.5]")
        right, _ = cells["reference_alone", ""]
        self.assertAlmostEqual(right, 0.5, delta=0.03)
        self.check_guides(cells, ("qsharp", "cd"), right, "0.5", 0.05)

    def check_matrix(self, cells):
        """Compares the rewards of all cells with the matrix of docs/experiment.md."""
        text = pages.block_with("docs/experiment.md", "qsharp           g_2_3")
        shown = re.findall(r"^(\w+) +g_2_3 +([01](?:\.\d)?(?= ))? +(\d\.\d{4}) \[", text, re.MULTILINE)
        self.assertEqual({row[:2] for row in shown}, set(cells))
        for algorithm, eta, reward in shown:
            # A strong guide follows the errors of its value model, which processors change.
            delta = 0.4 if algorithm.startswith("pita") and eta in ("0.1", "0.5") else 0.04
            self.assertAlmostEqual(cells[algorithm, eta][0], float(reward), delta=delta,
                                   msg=f"{algorithm} {eta}")

    def test_the_experiment_has_the_numbers_of_the_pages(self):
        cells = self.cells_of()
        check_tables(self, cells, seed=0)
        self.check_matrix(cells)
        right, _ = cells["reference_alone", ""]
        self.check_guides(cells, ("qsharp", "cd"), right, "1", 0.03)


if __name__ == "__main__":
    program.main()
