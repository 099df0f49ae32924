#include <algorithm>

#include <mgpu/base/secrets.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr std::size_t kLabel = 15;   // column where the text of a line starts
constexpr std::size_t kWidth = 118;  // where a list of settings wraps

/// "label          text", with wrapped items under the text.
std::string labeled(std::string_view label, const std::vector<std::string>& items) {
  std::string text = pad_right(label, kLabel);
  std::size_t column = kLabel;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = escape_log(items[i]);
    const std::size_t width = width_of(item);
    if (i > 0 && column + 2 + width > kWidth) {
      text += '\n' + std::string(kLabel, ' ');
      column = kLabel;
    } else if (i > 0) {
      text += "  ";
      column += 2;
    }
    text += item;
    column += width;
  }
  return text + '\n';
}

std::string joined(const std::vector<int>& numbers, char between) {
  std::string text;
  for (const int number : numbers) {
    if (!text.empty()) text += between;
    text += std::to_string(number);
  }
  return text;
}

std::string noun(DeviceKind device) {
  return device == DeviceKind::cuda ? "GPU" : "rank";
}

/// "102.4 M", "40,000".
std::string count_text(std::int64_t count) {
  if (count < 1'000'000) return grouped(count);
  const auto value = static_cast<double>(count);
  return count < 1'000'000'000 ? text_of("%.1f M", value / 1e6) : text_of("%.1f G", value / 1e9);
}

std::string batch_text(const Facts::Batch& batch, DeviceKind device) {
  std::string text =
      text_of("%lld per %s x %lld %s x %lld %s", static_cast<long long>(batch.per_pass),
              noun(device).c_str(), static_cast<long long>(batch.passes),
              batch.passes == 1 ? "pass" : "passes", static_cast<long long>(batch.copies),
              batch.copies == 1 ? "copy" : "copies");
  // Ranks that do not divide the batch make unequal shares: then the product is an upper bound.
  const bool exact = batch.per_pass * batch.passes * batch.copies == batch.global;
  text +=
      (exact ? " = " : " at most, ") + std::to_string(batch.global) + " samples per optimizer step";
  return text + "; " + std::to_string(batch.steps) +
         " steps = " + count_text(batch.global * batch.steps) + " samples";
}

/// accelerate's DistributedType as its launcher prints it.
const char* distributed_type(const TrainingBlock& block) {
  if (block.processes == 1) return "DistributedType.NO";
  return block.device == DeviceKind::cuda ? "DistributedType.MULTI_GPU"
                                          : "DistributedType.MULTI_CPU";
}

}  // namespace

std::string opening_lines(const Opening& opening) {
  std::string first = "mgpu_spmd " + opening.version;
  if (!opening.git.empty()) first += " (git " + opening.git + ")";
  first += "  job " + opening.job + "  ";
  for (std::size_t i = 0; i < opening.sources.size(); ++i)
    first += (i == 0 ? "" : " + ") + opening.sources[i];
  if (opening.overrides > 0)
    first += text_of(" + %d override%s", opening.overrides, opening.overrides == 1 ? "" : "s");

  std::string text = escape_log(first) + '\n';
  std::string where = opening.run_directory;
  if (!opening.latest.empty()) where += "   (also " + opening.latest + ")";
  text += labeled("run directory", {where});
  if (!opening.machine.empty()) text += labeled("machine", {opening.machine});
  std::vector<std::string> ranks;
  for (const Opening::Node& node : opening.nodes) {
    std::string part = node.host + ": " + rank_list(node.ranks);
    if (!node.devices.empty()) part += " -> " + joined(node.devices, ' ');
    ranks.push_back(part);
  }
  if (!opening.per_rank.empty()) ranks.push_back("   " + opening.per_rank);
  const char* label = opening.device == DeviceKind::cuda ? "rank -> GPU" : "ranks";
  return text + (ranks.empty() ? "" : labeled(label, ranks));
}

std::string training_block(const TrainingBlock& block) {
  const std::string rule = std::string(60, '=') + '\n';
  return rule + "Multi-GPU Training Configuration\n" + rule +
         "Number of processes: " + std::to_string(block.processes) + '\n' +
         "Distributed type: " + distributed_type(block) + '\n' +
         "Mixed precision: " + escape_log(block.mixed_precision) + '\n' +
         "Gradient accumulation steps: " + std::to_string(block.gradient_accumulation_steps) +
         '\n' + "Main process device: " +
         (block.device == DeviceKind::cuda ? "cuda:" + std::to_string(block.gpu) : "cpu") + '\n' +
         rule;
}

std::string worker_block(const WorkerBlock& block) {
  const std::string rule = std::string(50, '=') + '\n';
  const auto total = static_cast<std::int64_t>(block.gpus.size()) * block.nodes;
  std::string text = rule + escape_log(block.title) + '\n' + rule + "Configuration:\n";
  text += text_of("  Total GPUs available: %lld (%s)", static_cast<long long>(total),
                  joined(block.gpus, ',').c_str());
  if (block.nodes > 1) text += text_of(" on each of %d nodes", block.nodes);
  text += text_of("\n  GPUs per model: %d\n  Number of workers: %zu\n\nWorker GPU assignments:\n",
                  block.gpus_per_model, block.workers.size());
  for (std::size_t i = 0; i < block.workers.size(); ++i) {
    const WorkerBlock::Worker& worker = block.workers[i];
    const std::string node = block.nodes > 1 ? escape_log(worker.host) + ':' : "";
    text += text_of("  Worker %zu: %sGPUs %s\n", i, node.c_str(), joined(worker.gpus, ',').c_str());
  }
  return text;
}

std::string fact_lines(const Facts& facts) {
  std::string text;
  if (facts.batch.per_pass > 0) text += labeled("batch", {batch_text(facts.batch, facts.device)});
  if (!facts.memory.empty()) text += labeled("memory", {facts.memory});
  if (!facts.data.empty()) text += labeled("data", {facts.data});
  std::vector<std::string> settings;
  for (const Facts::Setting& setting : facts.not_default) {
    settings.push_back(setting.key + '=' + shown_value(setting.key, setting.value) + " (" +
                       setting.source + ')');
  }
  if (!settings.empty()) text += labeled("not default", settings);
  std::vector<std::string> names;
  for (const Facts::Alias& alias : facts.aliases)
    names.push_back(alias.given + " is " + alias.key +
                    (alias.note.empty() ? "" : " here: " + alias.note));
  if (!names.empty()) text += labeled("guide names", names);
  return text;
}

}  // namespace mgpu::report
