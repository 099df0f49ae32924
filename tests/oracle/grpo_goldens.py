"""Makes tests/recipes/goldens/grpo.safetensors: losses and gradients of policy optimization.

The functions GRPOTrainer._compute_loss and RLOOTrainer._compute_loss of TRL 1.16.0 get
log-probabilities instead of a model. They compute the loss of each type, its gradient with respect
to every log-probability, and metrics. The variants `reinforce` and `seed_offline`, which TRL lacks,
are computed here from their formulas. Advantages come from float64 formulas, like those of TRL.

    python3 -m venv trl && trl/bin/pip install torch safetensors trl==1.16.0
    trl/bin/python tests/oracle/grpo_goldens.py [--check]
"""
import collections
import pathlib
import types

import torch
import trl
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.rloo_trainer import RLOOTrainer

from golden_tensors import save_or_check

OUT = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "goldens" / "grpo.safetensors"
GROUPS, MEMBERS, TOKENS, LANES = 4, 4, 9, 2
ROWS = GROUPS * MEMBERS
METRICS = (("clip_ratio/region_mean", "cispo_clip_ratio"), ("entropy",), ("kl",))
# By name: loss type of TRL ("" if TRL lacks it), level of ratios, clip low and high, beta,
# scale_rewards, and whether truncated completions are masked.
CASES = {
    "grpo": ("grpo", "token", 0.2, 0.28, 0.0, "group", False),
    "grpo_kl": ("grpo", "token", 0.2, 0.2, 0.04, "group", False),
    "grpo_batch": ("grpo", "token", 0.2, 0.2, 0.0, "batch", False),
    "grpo_masked": ("grpo", "token", 0.2, 0.2, 0.1, "group", True),
    "dr_grpo": ("dr_grpo", "token", 0.2, 0.2, 0.0, "none", False),
    "dr_grpo_kl": ("dr_grpo", "token", 0.2, 0.2, 0.1, "none", True),
    "dapo": ("dapo", "token", 0.2, 0.28, 0.0, "group", True),
    "dapo_kl": ("dapo", "token", 0.2, 0.28, 0.05, "group", False),
    "bnpo": ("bnpo", "token", 0.2, 0.2, 0.04, "group", True),
    "cispo": ("cispo", "token", 0.2, 1.5, 0.0, "group", False),
    "cispo_kl": ("cispo", "token", 0.2, 1.3, 0.04, "batch", True),
    "gspo": ("grpo", "sequence", 0.03, 0.04, 0.0, "group", False),
    "gspo_kl": ("grpo", "sequence", 0.03, 0.04, 0.04, "group", False),
    "rloo": ("rloo", "sequence", 0.2, 0.3, 0.0, "none", False),
    "reinforce": ("", "token", 0.2, 0.2, 0.0, "none", False),
    "reinforce_batch": ("", "token", 0.2, 0.2, 0.0, "batch", False),
    "seed_offline": ("", "token", 0.2, 0.2, 0.05, "none", False),
}


class Accelerator:
    """The accelerator of one process: gathering and reducing return their argument."""
    device = torch.device("cpu")
    num_processes = 1
    sync_gradients = True

    @staticmethod
    def gather(tensor):
        return tensor

    @staticmethod
    def reduce(tensor, reduction="sum"):
        return tensor

    gather_for_metrics = gather


