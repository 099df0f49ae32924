"""Plants answers in the results of a `collect` run with latent states, so that a head can learn them."""
import dataclasses
import pathlib

import h5py
import numpy


@dataclasses.dataclass
class PlantedTrees:
    """A copy of a result file. The arrays have one entry per node with states and answers."""
    path: pathlib.Path
    means: numpy.ndarray  # [nodes, hidden size]: the mean of the states of each node
    right: numpy.ndarray  # [nodes]: true if all answers below the node are right
    of_question: numpy.ndarray  # [nodes]: the row of the question


def plant_answers(results, path):
    """Copies `results` to `path` with planted answers. All answers below a node are right if the first
    of its mean states is above the median, and none otherwise. Returns PlantedTrees."""
    path.write_bytes(results.read_bytes())
    with h5py.File(path, "r+") as file:
        lists = file["arrays/samples"]
        states = lists["latents/values"][()]
        states = states.reshape(-1, states.shape[-1])
        steps, visits = (lists[f"{name}/values"][()] for name in ("node_latents", "node_visits"))
        ends = numpy.cumsum(steps)
        thinks = (steps > 0) & (visits > 0)
        means = numpy.stack([states[end - count:end].mean(0)
                             for end, count in zip(ends[thinks], steps[thinks])])
        right = means[:, 0] > numpy.median(means[:, 0])
        answers = lists["node_right/values"]
        planted_answers = answers[()]
        planted_answers[thinks] = right * visits[thinks]
        answers[...] = planted_answers
        for item in (lists["node_right"], answers):
            for name in [name for name in item.attrs if "crc" in name]:
                del item.attrs[name]
        rows = numpy.diff(lists["node_latents/row_offsets"][()])
        return PlantedTrees(path, means, right, numpy.repeat(numpy.arange(len(rows)), rows)[thinks])
