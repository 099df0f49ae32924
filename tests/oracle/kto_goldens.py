"""Makes tests/recipes/goldens/kto.safetensors: losses, gradients and metrics of TRL's KTOTrainer.

The function KTOTrainer._compute_loss of TRL 1.16.0 gets log-probabilities instead of a model. It
computes the loss of each type, its gradient with respect to every log-probability, and metrics.

    python3 -m venv trl && trl/bin/pip install torch safetensors trl==1.16.0
    trl/bin/python tests/oracle/kto_goldens.py [--check]
"""
import collections
import pathlib
import types

import torch
import trl
from trl.trainer.kto_trainer import KTOTrainer

from golden_tensors import save_or_check

OUT = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "goldens" / "kto.safetensors"
ROWS, TOKENS = 7, 9
MIXED = [1, 0, 1, 1, 0, 0, 1]
CASES = {  # by name: loss type, beta, weights, labels, sign of the log-ratios of other completions
    "kto": ("kto", 0.1, 1.0, 1.0, MIXED, 1.0),
    "kto_weights": ("kto", 0.7, 1.33, 0.8, MIXED, 1.0),
    "kto_no_kl": ("kto", 0.3, 1.0, 1.0, MIXED, -1.0),  # the estimate is negative, so 0 is used
    "kto_all_good": ("kto", 0.1, 1.0, 1.0, [1] * ROWS, 1.0),
    "apo": ("apo_zero_unpaired", 0.2, 1.0, 1.5, MIXED, 1.0),
}
METRICS = ("rewards/chosen", "rewards/rejected", "rewards/margins", "logps/chosen",
           "logps/rejected", "kl")


class Accelerator:
    """The accelerator of one process: gathering returns its argument."""
    device = torch.device("cpu")

    @staticmethod
    def gather_for_metrics(tensor):
        return tensor


def masked(draws, scale):
    """Returns log-probabilities [ROWS, TOKENS - 1], and the mask of completions [ROWS, TOKENS]."""
    log_probs = -scale * torch.rand(ROWS, TOKENS - 1, generator=draws, dtype=torch.float64)
    mask = torch.zeros(ROWS, TOKENS, dtype=torch.long)
    for row in range(ROWS):
        begin = 2 + row % 3
        mask[row, begin:begin + 2 + row * 5 % 4] = 1
    return log_probs * mask[:, 1:], mask


def computed(case, tensors):
    loss_type, beta, desirable, undesirable, labels, sign = case
    leaf = tensors["log_probs"].clone().requires_grad_()

    def model(**inputs):
        is_other = bool((inputs["input_ids"] == 1).all())  # marks the other completions
        zeros = torch.zeros_like(leaf)
        return types.SimpleNamespace(log_probs=tensors["kl_log_probs"] if is_other else leaf,
                                     entropy=zeros, mean_logits=zeros)

    trainer = types.SimpleNamespace(
        model=types.SimpleNamespace(training=True), accelerator=Accelerator(),
        aux_loss_enabled=False, precompute_ref_logps=True, calculate_KL=loss_type == "kto",
        loss_type=loss_type, beta=beta, desirable_weight=desirable,
        undesirable_weight=undesirable, _metrics={"train": collections.defaultdict(list)},
        _total_train_tokens=0, _tp_size=1)
    trainer._compute_kl_logps = types.MethodType(KTOTrainer._compute_kl_logps, trainer)
    mask = tensors["mask"]
    ones = torch.ones_like(mask)
    inputs = {"input_ids": torch.zeros_like(mask), "attention_mask": ones, "completion_mask": mask,
              "KL_input_ids": ones, "KL_attention_mask": ones, "KL_completion_mask": mask,
              "label": torch.tensor(labels, dtype=torch.bool),
              "ref_logps": tensors["reference"],
              "ref_KL_logps": tensors["kl_log_probs"].sum(1) - sign * tensors["kl_ratios"]}
    loss = KTOTrainer._compute_loss(trainer, model, inputs, False)
    loss.backward()
    metrics = [trainer._metrics["train"][name][0] if trainer._metrics["train"][name] else
               float("nan") for name in METRICS]
    return (loss.detach().reshape(1), leaf.grad * mask[:, 1:],
            torch.tensor(metrics, dtype=torch.float64))


def main():
    if trl.__version__ != "1.16.0":
        raise SystemExit(f"TRL {trl.__version__} is not 1.16.0")
    draws = torch.Generator().manual_seed(21)
    log_probs, mask = masked(draws, 4.0)
    kl_log_probs, _ = masked(draws, 8.0)
    drift = 3.0 * torch.randn(ROWS, generator=draws, dtype=torch.float64)
    tensors = {"log_probs": log_probs, "mask": mask, "reference": log_probs.sum(1) + drift,
               "kl_log_probs": kl_log_probs,
               "kl_ratios": torch.rand(ROWS, generator=draws, dtype=torch.float64) * 2 - 0.4}
    for name, case in CASES.items():
        loss, gradient, metrics = computed(case, tensors)
        tensors |= {f"{name}.loss": loss, f"{name}.gradient": gradient, f"{name}.metrics": metrics,
                    f"{name}.labels": torch.tensor(case[4], dtype=torch.float64),
                    f"{name}.settings": torch.tensor([*case[1:4], case[5]], dtype=torch.float64)}
        print(f"{name:14} loss {loss.item():.6f} kl {metrics[-1].item():.4f}")
    save_or_check(tensors, OUT, {"trl": trl.__version__})


if __name__ == "__main__":
    main()
