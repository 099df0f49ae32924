"""Tests grpo.refill, which replaces groups whose rewards are all equal by groups of the next prompts."""
import collections
import json
import sys

import program
from recipe_case import RecipeCase

GROUP, GROUPS, STEPS = 4, 6, 6
SEVERAL = ("grpo.num_iterations=2", "grpo.beta=0.05", "checkpoint.every=1")

# Writes each reward to a file, so that a test can replay which groups are replaced.
COMMAND = """
import json, pathlib, sys
log = open(sys.argv[1], "a")
most = int(sys.argv[2])
ended = pathlib.Path(sys.argv[1] + ".ended")  # so that it also fails when it is started again
rows = 0
for line in sys.stdin:
    row = json.loads(line)
    rows += 1
    if most and (rows > most or ended.exists()):
        ended.touch()
        sys.exit("no more scores")
    reward = float("e" in row["completion"])
    reward = None if "q" in row["completion"] else reward
    log.write(json.dumps([row["prompt"], row["completion"], reward]) + "\\n")
    log.flush()
    print(json.dumps({"row": row["row"], "reward": reward}), flush=True)
"""


def is_equal(group):
    """Returns whether all rewards of a group that are not None are equal."""
    return len({reward for reward in group if reward is not None}) < 2


def mean(rewards):
    given = [reward for reward in rewards if reward is not None]
    return sum(given) / len(given)


class Replay:
    """Replaces groups of a list as the page says, one step after the other."""

    def __init__(self, groups, limit):
        self.stock = collections.deque(groups)
        self.limit = limit

    def step(self):
        batch = [self.stock.popleft() for _ in range(GROUPS)]
        first = [reward for group in batch for reward in group]
        refilled = 0
        for _ in range(self.limit):
            for place in [place for place in range(GROUPS) if is_equal(batch[place])]:
                batch[place] = self.stock.popleft()
                refilled += 1
        return {"reward": mean([reward for group in batch for reward in group]),
                "reward_before_refill": mean(first), "refilled_groups": refilled,
                "zero_variance_share": sum(map(is_equal, batch)) / GROUPS}


class GrpoRefill(RecipeCase):
    CONFIG = program.TOP / "conf/train/grpo.yaml"
    KEYS = ("run.name=tiny", "model.path=null", f"model.init={program.SMALL_LM}",
            f"train.max_steps={STEPS}", f"train.global_batch_size={GROUP * GROUPS}",
            "train.lanes=4", f"grpo.group_size={GROUP}", "grpo.max_new_tokens=6",
            "reward.functions={regex: 1}", "reward.regex=e", "grpo.refill=2")

    def command(self, most=0):
        """Writes COMMAND to a file and returns the keys that run it. It ends after `most` rows."""
        script = self.folder / "reward.py"
        script.write_text(COMMAND)
        self.log = self.folder / "rewards.jsonl"
        return ("reward.functions=[command]", "reward.regex=null",
                f"reward.command={sys.executable} {script} {self.log} {most}")

    def test_groups_are_replaced_as_a_replay_of_all_groups_says(self):
        # Without changes of the weights, a prompt's completions depend on its number only.
        still = (*self.command(), "train.learning_rate=0")
        self.train(1, *still, "grpo.refill=0", f"train.max_steps={4 * STEPS}")
        rewards = [json.loads(line)[2] for line in self.log.read_text().splitlines()]
        groups = [rewards[i:i + GROUP] for i in range(0, len(rewards), GROUP)]
        self.assertTrue(0.1 < sum(map(is_equal, groups)) / len(groups) < 0.9)
        for limit in (1, 3):
            self.train(2, *still, f"grpo.refill={limit}", "--resume=never")
            train = self.columns("metrics/train")
            replay = Replay(groups, limit)
            for step in range(STEPS):
                for name, value in replay.step().items():
                    self.assertAlmostEqual(train[name][step], value, places=12, msg=(step, name))
        self.assertGreater(sum(train["refilled_groups"]), 0)
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("mean reward before groups were replaced", page)

    def test_1_2_and_4_ranks_give_the_same_bytes(self):
        for more in ((), (*SEVERAL, "grpo.refill=5", "grpo.temperature=0.8")):
            golden = self.golden(*more)
            for ranks in (2, 4):
                self.train(ranks, *more, "--resume=never")
                self.assertEqual(self.bytes_of(), golden, (ranks, more))
            train = self.columns("metrics/train")
            self.assertGreater(train["refilled_groups"].max(), 0)
            self.assertEqual(set(train["log_prob_difference"]), {0.0})

    def test_killed_runs_continue_with_the_same_prompts(self):
        for more, passes in ((("checkpoint.every=1",), 14), (SEVERAL, 14), (SEVERAL, 18)):
            golden = self.golden(*more)
            kill = program.failpoint(f"train.pass:{passes}:kill")  # 4 passes per step on a rank
            self.train(1, *more, "--resume=never", code=137, env=kill)
            runs = self.num_runs()
            self.train(2, *more)
            self.assertEqual(self.num_runs(), runs)
            self.assertEqual(self.bytes_of(), golden, (passes, more))

    def test_ranks_fail_together_when_a_reward_fails_in_a_later_round(self):
        half = GROUP * GROUPS // 2  # the completions that a rank samples first
        ended = self.run_program(2, *self.keys_with(self.command(half + 1)), config=self.CONFIG)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("E551", ended.err)
        self.assertIn("no more scores", ended.err)
        self.assertGreaterEqual(len(self.log.read_text().splitlines()), 2 * half)

    def test_a_variant_that_learns_from_equal_rewards_refuses(self):
        ended = self.train(1, "grpo.variant=reinforce", code=78)
        self.assertIn("also learns from groups whose rewards are all equal", ended.err)


if __name__ == "__main__":
    program.main()
