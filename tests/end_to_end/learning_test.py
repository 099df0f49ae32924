"""Tests the promise of configurations and pages: agents improve within their context."""
import json
import sys

import program

sys.path.insert(0, str(program.TOP / "tests/docs"))
import page_numbers
import pages


class Learning(program.ProgramTest):

    def returns_of(self, name, *arguments, deadline_s):
        """Returns the mean return of each episode: of the agent, and of the two controls."""
        job = self.start(2, *arguments, config=program.TOP / f"conf/train/{name}.yaml")
        ended = job.wait(deadline_s=deadline_s)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        summary = json.loads((self.run_folder(name) / "summary.json").read_text())
        self.result = summary["result"]
        curves = [summary["series"][f"return_per_episode.{which}"]
                  for which in ("late", "hide_rewards", "clear_context")]
        self.assertEqual([len(curve) for curve in curves], [8] * 3)
        return curves

    def test_quickstart_learns_in_context_and_from_rewards_only(self):
        # A machine with two idle cores needs 30 s.
        late, hidden, cleared = self.returns_of("quickstart", deadline_s=570)

        # The maximum is 17.25, and chance has 0.25. The message has whole curves, since one number
        # says little.
        with self.subTest("a first episode is played without knowing the goal"):
            self.assertLessEqual(late[0], 4.0, late)
        with self.subTest("the last one with what the earlier ones showed"):
            self.assertGreaterEqual(late[7], 12.0, late)
        with self.subTest("which rewards alone can tell"):
            self.assertLessEqual(max(hidden), 1.0, hidden)
        with self.subTest("and the context alone keeps"):
            self.assertLessEqual(sum(cleared[-3:]) / 3 - sum(cleared[:3]) / 3, 1.0, cleared)
        with self.subTest("as the pages print"):
            self.expect_returns_of_pages(late, hidden, cleared)
            self.expect_result_of_readme()

    def expect_returns_of_pages(self, *curves):
        shown = page_numbers.returns_of_agents().values()
        self.assertEqual(len(shown), len(curves))
        for page, curve in zip(shown, curves):
            self.assertEqual(len(page), len(curve))
            for one, other in zip(page, curve):
                self.assertAlmostEqual(one, other, delta=page_numbers.RETURNS)

    def expect_result_of_readme(self):
        shown = page_numbers.result_of("README.md", "source 15.6")
        self.assertEqual(pages.shape(self.result), pages.shape(shown))
        first, *exact_1, last, eight, source, random, optimum, loss = page_numbers.numbers(shown)
        mine = page_numbers.numbers(self.result)
        self.assertEqual([*exact_1, eight, source, random, optimum], [mine[1], *mine[3:7]])
        self.assertAlmostEqual(first, mine[0], delta=page_numbers.RETURNS)
        self.assertAlmostEqual(last, mine[2], delta=page_numbers.RETURNS)
        self.assertAlmostEqual(loss, mine[7], delta=page_numbers.LOSS)

    def test_train_ad_cpu_learns_with_each_of_three_seeds(self):
        shown = page_numbers.counts_of(r"reaches (\S+), (\S+) and (\S+) in episode 8 with seeds 0, 1",
                                       "docs/train.md")
        for seed in range(3):
            with self.subTest(seed=seed):
                late, hidden, _ = self.returns_of("train_ad_cpu", f"run.seed={seed}",
                                                  "run.resume=never", deadline_s=390)
                self.assertLessEqual(late[0], 4.0, late)
                self.assertGreaterEqual(late[7], 15.0, late)
                self.assertAlmostEqual(late[7], shown[seed], delta=page_numbers.RETURNS)
                self.assertLessEqual(max(hidden), 1.0, hidden)


if __name__ == "__main__":
    program.main()