def made_inputs():
    draws = torch.Generator().manual_seed(22)

    def uniform():
        return torch.rand(ROWS, TOKENS, generator=draws, dtype=torch.float64)

    mask = torch.zeros(ROWS, TOKENS, dtype=torch.long)
    for row in range(ROWS):
        mask[row, :2 + (row * 7 + row // 3) % (TOKENS - 1)] = 1
    now = -4.0 * uniform() * mask
    old = (now + 0.8 * (uniform() - 0.5)) * mask
    start = (now + 1.5 * (uniform() - 0.5)) * mask
    rewards = torch.round(4.0 * torch.rand(ROWS, generator=draws, dtype=torch.float64)) / 4.0
    rewards[4:8] = 0.5              # a group without variance
    rewards[9] = float("nan")       # a completion without a score
    truncated = torch.zeros(ROWS, dtype=torch.float64)
    truncated[[2, 7, 12]] = 1.0
    return {"now": now, "old": old, "start": start, "mask": mask, "rewards": rewards,
            "truncated": truncated, "entropies": 2.0 * uniform() * mask}


def deviation(values, dim=None):
    """Returns the standard deviation of the values that are not NaN, with divisor N - 1."""
    dims = tuple(range(values.dim())) if dim is None else dim
    squares = (values - torch.nanmean(values, dim=dims, keepdim=True)) ** 2
    return (squares.nansum(dims) / ((~values.isnan()).sum(dims) - 1)).sqrt()


def advantages_of(name, rewards, scale):
    """Returns advantages by the formulas of _generate_and_score_completions and variants."""
    groups = rewards.view(GROUPS, MEMBERS)
    mean = torch.nanmean(groups, dim=1, keepdim=True)
    if name.startswith("reinforce"):
        advantages = rewards - torch.nanmean(rewards)
    elif name == "rloo":
        scored = (~groups.isnan()).sum(1, keepdim=True)
        advantages = (groups - (groups.nansum(1, keepdim=True) - groups) / (scored - 1)).view(-1)
    elif name == "seed_offline":
        squares = torch.nanmean((groups - mean) ** 2, dim=1, keepdim=True)
        advantages = ((groups - mean) / squares.sqrt().clamp(min=1e-8)).view(-1)
    else:
        advantages = (groups - mean).view(-1)
    if scale == "group":
        advantages = advantages / (deviation(groups, dim=1).repeat_interleave(MEMBERS) + 1e-4)
    if scale == "batch":
        advantages = advantages / (deviation(rewards) + 1e-4)
    return torch.nan_to_num(advantages, nan=0.0)


def trainer_of(kind, level, low, high, beta, leaf, inputs, lanes):
    """Returns an object with the members of the trainers that _compute_loss reads."""
    def log_probs(*_args, **_options):
        return leaf, inputs["entropies"], None

    return types.SimpleNamespace(
        _get_per_token_logps_and_entropies=log_probs, aux_loss_enabled=False,
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, importance_sampling_level=level,
        beta=beta, loss_type=kind, epsilon_low=low, epsilon_high=high, use_vllm=False,
        args=types.SimpleNamespace(use_bias_correction_kl=False, delta=None,
                                   steps_per_generation=lanes),
        model=types.SimpleNamespace(training=True), accelerator=Accelerator(),
        current_gradient_accumulation_steps=lanes, max_completion_length=TOKENS,
        _entropy_bonus_enabled=False, _metrics={"train": collections.defaultdict(list)})


def of_trl(case, inputs, advantages, mask, rows, lanes):
    """Returns loss, gradient and metrics of `rows`, one of `lanes` steps of accumulation."""
    kind, level, low, high, beta, _, _ = case
    leaf = inputs["now"][rows].clone().requires_grad_()
    part = {name: tensor[rows] for name, tensor in inputs.items()}
    trainer = trainer_of(kind, level, low, high, beta, leaf, part, lanes)
    ones = torch.ones(len(leaf), 2, dtype=torch.long)
    given = {"prompt_ids": ones, "prompt_mask": ones, "completion_ids": ones.new_ones(leaf.shape),
             "completion_mask": mask[rows], "advantages": advantages[rows],
             "old_per_token_logps": part["old"], "ref_per_token_logps": part["start"],
             "num_items_in_batch": mask.sum(),
             "old_logps": (part["old"] * mask[rows]).sum(1)}
    loss = (RLOOTrainer if kind == "rloo" else GRPOTrainer)._compute_loss(trainer, None, given)
    loss.backward()
    metrics = [sum(trainer._metrics["train"][name][0] for name in names
                   if name in trainer._metrics["train"]) for names in METRICS]
    return loss.detach(), leaf.grad, metrics


def of_formula(name, case, inputs, advantages):
    """Returns the loss, its gradient and metrics. The loss is the mean over the completions of
    -(A log p - b (log p - log p_start)), with probabilities of whole completions."""
    leaf = inputs["now"].clone().requires_grad_()
    log_probs = (leaf * inputs["mask"]).sum(1)
    start = (inputs["start"] * inputs["mask"]).sum(1)
    loss = -(log_probs * advantages - case[4] * (log_probs - start)).mean()
    loss.backward()
    entropy = (inputs["entropies"] * inputs["mask"]).sum() / inputs["mask"].sum()
    start = inputs["start"] - inputs["now"]
    kl = ((start.exp() - start - 1) * inputs["mask"]).sum() / inputs["mask"].sum()
    return loss.detach(), leaf.grad, [0.0, entropy.item(), kl.item() if case[4] else 0.0]


def computed(name, case, inputs):
    mask = inputs["mask"]
    if case[6]:
        mask = mask * (inputs["truncated"] == 0.0).long()[:, None]
    advantages = advantages_of(name, inputs["rewards"], case[5])
    if not case[0]:
        return (*of_formula(name, case, inputs, advantages), advantages)
    everything = torch.arange(ROWS)
    if case[0] != "bnpo":
        return (*of_trl(case, inputs, advantages, mask, everything, 1), advantages)
    whole = of_trl(case, inputs, advantages, mask, everything, 1)
    lanes = [of_trl(case, inputs, advantages, mask, rows, LANES)
             for rows in everything.view(LANES, -1)]
    gradient = torch.cat([lane[1] for lane in lanes])
    return sum(lane[0] for lane in lanes), gradient, whole[2], advantages


def main():
    if trl.__version__ != "1.16.0":
        raise SystemExit(f"TRL {trl.__version__} is not 1.16.0")
    inputs = made_inputs()
    tensors = dict(inputs)
    for name, case in CASES.items():
        loss, gradient, metrics, advantages = computed(name, case, inputs)
        tensors |= {f"{name}.loss": loss.reshape(1), f"{name}.gradient": gradient,
                    f"{name}.advantages": advantages,
                    f"{name}.metrics": torch.tensor(metrics, dtype=torch.float64),
                    f"{name}.settings": torch.tensor([*case[2:5], float(case[6])],
                                                     dtype=torch.float64)}
        print(f"{name:16} loss {loss.item():.6f}")
    save_or_check(tensors, OUT, {"trl": trl.__version__})


if __name__ == "__main__":
    main()
