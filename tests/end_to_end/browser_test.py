"""Opens report.html of each job in a headless browser, with light and dark colors, wide and narrow."""
import unittest

import browser
import classify_test
import dpo_test
import experiment_matrix_test
import experiment_test
import grpo_test
import latent_test
import prm_case
import program
import teacher_case
import value_case
from recipe_case import RecipeCase

CHECKS = (program.HERE / "page_checks.js").read_text()
VIEWS = (("light", 1280), ("dark", 1280), ("light", 400))


class Pages:
    """Checks pages in a browser, which each test starts."""

    def setUp(self):
        super().setUp()
        if not browser.PROGRAM:
            self.skipTest("chromium-headless-shell is not installed")
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)

    def check(self, page):
        """Checks colors, layout, requests and logged errors of a page in all views."""
        grounds = set()
        for scheme, width in VIEWS:
            with self.subTest(page=page.parent.parent.name, scheme=scheme, width=width):
                self.browser.open(page, scheme, width)
                grounds.add(self.browser.evaluate(
                    "getComputedStyle(document.body).backgroundColor"))
                self.assertEqual(self.browser.requests(), [page.as_uri()])
                self.assertEqual(self.browser.errors(), [])
                self.assertEqual(self.browser.evaluate(CHECKS), [])
        self.assertEqual(len(grounds), 2, "light and dark pages have the same background")

    def check_run(self, name="tiny"):
        self.check(self.run_folder(name).resolve() / "report.html")

    def shown_view(self, selector):
        """Returns the text in the box of an element; None if the box is not visible."""
        return self.browser.evaluate(
            f"(() => {{ const s = getComputedStyle(document.querySelector('{selector}'), '::after');"
            "return s.content === 'none' || s.visibility !== 'visible' ? null : s.content; })()")


class Algorithms(Pages, program.ProgramTest):

    def test_algorithm_distillation(self):
        self.run_to(0, 2)
        self.check_run()


class Experiments(Pages, experiment_test.ExperimentCase):

    def test_experiment_with_stages(self):
        self.experiment(0, 2)
        self.check_run("graph")


class Matrices(Pages, experiment_matrix_test.MatrixCase):

    def test_matrix_of_algorithms(self):
        self.run_to(0, 1, config=self.config)
        self.check_run("matrix")


class Groups(Pages, RecipeCase):
    CONFIG, KEYS = grpo_test.Grpo.CONFIG, grpo_test.Grpo.KEYS

    def test_completions_with_rewards(self):
        self.train(1)
        self.check_run()
        start = self.run_folder() / "ckpt/last"
        self.train(1, "run.name=second", "model.init=null", f"model.path={start}",
                   "grpo.beta=0.05", "grpo.num_iterations=2")
        self.check_run("second")
        page = self.browser.evaluate("document.body.innerText")
        for text in ("Rewards", "Shares", "Length of completions", "Answers before and after",
                     "Entropy and distance from the start model", "mean KL estimate of a token"):
            self.assertIn(text, page)


class Pairs(Pages, RecipeCase):
    CONFIG = dpo_test.Dpo.CONFIG

    def test_preference_pairs(self):
        self.train(1)
        self.check_run()
        for name in ("reward", "kto"):
            self.CONFIG = program.TOP / f"conf/train/{name}.yaml"
            self.train(1, f"run.name={name}")
            self.check_run(name)


class Guides(Pages, value_case.ValueCase):

    def test_value_model_guided_run_and_comparison(self):
        self.train(1)
        self.check_run()
        rewards = ("reward.functions=[regex]", "reward.regex=[aeiou]", "generate.num_samples=4")
        self.generate(1, *rewards, "run.name=alone")
        self.generate(1, *rewards, guide=self.value_folder())
        self.check_run("guided")
        self.assertIn("KL", self.browser.evaluate("document.body.innerText"))
        folders = [self.run_folder(name).resolve() for name in ("alone", "guided")]
        self.run_to(0, 1, "--compare", *folders, config=None)
        [page] = folders[1].glob("*compar*.html")
        self.check(page)


class Trees(Pages, prm_case.PrmCase):

    def test_trees_and_searches(self):
        trees = self.collect()
        self.check_run()
        self.assertIsNone(self.shown_view(".tree .t"))
        self.browser.click(".tree .t")
        self.assertIn("Path 0, step 1: value", self.shown_view(".tree .t"))
        self.train(1, f"data.path={trees}")
        self.check_run("prm")
        self.search(1)
        self.check_run("search")


class Agents(Pages, latent_test.LatentCase):

    def test_agents(self):
        self.collect(0, 1)
        self.check_run()


class Teachers(Pages, teacher_case.TeacherCase):

    def test_teacher(self):
        self.teach(0, 2)
        self.check_run()


class Labels(Pages, classify_test.ClassifyCase):

    def test_labels(self):
        self.classify(0, 2)
        self.check_run()


class Control(Pages, program.ProgramTest):

    def test_faults_of_a_page_are_found(self):
        page = self.folder / "page.html"
        page.write_text("<body style='margin:0'><img src='http://127.0.0.1:9/a.png'>"
                        "<p style='color:#ccc;background:#fff'>pale</p>"
                        "<div style='width:3000px'>wide</div>"
                        "<figure><svg><text x=9 y=20>one</text><text x=9 y=20>two</text></svg>")
        self.browser.open(page, "light", 1280)
        self.assertEqual(len(self.browser.requests()), 2)
        self.assertNotEqual(self.browser.errors(), [])
        faults = " ".join(self.browser.evaluate(CHECKS))
        for fault in ('"pale": contrast 1.6', "pixels wider", '"two" covers "one"'):
            self.assertIn(fault, faults)


if __name__ == "__main__":
    program.main()
