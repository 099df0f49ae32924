#include <mgpu/train/optimizer_config.hpp>

namespace mgpu::train {
namespace {

void add_schedule_keys(KeyTable& table) {
  table.add({.name = "train.max_steps",
             .type = KeyType::integer,
             .default_value = "50000",
             .summary = "optimizer steps of the whole job, whatever the number of ranks",
             .unit = "steps",
             .min = 1,
             .max = 1e12,
             .foreign = {
                 {"num_epochs", "axolotl", "here training is measured in steps: `train.max_steps`"},
                 {"num_train_epochs", "transformers",
                  "here training is measured in steps: `train.max_steps`"}}});
  table.add({.name = "train.learning_rate",
             .type = KeyType::number,
             .default_value = "3e-4",
             .summary = "peak learning rate, at any number of ranks",
             .min = 0.0,
             .max = 10.0,
             .foreign = {{"lr", "PyTorch"}}});
  table.add({.name = "train.lr_schedule",
             .type = KeyType::choice,
             .default_value = "cosine",
             .summary = "learning rate after the warm-up: down to 0 at max_steps, or constant",
             .choices = {"constant", "linear", "cosine"},
             .foreign = {{"lr_scheduler_type", "transformers"}, {"lr_scheduler", "axolotl"}}});
  table.add({.name = "train.warmup_steps",
             .type = KeyType::integer,
             .default_value = "1000",
             .summary = "steps in which the learning rate grows to its peak",
             .unit = "steps",
             .min = 0,
             .max = 1e12});
}

void add_adamw_keys(KeyTable& table) {
  table.add({.name = "train.weight_decay",
             .type = KeyType::number,
             .default_value = "0.01",
             .summary = "decoupled decay of matrices and embeddings, not of biases and norms",
             .min = 0.0,
             .max = 1.0});
  table.add({.name = "train.adam_beta1",
             .type = KeyType::number,
             .default_value = "0.9",
             .summary = "AdamW: decay of the mean of gradients",
             .min = 0.0,
             .max = 0.999999});
  table.add({.name = "train.adam_beta2",
             .type = KeyType::number,
             .default_value = "0.99",
             .summary = "AdamW: decay of the mean of squared gradients",
             .min = 0.0,
             .max = 0.999999});
  table.add({.name = "train.adam_epsilon",
             .type = KeyType::number,
             .default_value = "1e-8",
             .summary = "AdamW: added to the root of the squared mean",
             .min = 1e-12,
             .max = 1.0});
  table.add({.name = "train.max_grad_norm",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "longer gradients are scaled down to this norm; 0: never",
             .min = 0.0,
             .foreign = {{"gradient_clipping", "accelerate"}}});
}

LrShape shape_of(const Config& config) {
  if (config.is("train.lr_schedule", "constant")) return LrShape::constant;
  return config.is("train.lr_schedule", "linear") ? LrShape::linear : LrShape::cosine;
}

tensor::ComputeKind compute_of(const Config& config) {
  for (const auto kind : {tensor::ComputeKind::f16, tensor::ComputeKind::bf16})
    if (config.is("train.mixed_precision", name_of(kind))) return kind;
  return tensor::ComputeKind::f32;
}

}  // namespace

const char* name_of(tensor::ComputeKind precision) {
  if (precision == tensor::ComputeKind::bf16) return "bf16";
  return precision == tensor::ComputeKind::f16 ? "fp16" : "no";
}

void add_optimizer_keys(KeyTable& table) {
  add_schedule_keys(table);
  add_adamw_keys(table);
  table.add({.name = "train.mixed_precision",
             .type = KeyType::choice,
             .default_value = "no",
             .summary = "type of matrix products; weights, norms, softmax and loss stay float32",
             .choices = {"no", "fp16", "bf16"},
             .aliases = {"mixed_precision"},
             .foreign = {{"bf16", "transformers", "here it is `train.mixed_precision: bf16`"},
                         {"fp16", "transformers", "here it is `train.mixed_precision: fp16`"}}});
}

OptimizerConfig read_optimizer_config(const Config& config) {
  OptimizerConfig result;
  result.schedule = {shape_of(config), config.number("train.learning_rate"),
                     config.integer("train.warmup_steps"), config.integer("train.max_steps")};
  result.adamw = {config.number("train.adam_beta1"), config.number("train.adam_beta2"),
                  config.number("train.adam_epsilon"), config.number("train.weight_decay"),
                  config.number("train.max_grad_norm")};
  result.mixed_precision = compute_of(config);
  return result;
}

}  // namespace mgpu::train
