"""The result is the same at any number of ranks."""
import program


class RankCounts(program.ProgramTest):

    def expect_bytes_of_one_rank(self, *rank_counts):
        golden = self.golden()
        for ranks in rank_counts:
            with self.subTest(ranks=ranks):
                self.run_to(0, ranks, "run.resume=never")
                self.assertEqual(self.hashes(), golden)

    def test_layout_gives_the_same_bytes_at_1_2_and_4_ranks(self):
        self.expect_bytes_of_one_rank(2, 4)

    def test_layout_gives_the_same_bytes_at_8_ranks(self):
        self.expect_bytes_of_one_rank(8)

    def test_histories_do_not_depend_on_3_ranks(self):
        golden = self.golden()
        self.run_to(0, 3, "run.deterministic=false")
        self.assertEqual(self.hashes()["histories.h5"], golden["histories.h5"])

    def test_another_seed_gives_other_bytes(self):
        golden = self.golden()
        self.run_to(0, 1, "run.seed=2")
        for name, sha256 in self.hashes().items():
            self.assertNotEqual(sha256, golden[name], name)


if __name__ == "__main__":
    program.main()
