"""Tests the promise of configurations: agents improve within their context."""
import json

import program


class Learning(program.ProgramTest):

    def returns_of(self, name, *arguments, deadline_s):
        """Mean return of each episode: of the agent, and of the two controls."""
        job = self.start(2, *arguments, config=program.TOP / f"conf/train/{name}.yaml")
        ended = job.wait(deadline_s=deadline_s)
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        summary = json.loads((self.run_folder(name) / "summary.json").read_text())
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

    def test_train_ad_cpu_learns_with_each_of_three_seeds(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                late, hidden, _ = self.returns_of("train_ad_cpu", f"run.seed={seed}",
                                                  "run.resume=never", deadline_s=390)
                self.assertLessEqual(late[0], 4.0, late)
                self.assertGreaterEqual(late[7], 15.0, late)  # README.md: 15.9 to 16.3
                self.assertLessEqual(max(hidden), 1.0, hidden)


if __name__ == "__main__":
    program.main()
