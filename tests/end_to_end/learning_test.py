"""What conf/quickstart.yaml promises: an agent that improves within its context."""
import json

import program


class Learning(program.ProgramTest):

    def test_quickstart_learns_in_context_and_from_rewards_only(self):
        job = self.start(2, config=program.TOP / "conf" / "quickstart.yaml")
        ended = job.wait(deadline_s=570)  # of 600; a machine with two idle cores needs 30
        self.assertEqual(ended.code, 0, ended.out[-2000:] + ended.err[-2000:])
        summary = json.loads((self.run_folder("quickstart") / "summary.json").read_text())
        late, hidden, cleared = (summary["series"][f"return_per_episode.{which}"]
                                 for which in ("late", "hide_rewards", "clear_context"))
        for returns in (late, hidden, cleared):
            self.assertEqual(len(returns), 8)

        # Of at most 17.25; chance has 0.25. Whole curves in the message: one number says little.
        with self.subTest("a first episode is played without knowing the goal"):
            self.assertLessEqual(late[0], 4.0, late)
        with self.subTest("the last one with what the earlier ones showed"):
            self.assertGreaterEqual(late[7], 12.0, late)
        with self.subTest("which rewards alone can tell"):
            self.assertLessEqual(max(hidden), 1.0, hidden)
        with self.subTest("and the context alone keeps"):
            self.assertLessEqual(sum(cleared[-3:]) / 3 - sum(cleared[:3]) / 3, 1.0, cleared)


if __name__ == "__main__":
    program.main()
