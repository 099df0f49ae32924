"""Data sets with checked answers: training on them, and the scores of completions."""

import program
import tiny_lm

try:
    import h5py
except ImportError as error:
    h5py = None
    NO_H5PY = f"no h5py here: {error}"


class Datasets(program.ProgramTest):

    GRAPHS = ("data.dataset=star_graph", "data.star_graph.path=3", "data.star_graph.nodes=8",
              "data.star_graph.rows=[200, 30, 40]")

    def setUp(self):
        super().setUp()
        if h5py is None:
            self.skipTest(NO_H5PY)
        self.model = self.folder / "model"
        tiny_lm.make_folder(self.model, tokenizer=False)
        self.config = self.folder / "run.yaml"
        self.config.write_text("schema: 1\nrun: {name: tiny}\n")

    def run_job(self, ranks, *arguments, code=0):
        return self.run_to(code, ranks, *arguments, config=self.config)

    def results(self):
        return (self.run_folder() / "results.h5").read_bytes()

    def test_a_model_learns_star_graphs_and_its_paths_are_scored(self):
        self.run_job(1, "job=train", f"model.init={self.model}", *self.GRAPHS, "train.seq_len=24",
                     "train.global_batch_size=8", "train.max_steps=3", "train.eval_every=3")
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(file["metrics/eval/step"][:].tolist(), [3])  # split validation
        generate = ("job=generate", f"model.path={self.model}", *self.GRAPHS,
                    "generate.max_new_tokens=3", "run.name=tiny")
        ended = self.run_job(2, *generate)
        self.assertIn("accuracy 0.", ended.out)
        with h5py.File(self.run_folder() / "results.h5") as file:
            self.assertEqual(len(file["samples/score"]), 40)  # split test
        two = self.results()
        self.run_job(1, *generate)
        self.assertEqual(self.results(), two)

    def test_a_data_set_that_is_too_large_is_refused(self):
        ended = self.run_job(2, "job=generate", f"model.path={self.model}", *self.GRAPHS[:3],
                             "data.star_graph.rows=[161277, 2, 2]", code=78)
        self.assertIn("need 161281 different rows, and there are only 161280", ended.err)
        self.assertIn("= help: data.star_graph.rows=[129024, 16128, 16128]", ended.err)
        ended = self.run_job(2, "job=generate", f"model.path={self.model}", "data.dataset=gsm8k",
                             f"data.gsm8k.path={self.folder}", code=66)
        self.assertIn("train.jsonl", ended.err)


if __name__ == "__main__":
    program.main()
