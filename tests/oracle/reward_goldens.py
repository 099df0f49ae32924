"""Makes tests/recipes/goldens/reward.safetensors: losses, gradients and metrics of TRL's RewardTrainer.

The function RewardTrainer.compute_loss of TRL 1.16.0 gets a model that returns given rewards. It
computes the loss, its gradient with respect to every reward, and metrics.

    python3 -m venv trl && trl/bin/pip install torch safetensors trl==1.16.0
    trl/bin/python tests/oracle/reward_goldens.py [--check]
"""
import collections
import pathlib
import types

import torch
import trl
from trl.trainer.reward_trainer import RewardTrainer

from golden_tensors import save_or_check

OUT = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "goldens" / "reward.safetensors"
PAIRS = 7
CASES = {  # by name: weight of the centering, whether pairs have margins
    "plain": (None, False),
    "margin": (None, True),
    "centered": (0.01, False),
    "centered_margin": (0.7, True),
}
METRICS = ("margin", "mean_reward", "min_reward", "max_reward", "accuracy")


class Accelerator:
    """The accelerator of one process: gathering returns its argument."""

    @staticmethod
    def gather(tensor):
        return tensor

    gather_for_metrics = gather


def computed(center, has_margin, rewards, margins):
    leaf = rewards.clone().requires_grad_()

    class Model:
        training = True

        def __call__(self, **_):
            return types.SimpleNamespace(logits=leaf)

    trainer = types.SimpleNamespace(
        model=Model(), accelerator=Accelerator(), _total_train_tokens=0, _tp_size=1,
        args=types.SimpleNamespace(center_rewards_coefficient=center),
        _metrics={"train": collections.defaultdict(list)})
    inputs = {"attention_mask": torch.ones(2 * PAIRS, 3, dtype=torch.long)}
    if has_margin:
        inputs["margin"] = margins
    loss = RewardTrainer.compute_loss(trainer, trainer.model, inputs)
    loss.backward()
    metrics = [trainer._metrics["train"][name][0] for name in METRICS]
    return loss.detach().reshape(1), leaf.grad, torch.tensor(metrics, dtype=torch.float64)


def main():
    if trl.__version__ != "1.16.0":
        raise SystemExit(f"TRL {trl.__version__} is not 1.16.0")
    draws = torch.Generator().manual_seed(21)
    # First the rewards of all chosen completions, then those of the rejected ones.
    rewards = 3.0 * torch.randn(2 * PAIRS, 1, generator=draws, dtype=torch.float64)
    margins = 2.0 * torch.rand(PAIRS, generator=draws, dtype=torch.float64)
    tensors = {"rewards": rewards, "margins": margins}
    for name, (center, has_margin) in CASES.items():
        loss, gradient, metrics = computed(center, has_margin, rewards, margins)
        settings = torch.tensor([center or 0.0, float(has_margin)], dtype=torch.float64)
        tensors |= {f"{name}.loss": loss, f"{name}.gradient": gradient, f"{name}.metrics": metrics,
                    f"{name}.settings": settings}
        print(f"{name:16} loss {loss.item():.6f}")
    save_or_check(tensors, OUT, {"trl": trl.__version__})


if __name__ == "__main__":
    main()
