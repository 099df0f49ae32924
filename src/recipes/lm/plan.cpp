#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/lm/training/head_blocks.hpp>
#include <mgpu/lm/weights/companion_files.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/model_plan.hpp>
#include <mgpu/run/plan_parts.hpp>

#include "examples.hpp"
#include "recipe.hpp"

namespace mgpu::recipes {
namespace {

using report::Plan;

// Assumed speeds of one core or GPU, in floating-point operations per second of forward and
// backward passes. The CPU speed was measured on one core of a server with AVX-512, with a Llama of
// 15 million parameters.
constexpr double kCpuFlops = 8e10;
constexpr double kGpuFlops = 1e14;
constexpr std::uint64_t kPanels = std::uint64_t{3} << 20;  // buffers of matrix products, bytes

/// Returns the maximum number of examples that the training and held-out rows can give; 0 if the
/// rows cannot be counted.
std::int64_t num_examples(const LmTrainSettings& settings, const LmMethod& method) {
  constexpr std::int64_t kAll = std::int64_t{1} << 40;
  std::int64_t rows = 0;
  try {
    for (const auto& options : {settings.rows, settings.eval_rows})
      if (options) rows += input::count_rows(opened(*options, method), kAll);
  } catch (const Failure&) {
    return 0;  // the run will report the failure
  }
  return rows * method.group_size();
}

/// Sizes of a run that follow from the keys and from config.json.
struct LmSizes {
  LmSizes(const LmTrainSettings& of, const LmMethod& method)
      : settings(of),
        model(lm::read_lm_config(settings.folder, settings.weights())),
        head(method.head(model)),
        has_two_sweeps(method.loss().in_two_sweeps() != nullptr),
        costs(method.costs()),
        items_together(method.items_together()),
        parameters(run::num_parameters(lm::trained_specs(model, head))),
        referenced(method.needs_reference() ? num_examples(of, method) : 0) {
    const std::filesystem::path folder = method.reference_folder();
    if (!folder.empty())
      other_reference = run::num_parameters(lm::read_lm_config(folder, lm::FolderWeights::ignored));
  }

  /// Returns whether it is certain that a pass computes the prompt of a group only once.
  bool shares_prompts() const {
    const bool rotates_alike =
        model.rope.kind != lm::RopeKind::dynamic || settings.seq_len <= model.max_positions;
    return settings.options.shares_prefixes && costs.own_tokens > 0 && rotates_alike;
  }

  /// Returns the maximum number of groups to which the `count` sequences of a pass can belong.
  std::int64_t groups_in(std::int64_t count) const {
    const train::BatchShape& batch = settings.loop.train.batch;
    const std::int64_t lane = std::max<std::int64_t>(batch.global_batch / batch.lanes, 1);
    if (lane % items_together == 0 && count % items_together == 0) return count / items_together;
    if (items_together % lane == 0 && lane % count == 0) return 1;
    return std::min(count, (count + items_together - 2) / items_together + 1);
  }

  /// Returns the maximum number of tokens that a pass of `count` sequences computes.
  std::int64_t tokens_in(std::int64_t count) const {
    if (!shares_prompts() || count == 0) return count * settings.seq_len;
    const std::int64_t prompt = settings.seq_len - costs.own_tokens;
    return groups_in(count) * prompt + count * costs.own_tokens;
  }

  std::uint64_t weight_bytes() const { return static_cast<std::uint64_t>(parameters) * 4; }

  /// Returns the memory for vectors that the backward pass needs for `tokens` tokens. For each
  /// token, a layer keeps:
  ///
  /// - its input, two norms, the residual stream after attention, and the outputs of attention
  ///   before and after the projection,
  /// - two copies of queries, keys and values,
  /// - three inner vectors of the MLP, or with experts, for each used expert, three inner vectors
  ///   and three vectors of the model's width.
  ///
  /// With checkpointing, each layer keeps only its input. In addition, one layer at a time needs
  /// all these vectors and their gradients.
  std::uint64_t activation_bytes(std::int64_t tokens) const {
    const std::int64_t projected = 2 * (model.heads + 2 * model.kv_heads) * model.head_dim;
    const std::int64_t mlp =
        model.experts.count == 0
            ? 3 * model.intermediate_size
            : 3 * model.experts.used * (model.intermediate_size + model.hidden_size);
    const std::int64_t layer = 6 * model.hidden_size + projected + mlp;
    const std::int64_t layers = std::ssize(model.layers);
    const std::int64_t per_token = settings.options.checkpoint_layers
                                       ? layers * model.hidden_size + 2 * layer
                                       : layers * layer;
    return static_cast<std::uint64_t>(tokens * per_token) * 4;
  }

