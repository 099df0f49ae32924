"""Makes tests/recipes/goldens/dpo.safetensors: losses, gradients and metrics of TRL's DPOTrainer.

The function DPOTrainer._compute_loss of TRL 1.16.0 gets log-probabilities instead of a model. It
computes the loss of each type, its gradient with respect to every log-probability, and metrics.

    python3 -m venv trl && trl/bin/pip install torch safetensors trl==1.16.0
    trl/bin/python tests/oracle/dpo_goldens.py [--check]
"""
import collections
import pathlib
import types

import torch
import trl
from trl.trainer.dpo_trainer import DPOTrainer

from golden_tensors import save_or_check

OUT = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "goldens" / "dpo.safetensors"
PAIRS, TOKENS = 5, 9
CASES = {  # by name: loss types, their weights, beta and label smoothing
    "sigmoid": (["sigmoid"], [1.0], 0.1, 0.0),
    "sigmoid_beta": (["sigmoid"], [1.0], 0.7, 0.0),
    "ipo": (["ipo"], [1.0], 0.1, 0.0),
    "hinge": (["hinge"], [1.0], 0.3, 0.0),
    "robust": (["robust"], [1.0], 0.2, 0.1),
    "apo_zero": (["apo_zero"], [1.0], 0.1, 0.0),
    "sigmoid_norm": (["sigmoid_norm"], [1.0], 2.0, 0.0),
    "rpo": (["sigmoid", "sft"], [1.0, 0.5], 0.1, 0.0),
}
METRICS = ("rewards/chosen", "rewards/rejected", "rewards/margins", "logps/chosen",
           "logps/rejected", "rewards/accuracies")


class Accelerator:
    """The accelerator of one process: gathering returns its argument."""
    device = torch.device("cpu")

    @staticmethod
    def gather(tensor):
        return tensor

    gather_for_metrics = gather


def trainer_of(types_of_loss, weights, beta, smoothing):
    """Returns an object with the members of DPOTrainer that _compute_loss reads."""
    return types.SimpleNamespace(
        model=types.SimpleNamespace(training=True), accelerator=Accelerator(),
        aux_loss_enabled=False, ld_alpha=None, precompute_ref_logps=True,
        f_divergence_type="reverse_kl", loss_types=types_of_loss, loss_weights=weights, beta=beta,
        label_smoothing=smoothing, use_weighting=False,
        _metrics={"train": collections.defaultdict(list)}, _total_train_tokens=0, _tp_size=1)


def made_inputs():
    """Returns log-probabilities [2 * PAIRS, TOKENS - 1], the mask of completions, and the sums of
    the reference. The chosen sequences come first, then the rejected ones."""
    draws = torch.Generator().manual_seed(21)
    log_probs = -4.0 * torch.rand(2 * PAIRS, TOKENS - 1, generator=draws, dtype=torch.float64)
    mask = torch.zeros(2 * PAIRS, TOKENS, dtype=torch.long)
    for row in range(2 * PAIRS):
        begin = 2 + row % PAIRS % 3  # the prompts of a pair are equally long
        mask[row, begin:begin + 2 + (row * 5 + row // PAIRS) % 4] = 1
    log_probs = log_probs * mask[:, 1:]
    drift = 3.0 * torch.randn(2 * PAIRS, generator=draws, dtype=torch.float64)
    return log_probs, mask, log_probs.sum(1) + drift


def computed(case, log_probs, mask, reference):
    leaf = log_probs.clone().requires_grad_()

    def model(**_):
        zeros = torch.zeros_like(log_probs)
        return types.SimpleNamespace(log_probs=leaf, entropy=zeros, mean_logits=zeros,
                                     is_top1=zeros.bool())

    trainer = trainer_of(*case)
    inputs = {"input_ids": torch.zeros_like(mask), "attention_mask": torch.ones_like(mask),
              "completion_mask": mask, "ref_chosen_logps": reference[:PAIRS],
              "ref_rejected_logps": reference[PAIRS:]}
    loss = DPOTrainer._compute_loss(trainer, model, inputs, False)
    loss.backward()
    metrics = [trainer._metrics["train"][name][0] for name in METRICS]
    return loss.detach().reshape(1), leaf.grad, torch.tensor(metrics, dtype=torch.float64)


def main():
    if trl.__version__ != "1.16.0":
        raise SystemExit(f"TRL {trl.__version__} is not 1.16.0")
    log_probs, mask, reference = made_inputs()
    tensors = {"log_probs": log_probs, "mask": mask, "reference": reference}
    for name, case in CASES.items():
        loss, gradient, metrics = computed(case, log_probs, mask, reference)
        tensors |= {f"{name}.loss": loss, f"{name}.gradient": gradient * mask[:, 1:],
                    f"{name}.metrics": metrics,
                    f"{name}.settings": torch.tensor([case[2], case[3], sum(case[1][1:])],
                                                     dtype=torch.float64)}
        print(f"{name:14} loss {loss.item():.6f}")
    save_or_check(tensors, OUT, {"trl": trl.__version__})


if __name__ == "__main__":
    main()
