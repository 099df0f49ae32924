#include "latent_task.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include <ATen/core/grad_mode.h>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "recipes/lm/logistic.hpp"
#include "step_loss.hpp"
#include "step_metrics.hpp"

namespace mgpu::recipes {
namespace {

// Number of nodes in each pass of an evaluation. The constant does not depend on the number of
// ranks, so that the logits are bitwise the same for any number of ranks.
constexpr std::int64_t kNodesAtOnce = 256;

/// Returns the mean loss and the share of right predictions on held-out nodes or pairs of nodes.
std::pair<double, double> loss_and_accuracy(const PrmSettings& settings, const LatentNodes& nodes,
                                            std::span<const float> logits) {
  double loss = 0.0;
  double correct = 0.0;
  double count = 0.0;
  if (settings.kind == PrmLossKind::pairwise) {
    for (const auto& [better, worse] : node_pairs(nodes)) {
      const double margin = static_cast<double>(logits[static_cast<std::size_t>(better)]) -
                            static_cast<double>(logits[static_cast<std::size_t>(worse)]);
      loss += softplus(-margin);
      correct += margin > 0.0 ? 1.0 : 0.0;
      count += 1.0;
    }
    return {loss / count, correct / count};
  }
  for (std::size_t node = 0; node < logits.size(); ++node) {
    const StepLoss of_node =
        step_loss(settings, static_cast<double>(logits[node]), nodes.labels[node]);
    loss += of_node.loss;
    correct += of_node.is_correct ? 1.0 : 0.0;
    count += 1.0;
  }
  return {loss / count, correct / count};
}

std::vector<JudgedStep> judged(const PrmSettings& settings, const LatentNodes& nodes,
                               std::span<const float> logits) {
  std::vector<JudgedStep> steps;
  for (std::size_t node = 0; node < logits.size(); ++node)
    steps.push_back({nodes.questions[node], static_cast<double>(logits[node]), nodes.labels[node],
                     nodes.labels[node] > settings.threshold});
  return steps;
}

}  // namespace

std::int64_t hidden_width(std::int64_t chosen, std::int64_t inputs) {
  return chosen > 0 ? chosen : std::max<std::int64_t>(1, inputs / 2);
}

LatentTask::LatentTask(run::RunContext& run, const LatentSettings& settings, const LatentData& data)
    : run_(run),
      settings_(settings),
      data_(data),
      head_({data.training.width, hidden_width(settings.prm.latent_hidden, data.training.width)},
            run.device, settings.loop.seed),
      objective_(head_, data.training, settings.prm, run.clock) {}

/// Returns the logits of all held-out nodes, on all ranks. The ranks take turns with blocks of
/// kNodesAtOnce nodes, and exchange the logits.
std::vector<float> LatentTask::held_out_logits() {
  const cluster::Group& world = run_.topology.world();
  const at::NoGradGuard no_grad;
  std::vector<float> logits(static_cast<std::size_t>(data_.held_out.size()), 0.0F);
  cluster::run_together(world, [&] {
    for (std::int64_t first = world.rank() * kNodesAtOnce; first < data_.held_out.size();
         first += world.size() * kNodesAtOnce) {
      std::vector<std::int64_t> nodes(
          static_cast<std::size_t>(std::min(kNodesAtOnce, data_.held_out.size() - first)));
      std::iota(nodes.begin(), nodes.end(), first);
      const at::Tensor states = states_of_nodes(data_.held_out, nodes);
      const at::Tensor found = tensor::read_back(
          head_.forward(states.to(head_.parameters().weights().device())).contiguous());
      std::copy_n(found.const_data_ptr<float>(), nodes.size(), logits.begin() + first);
    }
  });
  world.all_reduce(std::span<float>(logits), cluster::ReduceOp::sum);
  return logits;
}

TrainTask::Evaluation LatentTask::evaluate(std::int64_t step) {
  const auto evaluating = run_.clock.enter("evaluation");
  const std::vector<float> logits = held_out_logits();
  const auto [loss, accuracy] = loss_and_accuracy(settings_.prm, data_.held_out, logits);
  const std::vector<JudgedStep> steps = judged(settings_.prm, data_.held_out, logits);
  Evaluation evaluation{{{"loss", loss},
                         {"accuracy", accuracy},
                         {"auc_within", area_within_questions(steps)},
                         {"auc", area_under_curve(steps)},
                         {"calibration_error", calibration_error(steps)}},
                        std::nullopt};
  run_.log.event({"eval",
                  {{"step", step},
                   {"loss", loss},
                   {"accuracy", accuracy},
                   {"auc within questions", evaluation.values["auc_within"]}}});
  run_.scalars.scalar("eval/loss", step, loss);
  run_.scalars.scalar("eval/accuracy", step, accuracy);
  for (const ReportedValue& value : PrmLoss::reported_values())
    run_.scalars.scalar("eval/" + value.scalar, step, evaluation.values.at(value.name));
  return evaluation;
}

}  // namespace mgpu::recipes
