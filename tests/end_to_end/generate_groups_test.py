"""Job generate with models on several ranks, and with too little memory."""
import re

from generate_case import GREEDY, GenerateCase
import program
import tiny_lm


class Groups(GenerateCase):
    """Tests one model on several ranks."""

    def test_layers_on_two_ranks_give_the_bytes_of_one(self):
        self.generate(0, 1)
        golden = self.sha256()
        for ranks, keys in ((2, ("--gpus-per-model=2",)),
                            (3, ("devices.groups=[1, 2]", "generate.batch_size=3")),
                            (2, ("devices.groups=[2]", "model.device_map=[0, 1]"))):
            self.start_over()
            ended = self.generate(0, ranks, *keys)
            self.assertEqual(self.sha256(), golden, keys)
            self.assertIn("(pipeline)", ended.out)

    def test_layers_with_a_bfloat16_cache_give_the_bytes_of_one_rank(self):
        self.generate(0, 1)
        exact = self.rows()
        self.start_over()
        keys = ("generate.kv_cache_dtype=bfloat16",)
        self.generate(0, 1, *keys)
        golden = self.sha256()
        differences = [abs(ours - theirs) for row, expected in zip(self.rows(), exact, strict=True)
                       for ours, theirs in zip(row["prompt_log_probs"][1:],
                                               expected["prompt_log_probs"][1:], strict=True)]
        self.assertLess(max(differences), 0.05)
        self.assertGreater(max(differences), 1e-6)
        self.start_over()
        self.generate(0, 3, *keys, "devices.groups=[1, 2]", "generate.batch_size=3")
        self.assertEqual(self.sha256(), golden)

    def test_a_killed_run_goes_on_in_other_groups(self):
        self.generate(0, 1)
        golden = self.sha256()
        self.start_over()
        for place, ranks, keys in (("ledger.write:4", 3, "devices.groups=[1, 2]"),
                                   ("ledger.write@0:2", 2, "devices.gpus_per_model=2"),
                                   ("results.write:1", 1, "devices.groups=[1]")):
            self.generate(137, ranks, keys, env=program.failpoint(f"{place}:kill"))
        self.generate(0, 3, "devices.groups=[2, 1]")
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_heads_on_two_ranks_give_the_greedy_tokens_of_one(self):
        self.generate(0, 1, *GREEDY)
        alone = self.rows()
        self.start_over()
        self.generate(0, 2, *GREEDY, "model.parallel=tensor", "--gpus-per-model=2")
        for row, expected in zip(self.rows(), alone, strict=True):
            self.assertEqual(row["output_ids"], expected["output_ids"])
            for ours, theirs in zip(row["output_log_probs"] + row["prompt_log_probs"][1:],
                                    expected["output_log_probs"] + expected["prompt_log_probs"][1:],
                                    strict=True):
                self.assertAlmostEqual(ours, theirs, delta=1e-5)

    def test_chunks_of_other_sums_are_made_again(self):
        keys = (*GREEDY, "model.parallel=tensor")
        self.generate(0, 1, *keys)
        golden = self.sha256()
        self.start_over()
        self.generate(137, 2, *keys, "--gpus-per-model=2",
                      env=program.failpoint("ledger.write:3:kill"))
        self.generate(0, 1, *keys)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_rows_that_do_not_fit_the_model_are_named_once(self):
        rows = [{"token_ids": [1]}, {"token_ids": [67]}]
        path = tiny_lm.write_rows(self.folder / "bad.jsonl", rows)
        ended = self.generate(65, 2, f"data.path={path}", "--gpus-per-model=2")
        self.assertIn("error[E531]: a line of a data file", ended.err)
        self.assertEqual(ended.err.count("token 67 is not in"), 1, ended.err)


