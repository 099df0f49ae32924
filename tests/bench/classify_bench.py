"""Compares job classify with transformers: posts called hate or normal, float32, one thread each.

The model is a Llama of 15 million random parameters.

  classify_bench.py make MODEL                       the model, with the tokenizer of conf/examples/tiny_lm/model
  classify_bench.py ours PROGRAM MODEL [BATCH]       score: label_logprob, the whole program,
                                                     journal and seal included
  classify_bench.py hf MODEL [BATCH] [ANSWER]        generate ANSWER tokens, find a label
  classify_bench.py table PROGRAM MODEL [ROUNDS]     batches of 1, 4, 16 of both, and 1, 2 ranks

Prompts are those of combined_optimized in conf/classify/prompts/unified.json around posts of 24 words. By
default, transformers generates as many tokens as TYPICAL has, the JSON that the prompts ask for.
`ours` and `hf` print a line of JSON: texts per CPU-second without start-up and loading. "check" is
the mean log-probability of both labels for the first 8 posts, to compare prompts, labels and
weights. Needs numpy and h5py; make and hf also torch 2.11 and transformers 5.23.
"""
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from cpu_time import run_timed

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROMPTS = TOP / "conf/classify/prompts/unified.json"
STRATEGY = "combined_optimized"
LABELS = ["normal", "hate"]
FEW, TEXTS, CHECKED = 32, 64, 8
TYPICAL = ('{"classification": "normal", "rationale": "The post is about one person, '
           'not a group."}')
CONFIG = """
schema: 1
job: classify
run: {name: bench, chunk_size: 32}
model: {path: %s}
data: {path: %s}
classify: {labels: [normal, hate], prompt: %s, strategy: %s, batch_size: %d}
report: {html: false}
log: {tensorboard: false}
"""


def rows_of(count):
    words = ("the a red old small brave quick cat dog fox bird river hill tree market house lamp "
             "ball book hat cake boat drum was found lost wanted saw hid carried one day").split()
    draw = random.Random(0)
    groups = ["women", "migrants", "old people", "students", "neighbors"]
    return [{"text": " ".join(draw.choices(words, k=24)), "label": LABELS[i % 2],
             "target_group": groups[i % 5]} for i in range(count)]


def prompts_of(rows):
    """Returns prompts as the program makes them without a chat template, and the answer prefix."""
    strategy = json.loads(PROMPTS.read_text())["strategies"][STRATEGY]
    return [strategy["system_prompt"] + "\n\n" +
            strategy["user_template"].format(**row) for row in rows], strategy["answer_prefix"]


def make(model):
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(
        vocab_size=8192, hidden_size=384, num_hidden_layers=6, num_attention_heads=6,
        num_key_value_heads=6, intermediate_size=1024, max_position_embeddings=2048,
        tie_word_embeddings=False, initializer_range=0.08)).save_pretrained(model)
    AutoTokenizer.from_pretrained(TOP / "conf/examples/tiny_lm/model").save_pretrained(model)


def run_ours(program, model, folder, count, batch, ranks=1):
    """Returns the CPU and wall seconds of a run, and its folder."""
    rows = folder / f"{count}.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in rows_of(count)))
    config = folder / f"{count}.yaml"
    config.write_text(CONFIG % (os.path.abspath(model), rows, PROMPTS, STRATEGY, batch))
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    output = folder / f"{count}-{batch}-{ranks}-{time.monotonic_ns()}"
    begin = time.monotonic()
    seconds = run_timed((launcher if ranks > 1 else []) +
                        [program, config, f"run.output={output}"])
    return seconds, time.monotonic() - begin, output / "bench" / "latest"


def measure_ours(program, model, batch, ranks=1):
    """Returns texts per CPU-second, texts per second, and the labels' mean log-probability."""
    import h5py
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        few_cpu, few_wall, _ = run_ours(program, model, folder, FEW * ranks, batch, ranks)
        cpu, wall, run = run_ours(program, model, folder, FEW * ranks + TEXTS * ranks, batch, ranks)
        with h5py.File(run / "results.h5") as file:
            scores = file["arrays/samples/label_scores/values"][:len(LABELS) * CHECKED]
    texts = TEXTS * ranks
    return texts / (cpu - few_cpu), texts / (wall - few_wall), float(scores.mean())


