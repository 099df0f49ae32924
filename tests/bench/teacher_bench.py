"""Compares job teacher with transformers: top 64 of texts of 256 tokens to HDF5, on one thread.

  teacher_bench.py ours PROGRAM MODEL    the whole program, journal and seal included
  teacher_bench.py hf MODEL              forward, log-softmax, top-k, HDF5, 8 texts at a time
  teacher_bench.py share PROGRAM MODEL   share of the phases journal and seal in the wall time

MODEL is one of generate_peer.py's (make), in float32. It prints one line of JSON: texts per
CPU-second without start-up and loading, which a run of 8 texts measures. "peak_mib" is the
process's peak memory, for ours until it writes its report; "check" is the mean of the largest
log-probability. Needs numpy and h5py; hf also torch 2.11 and transformers 5.23.
"""
import json
import os
import pathlib
import resource
import sys
import tempfile
import time

from cpu_time import run_timed

TEXTS, TOKENS, BEST, BATCH = 64, 256, 64, 8
CONFIG = """
schema: 1
job: teacher
run: {name: bench}
model: {path: %s}
data: {path: %s}
teacher: {top_k: %d, batch_size: %d}
report: {html: false}
log: {tensorboard: false}
"""


def texts_of(count, vocab):
    import numpy
    return numpy.random.default_rng(0).integers(3, vocab, (count, TOKENS))


def vocab_of(model):
    return json.loads(pathlib.Path(model, "config.json").read_text())["vocab_size"]


def without_tokenizer(model, folder):
    """Links the model into `folder`, without its tokenizer because rows have ids. Returns the
    folder."""
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).symlink_to(os.path.abspath(os.path.join(model, name)))
    return folder


def emit(name, rate, peak_mib, check):
    print(json.dumps({"name": name, "value": round(rate, 3), "unit": "texts/CPU-s",
                      "peak_mib": round(peak_mib), "check": check}))


def run_ours(program, model, folder, count):
    """Returns the CPU seconds and peak memory of a run, and its results."""
    rows = folder / f"{count}.jsonl"
    rows.write_text("".join(json.dumps({"token_ids": ids.tolist()}) + "\n"
                            for ids in texts_of(count, vocab_of(model))))
    config = folder / f"{count}.yaml"
    config.write_text(CONFIG % (os.path.abspath(model), rows, BEST, BATCH))
    seconds = run_timed([program, config, f"run.output={folder}/{count}"])
    results = folder / str(count) / "bench" / "latest" / "results.h5"
    summary = json.loads((results.parent / "summary.json").read_text())
    # ru_maxrss would include this process's memory, which the child shares before it becomes
    # PROGRAM.
    return seconds, summary["host_peak_bytes"][0] / 2**20, results


def ours(program, model):
    import h5py
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = without_tokenizer(model, folder / "model")
        few_s, _, _ = run_ours(program, model, folder, BATCH)
        all_s, peak, results = run_ours(program, model, folder, BATCH + TEXTS)
        with h5py.File(results) as file:
            best = file["arrays/samples/topk_logprobs/values"][:, 0].astype("float64")
        emit("job teacher", TEXTS / (all_s - few_s), peak, best.mean())


def share(program, model):
    """Prints the share for 2 * TEXTS texts; the wall time includes start-up and loading."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = without_tokenizer(model, folder / "model")
        _, _, results = run_ours(program, model, folder, 2 * TEXTS)
        summary = json.loads((results.parent / "summary.json").read_text())
    seconds = {row["phase"]: row["seconds"] for row in summary["phases"]}
    wall_s = sum(seconds.values())
    print(json.dumps({"wall_s": round(wall_s, 2), "journal_s": round(seconds["journal"], 3),
                      "seal_s": round(seconds["seal"], 3),
                      "share": round((seconds["journal"] + seconds["seal"]) / wall_s, 4)}))


def hf(model):
    import h5py
    import numpy
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(1)
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    texts = texts_of(BATCH + TEXTS, vocab_of(model))
    with tempfile.NamedTemporaryFile(suffix=".h5") as place, h5py.File(place.name, "w") as file:
        shape = (len(texts), TOKENS, BEST)
        values = file.create_dataset("logits_values", shape, numpy.float16)
        indices = file.create_dataset("logits_indices", shape, numpy.int32)

        def extract(first):
            with torch.inference_mode():
                logits = network(torch.from_numpy(texts[first:first + BATCH])).logits
                best, ids = torch.log_softmax(logits.float(), -1).topk(BEST, -1)
                values[first:first + BATCH] = best.numpy().astype(numpy.float16)
                indices[first:first + BATCH] = ids.numpy().astype(numpy.int32)

        extract(0)  # warm-up
        begin = time.process_time()
        for first in range(BATCH, len(texts), BATCH):
            extract(first)
        seconds = time.process_time() - begin
        check = values[:, :, 0].astype("float64").mean()
    emit("transformers", TEXTS / seconds,
         resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, check)


if __name__ == "__main__":
    {"ours": ours, "hf": hf, "share": share}[sys.argv[1]](*sys.argv[2:])