  /// Returns the memory for buffers of matrix products, for the temporary tensors of the loss, and
  /// for blocks of logits. There is one block of the trained model, and one of a resident model (a
  /// teacher or the start model). If the head replaces the vocabulary head, counts only the
  /// buffers.
  std::uint64_t head_bytes(std::int64_t tokens, DeviceKind device) const {
    if (head && head->replaces_vocabulary) return kPanels;
    const lm::HeadBlocks blocks = lm::head_blocks(device, model.vocab);
    const std::int64_t models = costs.resident_parameters > 0 ? 2 : 1;
    const std::int64_t piece = std::min(model.vocab, blocks.vocabulary_block);
    const std::int64_t columns = models * model.vocab + costs.loss_pieces * piece;
    return kPanels + static_cast<std::uint64_t>(std::min(tokens, blocks.rows) * columns) * 4;
  }

  /// Returns the memory that sampling needs: keys and values of all completions that are sampled
  /// together, and on the CPU packed copies of the model's matrices. This memory is freed before a
  /// pass begins.
  std::uint64_t drawing_bytes(bool on_gpu) const {
    if (costs.sampled == 0.0) return 0;
    const std::int64_t cached = 2 * std::ssize(model.layers) * model.kv_heads * model.head_dim *
                                costs.sampling_batch * settings.seq_len;
    return static_cast<std::uint64_t>(cached) * 4 + (on_gpu ? 0 : weight_bytes());
  }

