"""Compares jobs that read results of other jobs on an emulated GPU and on the CPU."""
import json

from program_test import DECODER, STEP, BothWays, h5py  # first: finds tests/end_to_end

import program
import tiny_lm

if h5py:
    import numpy

    import experiment_test
    import planted_trees


class Latents(BothWays):

    def test_a_head_on_latent_states_learns_the_same(self):
        model = tiny_lm.make_folder(self.folder / "model")
        rows = [{"prompt": text, "answer": i} for i, text in enumerate(("the cat", "a mat", "dog"))]
        questions = tiny_lm.write_rows(self.folder / "questions.jsonl", rows)
        agents = self.folder / "agents.json"
        agents.write_text(json.dumps({"agents": [
            {"name": "planner", "prompt": "{question}"}, {"name": "critic", "prompt": " no"},
            {"name": "judger", "prompt": " {context}{question} "}]}))
        self.run_to(0, 1, f"model.path={model}", f"data.path={questions}",
                    f"collect.agents.path={agents}", "collect.latent.store=f32",
                    config=program.HERE / "latent.yaml")
        trees = planted_trees.plant_answers(self.run_folder() / "results.h5",
                                            self.folder / "trees.h5").path
        self.compare_training(program.HERE / "latent_prm.yaml", f"data.path={trees}",
                              "run.name=tiny", "train.max_steps=8", "train.global_batch_size=8",
                              kernels=set(), tolerance=1e-3)


class Experiments(BothWays):

    def test_stages_train_and_draw_the_same(self):
        stages = self.folder / "stages"
        stages.mkdir()
        experiment_test.write_stages(stages, self.folder / "outputs", steps=4)
        config = self.config(experiment_test.CONFIG)
        cpu, gpu = self.run_both(config, "run.name=tiny",
                                 kernels=STEP | DECODER | {"online_logsumexp_kernel"})
        for name in ("rollouts", "alone"):
            drawn = [self.completions(run, name) for run in (cpu, gpu)]
            self.assertGreater(len(drawn[0]), 15)
            # Both train their models, so a draw may fall between two tokens of different weights.
            equal = [mine == other for mine, other in zip(*drawn, strict=True)]
            self.assertGreater(numpy.mean(equal), 0.9)
        for name in ("reference", "value"):
            losses = [self.values(run, name, "metrics/train/loss") for run in (cpu, gpu)]
            self.assertEqual(len(losses[0]), 4)
            numpy.testing.assert_allclose(*losses, rtol=1e-3 if name == "reference" else 0.05)

    def completions(self, run, stage):
        ids, ends = (self.values(run, stage, f"arrays/samples/output_ids/{name}")
                     for name in ("values", "row_offsets"))
        return [ids[begin:end].tolist() for begin, end in zip(ends, ends[1:])]

    @staticmethod
    def values(run, stage, name):
        with h5py.File(run.parent / "stages" / stage / "latest" / "results.h5") as file:
            return file[name][()]


if __name__ == "__main__":
    program.main()
