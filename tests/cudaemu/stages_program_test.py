"""Compares jobs that read results of other jobs on an emulated GPU and on the CPU."""
import json

from program_test import DECODER, STEP, BothWays, h5py, numpy  # first: finds tests/end_to_end

import program
import tiny_lm

if h5py:
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
            drawn = [self.values(run, name, "arrays/samples/output_ids/values") for run in (cpu, gpu)]
            self.assertGreater(len(drawn[0]), 16)
            numpy.testing.assert_array_equal(*drawn)
        for name in ("reference", "value"):
            losses = [self.values(run, name, "metrics/train/loss") for run in (cpu, gpu)]
            self.assertEqual(len(losses[0]), 4)
            numpy.testing.assert_allclose(*losses, rtol=1e-3)

    @staticmethod
    def values(run, stage, name):
        with h5py.File(run.parent / "stages" / stage / "latest" / "results.h5") as file:
            return file[name][()]


if __name__ == "__main__":
    program.main()
