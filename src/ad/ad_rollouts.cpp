#include <algorithm>
#include <memory>

#include <ATen/ATen.h>

#include <mgpu/ad/ad_batch.hpp>
#include <mgpu/ad/ad_rollouts.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/random_streams.hpp>
#include <mgpu/kernels/sample_action.hpp>
#include <mgpu/tensor/read_back.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::ad {
namespace {

using Memories = std::vector<RolloutMemory>;

/// Feeds the past steps of each rollout to the model, and reuses cached keys and values where
/// possible.
class Context {
public:
  virtual ~Context() = default;
  /// Returns the logits of the next action of every row, [B, A] on the model's device.
  virtual at::Tensor next_logits(const Memories& memories) = 0;
};

class StepContext final : public Context {
public:
  StepContext(const AdTransformer& model, std::int64_t rows, std::int64_t tokens)
      : model_(&model), cache_(model.make_cache(rows)), buffers_(rows, tokens), tokens_(tokens) {}

  at::Tensor next_logits(const Memories& memories) override {
    std::vector<std::int64_t> counts;
    std::int64_t longest = 1;
    for (std::size_t row = 0; row < memories.size(); ++row) {
      counts.push_back(write(memories[row], row));
      longest = std::max(longest, counts.back());
    }
    const Device device = tensor::mgpu_device(model_->parameters().weights());
    return model_->decode(cache_, buffers_.to_model(device, longest), counts);
  }

private:
  /// Writes the tokens that the row's cache does not have yet, and returns their number. If the
  /// cached keys are invalid, empties the row's cache and writes the whole window.
  std::int64_t write(const RolloutMemory& memory, std::size_t row) {
    if (memory.continues()) {
      memory.write_last(buffers_.batch(), row * static_cast<std::size_t>(tokens_));
      return 1;
    }
    cache_.restart(static_cast<std::int64_t>(row));
    memory.write(buffers_.batch(), row);
    return static_cast<std::int64_t>(memory.num_past()) + 1;
  }

  const AdTransformer* model_;
  KvCache cache_;
  StepBuffers buffers_;
  std::int64_t tokens_;
};

class TransitionContext final : public Context {
public:
  TransitionContext(const AdTransformer& model, std::int64_t rows, std::int64_t tokens,
                    std::int64_t features)
      : model_(&model), cache_(model.make_cache(rows)), buffers_(rows, tokens, features) {}

  at::Tensor next_logits(const Memories& memories) override {
    bool all_continue = true;
    for (std::size_t row = 0; row < memories.size(); ++row) {
      memories[row].write(buffers_.batch(), row);
      const auto past = static_cast<std::int64_t>(memories[row].num_past());
      // If a window slid or was cleared, its tokens have new positions, so its cached keys are
      // invalid.
      all_continue =
          all_continue && past > 0 && cache_.length(static_cast<std::int64_t>(row)) == past - 1;
    }
    const Device device = tensor::mgpu_device(model_->parameters().weights());
    if (all_continue) return model_->decode(cache_, newest(memories, device));
    cache_.restart_all();
    return model_->decode(cache_, buffers_.to_model(device));
  }

private:
  /// Returns each row's last transition, and the row's current state as the query.
  TransitionTokens newest(const Memories& memories, Device device) const {
    std::vector<at::Tensor> last;
    for (std::size_t row = 0; row < memories.size(); ++row) {
      last.push_back(buffers_.features()[static_cast<std::int64_t>(row)].narrow(
          0, static_cast<std::int64_t>(memories[row].num_past()) - 1, 1));
    }
    const at::Device to = tensor::torch_device(device);
    return {at::stack(last).to(to), buffers_.queries().to(at::kLong).to(to),
            std::vector<std::int64_t>(memories.size(), 1)};
  }

  const AdTransformer* model_;
  KvCache cache_;
  TransitionBuffers buffers_;
};

std::unique_ptr<Context> make_context(const AdTransformer& model, const WindowRules& rules,
                                      const TokenWriter& writer, std::size_t runs) {
  const auto rows = static_cast<std::int64_t>(runs);
  if (rules.kind == TokenKind::step) {
    return std::make_unique<StepContext>(model, rows, rules.tokens);
  }
  return std::make_unique<TransitionContext>(model, rows, rules.tokens,
                                             static_cast<std::int64_t>(writer.num_features()));
}

/// Samples and returns one action per row. The action of a row uses random number `step` of its
/// rollout's stream.
/// Errors: Failure E704 (exit 79) when a row of logits has NaN or +infinity, or only -infinity.
std::vector<std::int64_t> sample(const at::Tensor& logits, std::span<const Rollout> runs,
                                 const RolloutSettings& settings, std::uint64_t step) {
  const at::Tensor host = tensor::read_back(logits.to(at::kFloat)).contiguous();
  std::vector<float> uniforms;
  for (const Rollout& run : runs) {
    const RandomStream stream(settings.seed, Purpose::sampling, settings.round, run.sample);
    uniforms.push_back(stream.uniform(step));
  }
  std::vector<std::int64_t> actions(runs.size());
  kernels::cpu::sample_action({host.const_data_ptr<float>(), uniforms.data(), actions.data(),
                               runs.size(), static_cast<std::size_t>(host.size(1))});
  for (std::size_t row = 0; row < runs.size(); ++row) {
    if (actions[row] != kernels::kNoAction) continue;
    throw Failure({"E704",
                   ExitCode::numeric,
                   "the model gives no distribution over actions (NaN or infinity in its logits)",
                   {"  run " + std::to_string(runs[row].sample) + ", step " + std::to_string(step)},
                   "lower train.learning_rate, or start from an earlier checkpoint"});
  }
  return actions;
}

}  // namespace

std::vector<RolloutRecord> play(const AdTransformer& model, const Environment& environment,
                                const WindowRules& rules, std::span<const Rollout> runs,
                                const RolloutSettings& settings) {
  const TokenWriter writer(environment);
  const std::unique_ptr<Context> context = make_context(model, rules, writer, runs.size());
  Memories memories;
  for (const Rollout& run : runs)
    memories.emplace_back(writer, rules, run.controls);
  std::vector<RolloutRecord> records(runs.size());
  std::vector<int> states(runs.size());
  std::uint64_t step = 0;
  for (int episode = 0; episode < settings.episodes; ++episode) {
    for (std::size_t row = 0; row < runs.size(); ++row) {
      states[row] = environment.start_state();
      memories[row].begin_episode(states[row]);
      records[row].returns.push_back(0);
    }
    for (int t = 0; t < environment.horizon(); ++t, ++step) {
      const auto actions = sample(context->next_logits(memories), runs, settings, step);
      for (std::size_t row = 0; row < runs.size(); ++row) {
        const int action = static_cast<int>(actions[row]);
        const auto [next, reward] = environment.step(runs[row].task, states[row], action);
        memories[row].record(action, reward, next);
        records[row].returns.back() += reward;
        records[row].path.push_back(static_cast<std::uint8_t>(next));
        states[row] = next;
      }
    }
  }
  return records;
}

}  // namespace mgpu::ad
