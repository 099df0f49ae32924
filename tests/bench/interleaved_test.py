"""Tests that the interleaved benchmark tells a slower program from noise."""
import math
import random
import sys
import unittest

try:
    import safetensors.numpy  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import ratio
from cpu_time import run_timed
from interleaved import run_round, verdict

BURN = "import time\nwhile time.process_time() < 0.3: pass"


class IntervalOfTheMedian(unittest.TestCase):

    def test_of_nine_rounds_the_outermost_are_left_out(self):
        self.assertEqual(ratio.interval([9, 1, 8, 2, 7, 3, 6, 4, 5]), (2, 8))

    def test_of_six_rounds_all_are_needed(self):
        self.assertEqual(ratio.interval([1, 2, 3, 4, 5, 6]), (1, 6))
        with self.assertRaises(ValueError):
            ratio.interval([1, 2, 3, 4, 5])

    def test_it_holds_the_median_in_at_least_95_of_100_cases(self):
        draw = random.Random(0)
        for count in (6, 9, 15):
            held = 0
            for _ in range(4000):
                low, high = ratio.interval([math.exp(draw.gauss(0, 1)) for _ in range(count)])
                held += low <= 1 <= high
            self.assertGreaterEqual(held / 4000, 0.95, count)


class Verdicts(unittest.TestCase):

    def test_a_slower_program_is_slower_though_two_rounds_were_disturbed(self):
        noise = (-0.01, 0.01, 0.0, 0.005, -0.005, 0.002, -0.002, 0.4, -0.3)
        self.assertEqual(verdict([0.95 + one for one in noise])[3], True)

    def test_noise_and_gains_are_not_slower(self):
        noise = (-0.05, 0.05, -0.03, 0.03, -0.01, 0.01, 0.0, -0.04, 0.02)
        for middle in (0.97, 1.0, 1.2):
            self.assertEqual(verdict([middle + one for one in noise])[3], False)


class Measured(unittest.TestCase):

    def test_processes_of_processes_count(self):
        seconds = run_timed(["sh", "-c", 'for i in 1 2; do "$0" -c "$1"; done; true',
                             sys.executable, BURN])
        self.assertGreaterEqual(seconds, 0.6)

    def test_a_command_that_fails_ends_the_benchmark(self):
        with self.assertRaisesRegex(SystemExit, "sh ended with exit code 3"):
            run_timed(["sh", "-c", "exit 3"])

    def test_programs_take_turns_and_keep_their_places(self):
        begun = []
        old, new = Stub("old", 2.0, begun), Stub("new", 3.0, begun)
        self.assertEqual([run_round(number, [old, new], "ad") for number in (0, 1)],
                         [(2.0, 3.0), (2.0, 3.0)])
        self.assertEqual(begun, ["old", "new", "new", "old"])

    def test_other_work_is_refused(self):
        programs = [Stub("old", 2.0, []), Stub("new", 1.0, [], done=7)]
        with self.assertRaisesRegex(SystemExit, "not the same work"):
            run_round(0, programs, "ad")


class Stub:
    """A program that uses the requested seconds."""

    def __init__(self, name, seconds, begun, done=8):
        self._name, self._result, self._begun = name, (seconds, done), begun

    def run(self, _):
        self._begun.append(self._name)
        return self._result


if __name__ == "__main__":
    unittest.main(verbosity=2)
