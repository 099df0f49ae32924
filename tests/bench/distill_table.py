#!/usr/bin/env python3
"""Compares students of one teacher by their training targets.

The targets are the teacher's texts, its whole distributions, draws from these (RS-KD), or the 12
most probable tokens. The script prints a Markdown table over seeds, with held-out figures that
transformers computes.

    distill_table.py --teacher FOLDER --out FOLDER [--program mgpu_spmd] [--seeds 3] [--steps 400]

The teacher itself writes the texts, so its distributions are the truth. All students begin with the
same random weights and see the same tokens in the same order. Source: arXiv 2503.16870, tables 2
and 3.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess

import h5py
import torch
from transformers import AutoModelForCausalLM

TRAIN = ("job=train", "run.deterministic=layout", "train.lanes=1", "train.seq_len=128",
         "train.global_batch_size=8", "train.learning_rate=3e-3", "train.warmup_steps=20",
         "checkpoint.keep=1", "log.tensorboard=false")
DRAWS = 50
BINS = 15


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teacher", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path, default="./mgpu_spmd")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--texts", type=int, default=400)
    return parser.parse_args()


def run(args, name, *keys):
    """Runs a job and returns its run directory."""
    config = args.out / f"{name}.yaml"
    config.write_text(f"schema: 1\nrun: {{name: {name}, output: {args.out}}}\n")
    ended = subprocess.run([args.program.resolve(), config, "run.resume=never", *keys],
                           capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"{name}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    return args.out / name / "latest"


def write_texts(teacher, count, path):
    """Writes `count` texts of the teacher to `path` as token ids, and returns the ids."""
    begin = torch.full((count, 1), teacher.config.bos_token_id)
    with torch.no_grad():
        ids = teacher.generate(begin, attention_mask=torch.ones_like(begin), do_sample=True,
                               top_k=0, max_new_tokens=127, min_new_tokens=127, pad_token_id=0)
    path.write_text("".join(json.dumps({"token_ids": row}) + "\n" for row in ids.tolist()))
    return ids


def make_student(teacher_folder, folder):
    """Makes a folder without weights: two layers of the teacher's width."""
    folder.mkdir(exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        if (teacher_folder / name).exists():
            shutil.copy(teacher_folder / name, folder)
    config = json.loads((teacher_folder / "config.json").read_text())
    config["num_hidden_layers"] = 2
    (folder / "config.json").write_text(json.dumps(config))


def log_probs(model, ids):
    with torch.no_grad():
        return torch.cat([model(part).logits[:, :-1].double().log_softmax(-1)
                          for part in ids.split(32)]).flatten(0, 1)


def calibration_error(log_q, targets):
    """Returns the expected calibration error of the most probable token, in percent."""
    confidence, best = log_q.exp().max(-1)
    right = (best == targets).double()
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    error = 0.0
    for b in range(BINS):
        here = bins == b
        if here.any():
            error += (right[here].mean() - confidence[here].mean()).abs() * here.double().mean()
    return 100.0 * float(error)


def judge(folder, held_out, log_p):
    """Returns KL(teacher || student), cross-entropy and calibration error on held-out texts."""
    log_q = log_probs(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), held_out)
    targets = held_out[:, 1:].flatten()
    divergence = (log_p.exp() * (log_p - log_q)).sum(-1).mean()
    loss = -log_q.gather(-1, targets[:, None]).mean()
    return float(divergence), float(loss), calibration_error(log_q, targets)


def ways(args, data, seed):
    """Runs job teacher twice. Returns the keys of each training by the name of its targets."""
    source = ("job=teacher", f"model.path={args.teacher}", f"data.path={data}", f"run.seed={seed}",
              "data.max_length=128")
    draws = run(args, "draws", *source, "teacher.targets=random_sampling",
                f"teacher.num_draws={DRAWS}")
    best = run(args, "best", *source, "teacher.top_k=12")
    with h5py.File(draws / "results.h5") as file:
        print("# %.1f different tokens in %d draws" %
              (file["arrays/samples/num_drawn/values"][:].mean(), DRAWS), flush=True)
    alone = ("distill.ce_weight=0",)
    return {
        "texts alone (CE)": (f"data.path={data}",),
        "all distributions": (f"data.path={data}", f"distill.model={args.teacher}", *alone),
        f"{DRAWS} draws (RS-KD)": (f"distill.targets={draws.resolve()}", *alone),
        "top 12, renormalized": (f"distill.targets={best.resolve()}", *alone,
                                 "distill.tail=renormalize"),
        "top 12 and a class for the rest": (f"distill.targets={best.resolve()}", *alone),
    }


def spread(values, digits):
    mean, deviation = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def main():
    args = parse()
    args.out.mkdir(parents=True, exist_ok=True)
    args.out = args.out.resolve()
    args.teacher = args.teacher.resolve()
    torch.manual_seed(0)
    teacher = AutoModelForCausalLM.from_pretrained(args.teacher, dtype=torch.float32)
    data = args.out / "texts.jsonl"
    write_texts(teacher, args.texts, data)
    held_out = write_texts(teacher, 200, args.out / "held_out.jsonl")
    log_p = log_probs(teacher, held_out)
    make_student(args.teacher, args.out / "init")
    figures = {}
    for seed in range(args.seeds):
        for row, (name, keys) in enumerate(ways(args, data, seed).items()):
            folder = run(args, f"student_{row}", *TRAIN, f"train.max_steps={args.steps}",
                         f"checkpoint.every={args.steps}", f"model.init={args.out / 'init'}",
                         f"run.seed={seed}", *keys)
            figures.setdefault(name, []).append(judge(folder / "ckpt" / "last", held_out, log_p))
            print(f"# seed {seed}: {name}: KL %.4f, CE %.4f, ECE %.2f %%" % figures[name][-1],
                  flush=True)
    print("| learned from | KL(teacher ‖ student), nats | loss, nats | ECE, % |")
    print("|---|---|---|---|")
    print("| the teacher itself | 0 | %.4f | %.2f |" % (
        -log_p.gather(-1, held_out[:, 1:].flatten()[:, None]).mean(),
        calibration_error(log_p, held_out[:, 1:].flatten())))
    for name, rows in figures.items():
        divergence, loss, error = zip(*rows)
        print(f"| {name} | {spread(divergence, 4)} | {spread(loss, 4)} | {spread(error, 2)} |")


if __name__ == "__main__":
    main()