def load_hf(model):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval(), tokenizer


def score_hf(network, tokenizer):
    """Returns the mean log-probability of the labels, with one forward pass for each."""
    import torch
    prompts, prefix = prompts_of(rows_of(CHECKED))
    scores = []
    for prompt in prompts:
        whole = [tokenizer(prompt + prefix + label)["input_ids"] for label in LABELS]
        given = tokenizer(prompt + prefix)["input_ids"]
        shared = min(len(os.path.commonprefix([given, ids])) for ids in whole)
        for ids in whole:
            with torch.inference_mode():
                log_probs = network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
            scores.append(sum(log_probs[t - 1, ids[t]].item() for t in range(shared, len(ids))))
    return statistics.fmean(scores)


def answers_of(network, tokenizer, prompts, batch, tokens):
    """Generates an answer to each prompt. Returns the label in each answer, or `unknown`."""
    import torch
    found = []
    for first in range(0, len(prompts), batch):
        asked = tokenizer(prompts[first:first + batch], return_tensors="pt", padding=True)
        with torch.inference_mode():
            ids = network.generate(asked["input_ids"], attention_mask=asked["attention_mask"],
                                   max_new_tokens=tokens, do_sample=False,
                                   pad_token_id=tokenizer.pad_token_id)
        for text in tokenizer.batch_decode(ids[:, asked["input_ids"].shape[1]:]):
            match = re.search(r'"classification":\s*"(\w+)"', text) or \
                re.search(r"\b(normal|hate)\b", text)
            found.append(match.group(1) if match else "unknown")
    return found


def measure_hf(model, batch, tokens):
    network, tokenizer = load_hf(model)
    tokens = tokens or len(tokenizer(TYPICAL)["input_ids"])
    prompts, _ = prompts_of(rows_of(batch + TEXTS))
    answers_of(network, tokenizer, prompts[:batch], batch, tokens)  # warm-up
    begin = time.process_time()
    found = answers_of(network, tokenizer, prompts[batch:], batch, tokens)
    assert len(found) == TEXTS
    return TEXTS / (time.process_time() - begin), score_hf(network, tokenizer)


def emit(name, rate, check):
    print(json.dumps({"name": name, "value": round(rate, 3), "unit": "texts/CPU-s",
                      "check": check}))


def ours(program, model, batch="16"):
    rate, _, check = measure_ours(program, model, int(batch))
    emit("job classify", rate, check)


def hf(model, batch="16", tokens="0"):
    emit("transformers", *measure_hf(model, int(batch), int(tokens)))


def table(program, model, rounds="3"):
    """Prints speeds with batches of 1, 4 and 16, each as the median of interleaved rounds."""
    def peer(batch):
        done = subprocess.run([sys.executable, __file__, "hf", model, str(batch)], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)["value"]

    def median(measure):
        return statistics.median(measure() for _ in range(int(rounds)))

    print("| configuration | ours, texts / CPU-s | transformers | ratio |\n|---|---|---|---|")
    for batch in (1, 4, 16):
        pairs = [(measure_ours(program, model, batch)[0], peer(batch)) for _ in range(int(rounds))]
        mine, theirs = (statistics.median(values) for values in zip(*pairs))
        print(f"| batch {batch} | {mine:.2f} | {theirs:.2f} | {mine / theirs:.2f} |", flush=True)
    print("\n| ranks | texts / s |\n|---|---|")
    for ranks in (1, 2):
        rate = median(lambda count=ranks: measure_ours(program, model, 16, count)[1])
        print(f"| {ranks} | {rate:.2f} |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    {"make": make, "ours": ours, "hf": hf, "table": table}[sys.argv[1]](*sys.argv[2:])
