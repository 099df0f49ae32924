#!/usr/bin/env python3
"""Compares guided decoding with three loops of transformers, on one thread, in CPU seconds.

  guided_generate.py PROGRAM --peer-python PYTHON [--rounds 6] [--batches 1]

A random Llama of 15 million parameters completes batches of 16 prompts greedily. Its draws are
guided by a value model of the same size (qsharp, top_k 20). Both have float32 weights.

guided_peer.py describes the loops: `masked` scores the candidates of a sequence in one pass,
`repeated` copies the cache for each candidate, and `kept` keeps these copies. All run in turn. A
round of ours is a run of `--batches` + 1 batches less a run of one batch, so that start-up and
report do not count. The peers measure their batches after a short first one.

The script fails if a peer writes other tokens, or if the KL of a draw differs by more than 1e-4.
If the last candidate is as probable as the next token, the KL of the draw is not compared.

Needs numpy, safetensors and h5py; PYTHON also needs torch and transformers 5.24.
"""
import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import ratio

BATCH = 16
PEERS = ("masked", "kept", "repeated")
LEAST_GAP = 1e-4  # of logits. The logits of the two programs differ by less
CONFIG = """
schema: 1
job: generate
run: {name: bench, chunk_size: %d}
model: {path: %s}
data: {path: %s}
generate: {max_new_tokens: %d, do_sample: "false", batch_size: %d, prompt_log_probs: false,
           guide: {path: %s, algorithm: qsharp, eta: %g, top_k: %d}}
report: {html: false}
log: {tensorboard: false}
"""


def prompts(args, count):
    """Returns `count` batches of prompts: random token ids that are not special."""
    draw = random.Random(0)
    return [[[draw.randrange(3, 8192) for _ in range(args.prompt)] for _ in range(BATCH)]
            for _ in range(count)]


def run_ours(args, folder, batches):
    """Returns the CPU seconds of a run, and the tokens and KLs of its completions."""
    import h5py
    import numpy
    from cpu_time import run_timed
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps({"token_ids": ids}) + "\n"
                            for batch in batches for ids in batch))
    config = folder / "guided.yaml"
    config.write_text(CONFIG % (BATCH, folder / "model", rows, args.new, BATCH, folder / "guide",
                                args.eta, args.top_k))
    output = folder / "outputs"
    seconds = run_timed([args.program.resolve(), config, f"run.output={output}"])
    with h5py.File(output / "bench" / "latest" / "results.h5") as file:
        ids, kls = (file[f"arrays/samples/{name}/values"][:] for name in ("output_ids", "output_kl"))
    shutil.rmtree(output)
    shape = (BATCH * len(batches), args.new)
    return seconds, numpy.reshape(ids, shape), numpy.reshape(kls, shape)


def ours(args, folder):
    """Returns CPU seconds per batch, tokens and KLs."""
    batches = prompts(args, 1 + args.batches)
    one_s, *_ = run_ours(args, folder, batches[:1])
    all_s, ids, kls = run_ours(args, folder, batches)
    return (all_s - one_s) / args.batches, ids[BATCH:], kls[BATCH:]


def peer(args, folder, kind):
    """Runs a loop of transformers in another Python. Returns the values of ours(), and gaps."""
    import numpy
    sizes = [f"--batches={args.batches}", f"--prompt={args.prompt}", f"--new={args.new}",
             f"--top-k={args.top_k}", f"--eta={args.eta}"]
    done = subprocess.run([args.peer_python, __file__, str(args.program), "--peer", kind,
                           "--folder", folder, *sizes], check=True, stdout=subprocess.PIPE,
                          text=True, stderr=None if args.verbose else subprocess.DEVNULL)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return (found["seconds"],
            *(numpy.array(found[name]) for name in ("ids", "kl", "gap")))


def require_same_values(kind, mine, theirs):
    """Fails unless both wrote the same tokens and moved the distributions by the same KL. Returns
    the largest difference of a KL. A token whose last candidate is as probable as the next one,
    within the rounding of logits, may have another candidate and is left out."""
    others = int((mine[1] != theirs[1]).sum())
    if others:
        sys.exit(f"{others} of {mine[1].size} tokens of `{kind}` differ: this is not the same work")
    clear = theirs[3] > LEAST_GAP
    most = float(abs(mine[2] - theirs[2])[clear].max())
    if not most <= 1e-4 or not mine[2].mean() > 0.01 or not clear.mean() > 0.98:
        sys.exit(f"a KL of `{kind}` differs by {most} nats (mean {mine[2].mean()}, "
                 f"{int((~clear).sum())} tokens left out)")
    return most


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--peer-python", help="a Python that has transformers")
    parser.add_argument("--rounds", type=int, default=ratio.LEAST_ROUNDS)
    parser.add_argument("--batches", type=int, default=1)
    parser.add_argument("--prompt", type=int, default=128, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=32, help="tokens of a completion")
    parser.add_argument("--top-k", type=int, default=20)
    parser.add_argument("--eta", type=float, default=0.5)
    parser.add_argument("--verbose", action="store_true", help="show the peer's stderr")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer is None and args.peer_python is None:
        parser.error("--peer-python is needed")
    return args


def run_rounds(args, folder):
    """Returns the CPU seconds of each round, by side."""
    seconds = {side: [] for side in ("ours", *PEERS)}
    for number in range(args.rounds):
        order = list(seconds) if number % 2 == 0 else list(seconds)[::-1]
        found = {side: ours(args, folder) if side == "ours" else peer(args, folder, side)
                 for side in order}
        differences = [require_same_values(kind, found["ours"], found[kind]) for kind in PEERS]
        for side, result in found.items():
            seconds[side].append(result[0])
        print(f"# round {number + 1}:", ", ".join(f"{side} {result[0]:.2f} s" for side, result
                                                  in found.items()),
              f"(largest difference of a KL {max(differences):.1e})", file=sys.stderr, flush=True)
    return seconds


def print_result(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}))


def main():
    args = parse()
    if args.peer is not None:
        import guided_peer
        guided_peer.main(args, prompts(args, 1 + args.batches)[1:])
        return
    from made_llama import make_llama, make_value_model
    with tempfile.TemporaryDirectory(prefix="mgpu_bench.") as folder:
        folder = pathlib.Path(folder)
        make_llama(folder / "model")
        make_value_model(folder / "guide")
        seconds = run_rounds(args, folder)
    for side, values in seconds.items():
        print_result(f"guided/{side}", BATCH * args.new / statistics.median(values),
                     "tokens/CPU-s")
    for kind in PEERS:
        ratios = [theirs / mine for mine, theirs in zip(seconds["ours"], seconds[kind])]
        ends = ([round(end, 2) for end in ratio.interval(ratios)]
                if len(ratios) >= ratio.LEAST_ROUNDS else None)
        print_result(f"guided/ours / {kind}", statistics.median(ratios), "ratio of speeds",
                     rounds=args.rounds, interval=ends)


if __name__ == "__main__":
    main()