class OutOfMemory(GenerateCase):

    def check_halving(self, ranks, places, *keys):
        """Lets memory run out once at each of `places`. Expects the result `self.golden`."""
        self.start_over()
        ended = self.generate(0, ranks, *keys, env=program.failpoint(places))
        self.assertEqual(self.sha256(), self.golden, places)
        log = (self.run_folder() / "run.log").read_text()
        self.assertEqual(log.count("completions at once: these rows are processed again with"),
                         places.count("EIO"), log)
        return ended

    def test_the_batch_is_halved_and_the_bytes_are_the_same(self):
        self.generate(0, 1)
        self.golden = self.sha256()
        for place in ("generate.cache:1:EIO", "generate.pass:9:EIO;generate.head:20:EIO"):
            ended = self.check_halving(1, place)
            self.assertIn("with 8 completions at once", ended.out)
        for place in ("generate.cache@1:1:EIO", "generate.pass@0:6:EIO", "generate.pass@1:6:EIO",
                      "generate.head@1:6:EIO", "generate.pass@0:1:EIO;generate.pass@1:40:EIO"):
            self.check_halving(2, place, "--gpus-per-model=2")
        self.check_halving(1, "generate.pass:9:EIO", "generate.batch_size=auto")

    def test_a_cache_that_is_not_to_be_had_is_made_smaller(self):
        # 60 completions of at most 2^20 tokens: 15 GiB of keys and values, of which few are used.
        keys = ("generate.max_new_tokens=1048576", "run.chunk_size=32")
        limited = ("sh", "-c", 'ulimit -v 16000000; exec "$@"', "sh")
        ended = self.generate(0, 1, *keys, "generate.batch_size=64", through=limited)
        self.assertIn("out of memory with 64 completions at once", ended.out)
        golden = self.sha256()
        self.start_over()
        self.generate(0, 2, *keys, "generate.batch_size=4")
        self.assertEqual(self.sha256(), golden)

    def test_below_one_completion_it_says_what_fits(self):
        places = ";".join(f"generate.cache@1:{n}:EIO" for n in range(1, 5))
        ended = self.generate(71, 2, env=program.failpoint(places))
        self.assertIn("out of memory with one completion at a time", ended.err)
        self.assertRegex(ended.err, r"rank 1: .* = weights .* \+ cache .* free after loading the weights")
        self.assertIn("devices.gpus_per_model=2 generate.batch_size=1", ended.err)
        self.generate(0, 2, "devices.gpus_per_model=2", "generate.batch_size=1")
        self.assertEqual(self.num_runs(), 1)

    def test_where_sums_are_shared_the_batch_is_halved_by_all(self):
        keys = (*GREEDY, "model.parallel=tensor", "--gpus-per-model=2")
        self.generate(0, 2, *keys)
        self.golden = self.sha256()
        for place in ("generate.pass@1:5:EIO", "generate.layer@0:1:EIO", "generate.layer@1:8:EIO",
                      "generate.head@0:6:EIO", "generate.drawn@1:6:EIO",
                      "generate.layer@1:9:EIO;generate.drawn@0:30:EIO"):
            self.check_halving(2, place, *keys)

    def test_where_sums_are_shared_it_says_what_fits_below_one_completion(self):
        keys = (*GREEDY, "model.parallel=tensor", "--gpus-per-model=2", "generate.batch_size=4")
        places = ";".join(f"generate.layer@1:{n}:EIO" for n in range(1, 4))
        ended = self.generate(71, 2, *keys, env=program.failpoint(places))
        self.assertIn("out of memory with one completion at a time", ended.err)
        self.assertRegex(ended.err, r"rank 1: .* = weights .* \+ cache .* free after loading the weights")
        self.assertIn("a larger devices.gpus_per_model", ended.err)
        self.generate(0, 2, *keys)
        self.assertEqual(self.num_runs(), 1)

    def test_the_largest_batch_is_found_and_told(self):
        ended = self.generate(0, 2, "generate.batch_size=auto", "devices.groups=[2]")
        self.assertRegex(ended.out, r"memory +32 completions at once \(auto\): .* = weights ")

    def test_ranks_with_unequal_room_agree_on_the_largest_batch(self):
        # Rank 0 has two of three layers. A completion of at most 2^20 tokens, of which few are
        # used, takes 0.25 GiB of its memory and half as much of rank 1's.
        self.model = tiny_lm.make_folder(self.folder / "three_layers", family="gpt_oss")
        keys = ("run.chunk_size=30", "devices.groups=[2]", "model.device_map=[0, 0, 1]",
                "generate.max_new_tokens=1048576")
        free = free_gib(self.generate(0, 2, *keys, "generate.batch_size=4").out)
        margin = min(0.9, max(0.0, 1.0 - 3.0 / free))
        room = free * (1.0 - margin)
        if room > 9.0:
            self.skipTest(f"{free:.0f} GiB for each rank are too many")
        golden = self.sha256()
        self.start_over()
        ended = self.generate(0, 2, *keys, "generate.batch_size=auto",
                              f"devices.memory_margin={margin}")
        found = re.search(r"memory +(\d+) completions? at once \(auto\)", ended.out)
        self.assertIn(int(found[1]), range(1, int(6 * room)), ended.out)  # alone rank 1 takes 8
        self.assertEqual(self.sha256(), golden)


def free_gib(out):
    """Returns the free memory of a rank in addition to its weights, as the run reports it."""
    number, unit = re.search(r"([0-9.]+) ([MGT])iB free after loading the weights", out).groups()
    return float(number) * {"M": 2 ** -10, "G": 1.0, "T": 2 ** 10}[unit]


if __name__ == "__main__":
    program.main()
