"""Compares many short rows with few: job teacher with a model of one layer of width 32.

  input_bench.py PROGRAM [ROWS [ROUNDS]]

It runs ROWS rows (1,000,000) once, and 10,000 rows ROUNDS (4) times before that run and after it.
It measures rows per CPU-second and peak memory. A run of 2,000 rows is subtracted, so that start-up
and loading do not count. It ends with 1 if the rates differ by more than 5 %, or if the large run
needs more than 64 MiB more. Needs torch 2.11 and transformers 5.23, which write the model.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from cpu_time import run_timed

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
START, FEW, LIMIT_MIB, LIMIT_RATE = 2_000, 10_000, 64, 0.05
CONFIG = """
schema: 1
job: teacher
run: {name: bench, chunk_size: 256}
model: {path: %s}
data: {path: %s, max_length: 8}
teacher: {top_k: 4, batch_size: 256}
log: {tensorboard: false}
"""


def make_model(folder):
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(TOP / "conf/examples/tiny_lm/model")
    LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64,
        tie_word_embeddings=False)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def run(program, model, folder, count):
    """Returns CPU seconds, peak MiB and seconds of each phase."""
    rows = folder / "rows.jsonl"
    with rows.open("w") as file:
        for i in range(count):
            file.write(f'{{"text": "cat {i % 100}"}}\n')
    config = folder / "bench.yaml"
    config.write_text(CONFIG % (model, rows))
    seconds = run_timed([program, config, f"run.output={folder}/out"])
    latest = folder / "out" / "bench" / "latest"
    summary = json.loads((latest / "summary.json").read_text())
    subprocess.run(["rm", "-rf", str(folder / "out")], check=True)
    # ru_maxrss would include this process's memory, which the child shares before it becomes
    # PROGRAM.
    return seconds, summary["host_peak_bytes"][0] / 2**20, summary["phases"]


def main(program, many="1000000", rounds="4"):
    many, rounds = int(many), int(rounds)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_model(folder / "model")

        def measure(count):
            return run(program, folder / "model", folder, count)

        few = []
        peaks = []

        def measure_few():
            for _ in range(rounds):
                start_s = measure(START)[0]
                cpu_s, peak, _ = measure(START + FEW)
                few.append(FEW / (cpu_s - start_s))
                peaks.append(peak)
            return start_s

        measure_few()
        cpu_s, peak, phases = measure(START + many)
        start_s = measure_few()
    rate = many / (cpu_s - start_s)
    ratio = rate / statistics.median(few)
    more = peak - statistics.median(peaks)
    print(json.dumps({"rows": FEW, "rows_per_cpu_s": round(statistics.median(few)),
                      "spread": [round(min(few)), round(max(few))],
                      "peak_mib": round(statistics.median(peaks))}))
    print(json.dumps({"rows": many, "rows_per_cpu_s": round(rate), "peak_mib": round(peak),
                      "phases": phases}))
    print(json.dumps({"ratio": round(ratio, 3), "more_mib": round(more),
                      "load": round(os.getloadavg()[0], 1)}))
    if abs(ratio - 1) > LIMIT_RATE or more > LIMIT_MIB:
        sys.exit("the rate or the memory depends on the number of rows")


if __name__ == "__main__":
    main(*sys.argv[1:])