  LmTrainSettings settings;
  lm::LmConfig model;
  std::optional<lm::ModelHead> head;
  bool has_two_sweeps;  // true: each step begins with an additional forward pass
  MethodCosts costs;
  std::int64_t items_together;  // LmMethod::items_together()
  std::int64_t parameters;
  std::int64_t referenced;           // number of examples with a reference log-probability
  std::int64_t other_reference = 0;  // parameters of the model in LmMethod::reference_folder()
};

std::int64_t rows_of(const LmSizes& sizes, int rank, const run::PlanMachine& machine) {
  const auto passes = train::plan_micro_batches(sizes.settings.loop.train.batch, rank,
                                                machine.ranks, machine.device);
  return passes.back().offset + passes.back().count - passes.front().offset;
}

std::int64_t rows_at_once(const LmSizes& sizes, int ranks, DeviceKind device) {
  std::int64_t most = 0;
  for (const train::MicroBatch& pass :
       train::plan_micro_batches(sizes.settings.loop.train.batch, 0, ranks, device))
    most = std::max(most, pass.count);
  return most;
}

/// Returns the speed that a rank is assumed to reach, in FLOP/s.
double training_speed(const LmSizes& sizes, const run::PlanMachine& machine) {
  if (machine.device != DeviceKind::cuda) return kCpuFlops;
  if (machine.gpu_flops_32 == 0.0) return kGpuFlops;
  const bool is_32_bit = sizes.settings.options.compute == tensor::ComputeKind::f32;
  return run::kShareOfPeak * (is_32_bit ? machine.gpu_flops_32 : machine.gpu_flops_16);
}

void add_memory(const LmSizes& sizes, const Config& config, const run::PlanMachine& machine,
                Plan& plan) {
  const bool on_gpu = machine.device == DeviceKind::cuda;
  const std::uint64_t weights = sizes.weight_bytes();
  const std::int64_t rows = rows_at_once(sizes, machine.ranks, machine.device);
  const auto activations = [&](std::int64_t count) {
    return sizes.activation_bytes(sizes.tokens_in(count));
  };
  const auto bucket = static_cast<std::uint64_t>(cluster::read_cluster_config(config).bucket_mb)
                      << 20;
  plan.memory = {{"weights", weights},
                 {"gradients", weights},
                 {"optimizer", 2 * weights},
                 {"activations", activations(rows)},
                 {"head", sizes.head_bytes(rows * sizes.settings.seq_len, machine.device)},
                 {"buffers", run::gradient_buffer_bytes(sizes.settings.loop.train.batch, weights,
                                                        bucket, machine.ranks)},
                 {on_gpu ? "CUDA context" : "program",
                  on_gpu ? run::kCudaContext : run::program_bytes(machine)}};
  if (sizes.costs.resident_parameters > 0)
    plan.memory.push_back(
        {"resident models", static_cast<std::uint64_t>(sizes.costs.resident_parameters) * 4});
  const std::uint64_t drawing = sizes.drawing_bytes(on_gpu);
  const std::uint64_t pass =
      activations(rows) + sizes.head_bytes(rows * sizes.settings.seq_len, machine.device);
  if (drawing > pass) plan.memory.push_back({"sampling, beyond a pass", drawing - pass});
  // The model of LmMethod::reference_folder() has weights and gradients, and is freed before the
  // first pass.
  const std::uint64_t reference = static_cast<std::uint64_t>(sizes.other_reference) * 8;
  if (reference > pass) plan.memory.push_back({"reference, beyond a pass", reference - pass});
  const run::SharedMemory memory = run::memory_of_ranks(config, machine, "train.micro_batch_size");
  const std::uint64_t need = run::planned_bytes(plan);
  run::add_memory_limit(plan, memory, need, [&] {
    return run::fitting_rows(memory, rows, [&](std::int64_t fewer) {
      return need - activations(rows) + activations(fewer);
    });
  });
}

/// Returns the maximum number of tokens that the passes of rank 0 compute in a step.
std::int64_t tokens_of_step(const LmSizes& sizes, const run::PlanMachine& machine) {
  std::int64_t tokens = 0;
  for (const train::MicroBatch& pass :
       train::plan_micro_batches(sizes.settings.loop.train.batch, 0, machine.ranks, machine.device))
    tokens += sizes.tokens_in(pass.count);
  return tokens;
}

/// Adds the time of all steps.
void add_training_time(const LmSizes& sizes, const run::PlanMachine& machine, Plan& plan) {
  const std::int64_t all = rows_of(sizes, 0, machine) * sizes.settings.seq_len;
  const std::int64_t computed = tokens_of_step(sizes, machine);
  const double drawn = sizes.costs.sampled;
  const auto steps = static_cast<double>(sizes.settings.loop.optimizer.schedule.max_steps);
  const auto parameters = static_cast<double>(sizes.parameters);
  const double per_token = (sizes.has_two_sweeps ? 8.0 : 6.0) * parameters +
                           2.0 * static_cast<double>(sizes.costs.resident_parameters);
  const double flops = steps * (static_cast<double>(computed) * per_token +
                                static_cast<double>(all) * 2.0 * drawn * parameters);
  const std::string once =
      computed == all
          ? ""
          : report::text_of("; prompts once per pass: at most %s tokens a step, not %s",
                            report::grouped(computed).c_str(), report::grouped(all).c_str());
  plan.times.push_back(
      {"training", flops / training_speed(sizes, machine),
       report::text_of("%.3g FLOP a rank: 6 for each token and parameter%s%s%s", flops,
                       drawn > 0.0 ? ", 2 where the model samples" : "",
                       sizes.costs.resident_parameters > 0 ? ", 2 of each resident one" : "",
                       sizes.has_two_sweeps ? ", 2 for the first sweep" : "") +
           once});
}

/// Adds the time that the reference model needs for the log-probabilities of all examples.
void add_reference_time(const LmSizes& sizes, const run::PlanMachine& machine, Plan& plan) {
  if (sizes.referenced == 0) return;
  const std::int64_t parameters =
      sizes.other_reference > 0 ? sizes.other_reference : sizes.parameters;
  const double tokens = static_cast<double>(sizes.referenced) *
                        static_cast<double>(sizes.settings.seq_len) / machine.ranks;
  const double flops = 2.0 * static_cast<double>(parameters) * tokens;
  plan.times.push_back(
      {"reference", flops / training_speed(sizes, machine),
       report::text_of("%.3g FLOP a rank at most, once: %s examples of up to %lld tokens", flops,
                       report::grouped(sizes.referenced).c_str(),
                       static_cast<long long>(sizes.settings.seq_len))});
}

}  // namespace

std::uint64_t LmRecipe::disk_bytes() const {
  const LmSizes sizes(settings_, *method_);
  std::uint64_t companions = 0;
  for (const auto& [name, text] : model_files())
    companions += text.size();
  // A checkpoint holds weights, two moments, and the tensors that the method keeps. Disk space is
  // needed for the kept checkpoints, the best one and the one that is being written.
  for (const KeptTensor& kept : method_->kept_tensors())
    companions += kept.values.nbytes();
  // Curves have at most six numbers for each step and each evaluation, in addition to the values
  // that the method reports.
  const std::int64_t curve_bytes = 8 * (6 + std::ssize(sizes.settings.loop.step_values)) *
                                   (sizes.settings.loop.optimizer.schedule.max_steps +
                                    sizes.settings.loop.planned_evaluations());
  const std::uint64_t one =
      3 * sizes.weight_bytes() + companions + static_cast<std::uint64_t>(curve_bytes);
  constexpr std::uint64_t kReferenceBytes =
      128;  // bytes of an example, in the journal and in reference.h5 together
  return static_cast<std::uint64_t>(sizes.settings.loop.checkpoint.keep + 2) * one +
         static_cast<std::uint64_t>(sizes.referenced) * kReferenceBytes;
}

report::Plan LmRecipe::plan(const run::PlanMachine& machine) const {
  const LmSizes sizes(settings_, *method_);
  Plan plan = run::begin_plan(config_, machine, "sequences");
  for (int rank = 0; rank < machine.ranks; ++rank) {
    const auto passes = train::plan_micro_batches(sizes.settings.loop.train.batch, rank,
                                                  machine.ranks, machine.device);
    plan.shares.push_back({"rank " + std::to_string(rank), "batch", passes.front().offset,
                           rows_of(sizes, rank, machine)});
  }
  add_memory(sizes, config_, machine, plan);
  add_training_time(sizes, machine, plan);
  add_reference_time(sizes, machine, plan);
  run::add_gradient_traffic(plan, sizes.settings.loop.train.batch, sizes.weight_bytes());
  run::add_limit(plan, "free disk", disk_bytes(), machine.disk_bytes, "run.output");
  return plan;
}

}  // namespace mgpu::recipes
