"""Makes tests/recipes/goldens/value.safetensors: losses and gradients of value models by PyTorch.

The losses use functions of PyTorch in float64. They are the binary cross-entropy, the mean squared
error, the negative log-likelihood of a histogram, and the Bradley-Terry loss of mean logits. A
sequence has the mean of its learned tokens, and a batch the mean of its sequences or pairs.
Gradients are those of autograd, with respect to the outputs of the head and to the
log-probabilities of the learned tokens.

    python3 -m venv torch && torch/bin/pip install torch safetensors
    torch/bin/python tests/oracle/value_goldens.py [--check]
"""
import pathlib

import torch
import torch.nn.functional as F

from golden_tensors import save_or_check

OUT = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "goldens" / "value.safetensors"
SEQUENCES, TOKENS = 6, 9
ATOMS, LOWEST, HIGHEST = 11, -1.0, 3.0
CASES = {  # by name: outputs of the head, weight of the cross-entropy of tokens
    "bce": (1, 0.0), "bce_lm": (1, 0.5), "mse_bernoulli": (1, 0.0), "mse_expectation": (1, 0.0),
    "mle": (ATOMS, 0.0), "mle_lm": (ATOMS, 0.25), "bradley_terry": (1, 0.0),
    "bradley_terry_lm": (1, 0.5)}


def made_inputs(outputs, seed):
    """Returns outputs and log-probabilities of every token, and the mask of learned tokens."""
    draws = torch.Generator().manual_seed(seed)
    logits = 2.0 * torch.randn(SEQUENCES, TOKENS, outputs, generator=draws, dtype=torch.float64)
    log_probs = -3.0 * torch.rand(SEQUENCES, TOKENS, generator=draws, dtype=torch.float64)
    mask = torch.zeros(SEQUENCES, TOKENS, dtype=torch.bool)
    for row in range(SEQUENCES):
        begin = 1 + row % 3
        mask[row, begin:begin + 2 + (row * 5) % 6] = True
    return logits, log_probs, mask


def labels_of(name):
    if name.startswith("mle"):
        return torch.tensor([-1.0, 3.0, 0.2, 1.13, 2.75, 0.05], dtype=torch.float64)
    if name == "mse_expectation":
        return torch.tensor([-2.0, 0.5, 7.0, 0.0, 1.0, 3.25], dtype=torch.float64)
    return torch.tensor([1.0, 0.0, 1.0, 0.0, 0.3, 0.0], dtype=torch.float64)


def token_losses(name, logits, labels):
    """Returns the loss of each token, [SEQUENCES, TOKENS]."""
    target = labels[:, None].expand(SEQUENCES, TOKENS)
    if name.startswith("bce"):
        return F.binary_cross_entropy_with_logits(logits[..., 0], target, reduction="none")
    if name == "mse_bernoulli":
        return F.mse_loss(torch.sigmoid(logits[..., 0]), target, reduction="none")
    if name == "mse_expectation":
        return F.mse_loss(logits[..., 0], target, reduction="none")
    atoms = torch.linspace(LOWEST, HIGHEST, ATOMS, dtype=torch.float64)
    nearest = (target[..., None] - atoms).abs().argmin(-1)
    return F.cross_entropy(logits.transpose(1, 2), nearest, reduction="none")


def mean_of_learned(values, mask):
    return (values * mask).sum(1) / mask.sum(1)


def loss_of(name, weight, logits, log_probs, mask, labels):
    if name.startswith("bradley_terry"):
        means = mean_of_learned(logits[..., 0], mask)
        loss = -F.logsigmoid(means[0::2] - means[1::2]).mean()
    else:
        loss = mean_of_learned(token_losses(name, logits, labels), mask).mean()
    return loss - weight * mean_of_learned(log_probs, mask).mean()


def main():
    tensors = {}
    for seed, (name, (outputs, weight)) in enumerate(CASES.items()):
        logits, log_probs, mask = made_inputs(outputs, seed)
        labels = labels_of(name)
        logits.requires_grad_()
        log_probs.requires_grad_()
        loss = loss_of(name, weight, logits, log_probs, mask, labels)
        loss.backward()
        slopes = torch.zeros_like(log_probs) if log_probs.grad is None else log_probs.grad
        tensors |= {f"{name}.outputs": logits.detach(), f"{name}.log_probs": log_probs.detach(),
                    f"{name}.mask": mask.long(), f"{name}.labels": labels,
                    f"{name}.weight": torch.tensor([weight], dtype=torch.float64),
                    f"{name}.loss": loss.detach().reshape(1), f"{name}.gradient": logits.grad,
                    f"{name}.log_prob_gradient": slopes.contiguous()}
        print(f"{name:18} loss {loss.item():.6f}")
    save_or_check(tensors, OUT, {"torch": torch.__version__})


if __name__ == "__main__":
    main()
