"""Makes tests/recipes/goldens/prm.safetensors: losses, gradients and metrics of process reward models.

The losses use functions of PyTorch in float64: the binary cross-entropy, the mean squared error of
probabilities, and -log sigmoid of the difference of two steps of a question. They are means over
all steps, or over all pairs of steps of a question whose labels differ. A model with two outputs
has the cross-entropy of two classes. Gradients are those of autograd, with respect to the outputs
of the head. The area under the ROC curve counts pairs of steps one by one.

    python3 -m venv torch && torch/bin/pip install torch safetensors
    torch/bin/python tests/oracle/prm_goldens.py [--check]
"""
import itertools
import pathlib

import torch
import torch.nn.functional as F

from golden_tensors import save_or_check

OUT = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "goldens" / "prm.safetensors"
QUESTIONS = [0, 0, 1, 0, 1, 2, 3]  # of each sequence
TOKENS, THRESHOLD, BINS = 11, 0.5, 10
CASES = [(loss, outputs) for loss in ("bce", "mse", "pairwise") for outputs in (1, 2)]


def made_inputs(outputs, seed):
    """Returns outputs and labels at every token, and the mask of tokens that end a step."""
    draws = torch.Generator().manual_seed(seed)
    shape = (len(QUESTIONS), TOKENS)
    values = 2.0 * torch.randn(*shape, outputs, generator=draws, dtype=torch.float64)
    labels = torch.randint(0, 9, shape, generator=draws).double() / 8
    mask = torch.zeros(shape, dtype=torch.bool)
    for row in range(len(QUESTIONS)):
        mask[row, 2 + row % 3::2 + row % 2] = True
    labels[5] = 1.0  # a question with right steps only
    values[0, 2 + 2] = values[1, 3 + 3]  # equal logits in a question, of both kinds
    labels[0, 2 + 2], labels[1, 3 + 3] = 1.0, 0.0
    return values, labels, mask


def loss_of(name, values, labels, questions):
    """Returns the loss of the steps, and the share of right predictions."""
    outputs = values.shape[-1]
    logits = values[:, 0] if outputs == 1 else values[:, 1] - values[:, 0]
    if name == "pairwise":
        pairs = [(i, j) for i, j in itertools.product(range(len(labels)), repeat=2)
                 if questions[i] == questions[j] and labels[i] > labels[j]]
        margins = torch.stack([logits[i] - logits[j] for i, j in pairs])
        return -F.logsigmoid(margins).mean(), (margins > 0).double().mean()
    right = ((torch.sigmoid(logits) > THRESHOLD) == (labels > THRESHOLD)).double().mean()
    if name == "mse":
        return F.mse_loss(torch.sigmoid(logits), labels), right
    if outputs == 1:
        return F.binary_cross_entropy_with_logits(logits, labels), right
    return F.cross_entropy(values, torch.stack([1 - labels, labels], -1)), right


def area(logits, right):
    """Returns the area under the ROC curve; None without steps of both kinds."""
    wins = [float(a > b) + 0.5 * float(a == b) for a, is_a in zip(logits, right) if is_a
            for b, is_b in zip(logits, right) if not is_b]
    return sum(wins) / len(wins) if wins else None


def metrics(values, labels, questions):
    logits = values[:, 0] if values.shape[-1] == 1 else values[:, 1] - values[:, 0]
    right = labels > THRESHOLD
    of_questions = [area(logits[questions == q], right[questions == q]) for q in set(QUESTIONS)]
    known = [one for one in of_questions if one is not None]
    assert 0 < len(known) < len(of_questions)
    probability = torch.sigmoid(logits)
    error = 0.0
    for b in range(BINS):
        inside = (probability * BINS).floor().clamp(max=BINS - 1) == b
        if inside.any():
            error += inside.double().mean() * abs((probability - labels)[inside].mean())
    return torch.tensor([sum(known) / len(known), area(logits, right), error], dtype=torch.float64)


def main():
    tensors = {}
    for seed, (name, outputs) in enumerate(CASES):
        values, labels, mask = made_inputs(outputs, seed)
        values.requires_grad_()
        rows = torch.tensor(QUESTIONS)[:, None].expand(mask.shape)[mask]
        loss, right = loss_of(name, values[mask], labels[mask], rows)
        loss.backward()
        case = f"{name}_{outputs}"
        tensors |= {f"{case}.outputs": values.detach(), f"{case}.labels": labels,
                    f"{case}.mask": mask.long(), f"{case}.loss": loss.detach().reshape(1),
                    f"{case}.accuracy": right.reshape(1), f"{case}.gradient": values.grad,
                    f"{case}.metrics": metrics(values.detach()[mask], labels[mask], rows)}
        print(f"{case:12} loss {loss.item():.6f}, accuracy {right.item():.4f}")
    tensors["questions"] = torch.tensor(QUESTIONS)
    save_or_check(tensors, OUT, {"torch": torch.__version__})


if __name__ == "__main__":
    main()
