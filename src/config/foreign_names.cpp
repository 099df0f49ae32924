#include <algorithm>
#include <array>

#include <mgpu/config/foreign_names.hpp>

namespace mgpu {
namespace {

constexpr std::array kForeignNames = {
    ForeignName{"per_device_train_batch_size", "transformers", "train.micro_batch_size",
                "here it is `train.micro_batch_size` (one rank, one pass)"},
    ForeignName{"per_device_eval_batch_size", "transformers", "",
                "no such key here: evaluations play `run.chunk_size` runs together"},
    ForeignName{"micro_batch_size", "axolotl", "train.micro_batch_size",
                "here it is `train.micro_batch_size`", true},
    ForeignName{"num_epochs", "axolotl", "train.max_steps",
                "here training is measured in steps: `train.max_steps`"},
    ForeignName{"num_train_epochs", "transformers", "train.max_steps",
                "here training is measured in steps: `train.max_steps`"},
    ForeignName{"num_processes", "accelerate", "", "that is mpirun's -np"},
    ForeignName{"gpu_ids", "accelerate", "devices.gpus",
                "here it is `devices.gpus`, or --gpus 0,1"},
    ForeignName{"num_machines", "accelerate", "", "mpirun or srun knows the machines"},
    ForeignName{"main_process_port", "accelerate", "", "there is no port here: remove it"},
    ForeignName{"nproc_per_node", "torchrun", "", "that is mpirun's -np"},
    ForeignName{"master_addr", "torchrun", "", "mpirun or srun knows the machines: remove it"},
    ForeignName{"master_port", "torchrun", "", "there is no port here: remove it"},
    ForeignName{"tensor_parallel_size", "vLLM", "devices.gpus_per_model",
                "here it is `devices.gpus_per_model`"},
    ForeignName{"pipeline_parallel_size", "vLLM", "devices.gpus_per_model",
                "here it is `devices.gpus_per_model`"},
    ForeignName{"gpu_memory_utilization", "vLLM", "devices.memory_margin",
                "here `devices.memory_margin` is the share that stays free"},
    ForeignName{"max_seq_length", "TRL", "train.seq_len",
                "here it is `train.seq_len`; in Algorithm Distillation `model.n_transit`"},
    ForeignName{"sequence_len", "axolotl", "train.seq_len",
                "here it is `train.seq_len`; in Algorithm Distillation `model.n_transit`"},
    ForeignName{"max_tokens", "vLLM", "generate.max_new_tokens",
                "here it is `generate.max_new_tokens`"},
    ForeignName{"lmbda", "TRL", "distill.on_policy", "here it is `distill.on_policy`"},
    ForeignName{"beta", "TRL", "distill.beta",
                "here it is `distill.beta`, with `distill.loss: jsd`", true},
    ForeignName{"temperature", "TRL", "distill.sampling_temperature",
                "here a student draws with `distill.sampling_temperature`, and job generate with "
                "`generate.temperature`",
                true},
    ForeignName{"max_new_tokens", "TRL", "distill.max_new_tokens",
                "here a student draws `distill.max_new_tokens`, and job generate "
                "`generate.max_new_tokens`",
                true},
    ForeignName{"teacher_model_name_or_path", "TRL", "distill.model",
                "here it is `distill.model`, a folder"},
    ForeignName{"seq_kd", "TRL", "",
                "no such key here: train on completions that job generate made with the teacher"},
    ForeignName{"model_name_or_path", "TRL", "model.path", "here it is `model.path`, a folder"},
    ForeignName{"output_dir", "transformers", "run.output", "here it is `run.output`"},
    ForeignName{"run_name", "transformers", "run.name", "here it is `run.name`"},
    ForeignName{"report_to", "transformers", "log.tensorboard",
                "TensorBoard files are always there, unless `log.tensorboard` is false"},
    ForeignName{"logging_dir", "transformers", "run.output", "here it is `run.output`"},
    ForeignName{"resume_from_checkpoint", "transformers", "run.resume", "here it is `run.resume`"},
    ForeignName{"save_steps", "transformers", "checkpoint.every", "here it is `checkpoint.every`"},
    ForeignName{"save_total_limit", "transformers", "checkpoint.keep",
                "here it is `checkpoint.keep`"},
    ForeignName{"eval_steps", "transformers", "train.eval_every", "here it is `train.eval_every`"},
    ForeignName{"logging_steps", "transformers", "",
                "the log's pace is fixed; TensorBoard has every step"},
    ForeignName{"lr", "PyTorch", "train.learning_rate", "here it is `train.learning_rate`"},
    ForeignName{"lr_scheduler_type", "transformers", "train.lr_schedule",
                "here it is `train.lr_schedule`"},
    ForeignName{"lr_scheduler", "axolotl", "train.lr_schedule", "here it is `train.lr_schedule`"},
    ForeignName{"gradient_clipping", "accelerate", "train.max_grad_norm",
                "here it is `train.max_grad_norm`"},
    ForeignName{"bf16", "transformers", "train.mixed_precision",
                "here it is `train.mixed_precision: bf16`"},
    ForeignName{"fp16", "transformers", "train.mixed_precision",
                "here it is `train.mixed_precision: fp16`"},
    ForeignName{"tf32", "transformers", "", "fp32 stays fp32 here: remove it"},
    ForeignName{"full_determinism", "transformers", "run.deterministic",
                "here it is `run.deterministic: layout`"},
    ForeignName{"wandb_project", "axolotl", "", "there are files only: TensorBoard, events.jsonl"},
    ForeignName{"deepspeed", "transformers", "", "nothing is sharded here: remove it"},
};

struct ForeignValue {
  std::string_view theirs;
  std::string_view ours;
};

constexpr auto kForeignValues = std::to_array<ForeignValue>({
    {"float16", "fp16"},
    {"half", "fp16"},
    {"f16", "fp16"},
    {"bfloat16", "bf16"},
    {"float32", "no"},
    {"fp32", "no"},
    {"float32", "fp32"},
    {"none", "no"},
    {"cosine_with_warmup", "cosine"},
    {"warn", "warning"},
    {"warning", "warn"},
    {"gloo", "mpi"},
    {"cpu", "mpi"},
    {"sdpa", "auto"},
    {"flash_attention_2", "flash"},
    {"flash_attention", "flash"},
});

}  // namespace

std::span<const ForeignName> foreign_names() {
  return kForeignNames;
}

const ForeignName* find_foreign_name(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('.') + 1);
  const auto found =
      std::find_if(kForeignNames.begin(), kForeignNames.end(), [&](const ForeignName& foreign) {
        return foreign.name == last && (!foreign.top_level_only || path == last);
      });
  return found == kForeignNames.end() ? nullptr : &*found;
}

std::string translated_value(std::string_view text, const std::vector<std::string>& choices) {
  for (const auto& [theirs, ours] : kForeignValues) {
    const bool offered = std::find(choices.begin(), choices.end(), ours) != choices.end();
    if (theirs == text && offered) return std::string(ours);
  }
  return "";
}

}  // namespace mgpu
