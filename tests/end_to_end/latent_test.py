"""Agents of job collect: the same files for any ranks, batches and kills, their trees and refusals."""
import itertools
import json
import re

import h5py
import numpy

import program
import tiny_lm
from collect_case import CollectCase

AGENTS = [{"name": "planner", "prompt": "{question}"}, {"name": "critic", "prompt": " {context}no"},
          {"name": "judger", "prompt": " {context}{question} "}]


PAGE_TOKENS = 16  # of the cache on a CPU
BOS = 1  # token before the first prompt


def most_pages(prompts, paths, parents, steps, answer):
    """Returns the most pages that the paths of a question have at a time. Pages are numbers, which
    paths share until they write to them. `prompts` has the tokens of each agent's prompt."""
    fresh, peak = itertools.count(), 0
    live = [([], 0)]  # pages and tokens of each path

    def grow(tokens):
        nonlocal live, peak
        live = [(pages + [next(fresh) for _ in range(len(pages) * PAGE_TOKENS, length + tokens,
                                                     PAGE_TOKENS)], length + tokens)
                for pages, length in live]
        peak = max(peak, len({page for pages, _ in live for page in pages}))

    for agent, tokens in enumerate(prompts):
        is_last = agent + 1 == len(prompts)
        if not is_last and len(live) > parents:  # of as many different parents as possible
            live = live[::len(live) // parents]
        grow(tokens)
        if not is_last:
            live = [(pages[:length // PAGE_TOKENS] + [next(fresh)] * (length % PAGE_TOKENS > 0), length)
                    for pages, length in live for _ in range(paths // len(live))]
        grow(answer - 1 if is_last else steps)
    return peak


class LatentCase(CollectCase):
    CONFIG = program.HERE / "latent.yaml"

    def setUp(self):
        super().setUp()
        self.agents = self.folder / "agents.json"
        self.write_agents(AGENTS)

    def write_agents(self, agents):
        self.agents.write_text(json.dumps({"agents": agents}))

    def collect(self, code, ranks, *more, **options):
        keys = (f"model.path={self.model}", f"data.path={self.questions}",
                f"collect.agents.path={self.agents}")
        return self.run_to(code, ranks, *keys, *more, config=self.CONFIG, **options)

    def rows(self):
        return self.export("jsonl", "results.jsonl")


class Files(LatentCase):

    def test_any_number_of_ranks_and_any_batch_give_the_same_bytes(self):
        self.collect(0, 1)
        golden = self.sha256()
        self.expect(golden, 2, "collect.batch_size=1")
        self.expect(golden, 3, "run.schedule=static", "collect.batch_size=auto")

    def test_layers_on_two_ranks_give_the_same_bytes(self):
        keys = ("collect.agents.carry=latent_only", "collect.latent.branch_entropy=2",
                "collect.latent.merge_similarity=0.9")
        self.collect(0, 1, *keys)
        self.expect(self.sha256(), 3, "devices.groups=[2, 1]", *keys)

    def test_a_bfloat16_cache_gives_the_same_bytes(self):
        self.collect(0, 1)
        exact = self.sha256()
        keys = ("collect.kv_cache_dtype=bfloat16",)
        self.start_over()
        self.collect(0, 1, *keys)
        self.assertNotEqual(self.sha256(), exact)
        self.expect(self.sha256(), 3, "devices.groups=[2, 1]", *keys)

    def test_heads_on_two_ranks_give_the_same_bytes_in_one_and_two_groups(self):
        keys = ("model.parallel=tensor", "--gpus-per-model=2")
        self.collect(0, 2, *keys)
        self.expect(self.sha256(), 4, *keys)

    def test_kills_and_other_rank_counts_give_the_same_bytes(self):
        self.collect(0, 1)
        golden = self.sha256()
        self.start_over()
        for number, place in enumerate(("ledger.write:2", "results.rename:1")):
            self.collect(137, 1 + number, env=program.failpoint(f"{place}:kill"))
        self.collect(0, 3)
        self.assertEqual(self.num_runs(), 1)
        self.assertEqual(self.sha256(), golden)

    def test_a_smaller_batch_after_lack_of_memory_gives_the_same_bytes(self):
        self.collect(0, 1)
        self.expect(self.sha256(), 2, "log.rank_files=false",
                    env=program.failpoint("generate.cache@1:1:EIO"))
        self.assertRegex((self.run_folder() / "run.log").read_text(),
                         "warn   rank 1: .* solutions at once: these rows are processed again with")

    def test_without_room_for_one_question_a_command_has_fewer_paths(self):
        places = ";".join(f"generate.cache@0:{n}:EIO" for n in range(1, 6))
        ended = self.collect(71, 1, env=program.failpoint(places))
        self.assertIn("error[E301]: out of memory with the 4 paths of one question at a time",
                      ended.err)
        self.assertRegex(ended.err, r"rank 0: .* = weights .* \+ cache .* free after loading")
        help_line, = re.findall(r"help: +mpirun -np 1 \./mgpu_spmd \S+ (.*)", ended.err)
        self.assertEqual(help_line, "collect.num_parent_paths=auto collect.num_paths=3 "
                                    "collect.batch_size=3")
        self.collect(0, 1, *help_line.split())

    def test_texts_of_agents_give_the_same_bytes(self):
        keys = ("collect.agents.method=text_mas", "collect.num_parent_paths=auto",
                "collect.latent.steps=5", "collect.max_new_tokens=4")
        self.collect(0, 1, *keys)
        self.expect(self.sha256(), 2, *keys, "collect.batch_size=3")


class Trees(LatentCase):

    def test_values_are_means_of_children_and_answers_are_leaves(self):
        self.collect(0, 2)
        divided = 0
        for row in self.rows():
            offsets, children = row["child_offsets"], row["children"]
            self.assertEqual(row["node_agent"], [-1] + [0] * 4 + [1] * 4 + [2] * 4)
            self.assertEqual(sum(row["node_latents"]), 3 * 8)
            for node, value in enumerate(row["node_value"]):
                below = children[offsets[node]:offsets[node + 1]]
                if below:
                    mean = sum(row["node_value"][child] for child in below) / len(below)
                    self.assertAlmostEqual(value, mean)
                elif row["node_agent"][node] == 2:
                    path = row["node_path"][node]
                    self.assertEqual(value, row["path_right"][path])
                else:
                    self.assertEqual((value, row["node_visits"][node]), (0.0, 0))
                divided += 0 < value < 1
            self.assertEqual(row["node_visits"][0], row["n_paths"])
            self.assertEqual(row["node_right"][0], row["n_right"])
        self.assertGreater(divided, 0)

    def test_states_and_the_map_are_kept(self):
        from safetensors.numpy import load_file
        self.collect(0, 1, "collect.latent.store=f32")
        matrix = load_file(self.run_folder() / "realignment.safetensors")["matrix"]
        with h5py.File(self.run_folder() / "results.h5") as file:
            values = file["arrays/samples/latents/values"][()].reshape(-1, matrix.shape[0])
            steps = file["arrays/samples/node_latents/values"][()]
        self.assertEqual(len(values), steps.sum())
        self.assertTrue(numpy.isfinite(values).all())

    def test_baselines_have_the_same_agents(self):
        more = ("collect.num_parent_paths=auto", "collect.latent.steps=5")
        for method, nodes in (("text_mas", 1 + 4 * 3), ("single", 1 + 4)):
            self.start_over() if self.output.exists() else None
            ended = self.collect(0, 1, f"collect.agents.method={method}", *more,
                                 "collect.max_new_tokens=4")
            self.assertIn("vote", ended.out)
            for row in self.rows():
                self.assertEqual(len(row["node_agent"]), nodes)
                self.assertEqual(row["n_paths"], 4)
                self.assertNotIn("latents", row)

    def test_the_shipped_specialists_work_with_all_methods(self):
        self.agents = program.TOP / "conf/collect/latent/hierarchical.json"
        specialists = len(json.loads(self.agents.read_text())["agents"]) - 1
        config = self.model / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) |
                                     {"max_position_embeddings": 2048}))
        parents = ("collect.num_parent_paths=auto", "collect.latent.steps=5")
        for method, more, nodes in (("latent_mas", (), 1 + 4 * specialists + 4),
                                    ("text_mas", parents, 1 + 4 * specialists + 4),
                                    ("single", parents, 1 + 4)):
            ended = self.collect(0, 2, "run.resume=never", f"collect.agents.method={method}", *more,
                                 "data.max_samples=3")
            self.assertIn("12 paths", ended.out)
            for row in self.rows():
                self.assertEqual(len(row["node_agent"]), nodes, method)
                self.assertEqual(row["status"], "ok")

    def test_page_and_plan_show_agents(self):
        ended = self.collect(0, 1)
        self.assertRegex(ended.out, r"48 paths, .* right, vote .* %; \d+ steps")
        self.assertIn("critic: 3 latent steps", (self.run_folder() / "report.html").read_text())
        plan = self.collect(0, 1, "--plan").out
        self.assertIn("latent steps and texts", plan)
        self.assertIn("agents latent_mas, 3 latent steps, carry all", plan)


    def test_plan_prints_the_cache_of_the_largest_question(self):
        plan = self.collect(0, 1, "--plan").out
        printed = re.search(r"cache of the largest question: ([\d.]+) KiB, or ([\d.]+) KiB for each "
                            r"of its 4 paths, which share pages", plan)
        config = json.loads((self.model / "config.json").read_text())
        bytes_of_page = (2 * config["num_hidden_layers"] * config["num_key_value_heads"] *
                         config["head_dim"] * PAGE_TOKENS * 4)
        texts = [json.loads(line)["prompt"] for line in self.questions.read_text().splitlines()]
        pages = max(most_pages([BOS + len(text), len(" no"), len("  ") + len(text)], paths=4,
                               parents=2, steps=3, answer=6) for text in texts)
        expected = pages * bytes_of_page / 1024
        self.assertAlmostEqual(float(printed[1]), expected, delta=0.06)
        self.assertAlmostEqual(float(printed[2]), expected / 4, delta=0.06)


class Refusals(LatentCase):

    def refuse(self, code, error, *more):
        ended = self.collect(code, 2, *more)
        self.assertEqual(ended.err.count("error[E"), 1, ended.err)
        self.assertIn(f"error[{error}]", ended.err)
        self.assertFalse((self.output / "tiny").exists())
        return ended.err

    def test_files_of_agents_are_checked_before_any_work(self):
        self.write_agents(AGENTS[:2])
        self.assertIn("no judger", self.refuse(65, "E538"))
        self.write_agents([{"name": "critic", "prompt": "{quesion}"}, AGENTS[2]])
        error = self.refuse(65, "E538")
        self.assertIn("agent `critic` has the unknown placeholder {quesion}", error)
        self.agents.unlink()
        self.refuse(66, "E603")

    def test_keys_that_contradict_each_other_are_refused(self):
        self.assertIn("has only", self.refuse(78, "E124", "collect.num_paths=1"))
        self.refuse(78, "E124", "collect.rollouts=2")
        self.refuse(78, "E124", "collect.agents.method=single", "collect.num_parent_paths=auto")
        self.refuse(78, "E124", "collect.steps=text", "collect.num_parent_paths=auto",
                    "collect.latent.steps=5")

    def test_latent_steps_beyond_the_positions_are_refused_or_marked(self):
        self.assertIn("made for 64", self.refuse(65, "E531", "collect.latent.steps=40"))
        self.collect(1, 1, "collect.latent.steps=40", "data.on_bad_row=mark")
        self.assertEqual({row["status"] for row in self.rows()}, {"too_long"})

    def test_token_ids_and_the_form_of_trl_are_refused(self):
        self.collect(0, 1)
        ended = self.run_to(64, 1, "--export", "trl", str(self.run_folder()), config=None)
        self.assertIn("work of agents", ended.err)
        self.start_over()
        tiny_lm.write_rows(self.questions, [{"token_ids": [1, 2], "answer": "1"}])
        self.assertIn("token ids", self.refuse(65, "E531"))


if __name__ == "__main__":
    program.main()
