#include <algorithm>

#include <mgpu/base/secrets.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr std::size_t kLabel = 15;   // column where the text of a line starts
constexpr std::size_t kWidth = 118;  // width at which the items of a line wrap

/// Formats "label          text", where the text is a list of items. An item that would end beyond
/// column kWidth begins a new line, at column kLabel.
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

/// Formats "102.4 M", "40,000".
std::string count_text(std::int64_t count) {
  if (count < 1'000'000) return grouped(count);
  const auto value = static_cast<double>(count);
  return count < 1'000'000'000 ? text_of("%.1f M", value / 1e6) : text_of("%.1f G", value / 1e9);
}

std::string batch_text(const BannerFacts::Batch& batch, DeviceKind device) {
  std::string text =
      text_of("%lld per %s x %lld %s x %lld %s", static_cast<long long>(batch.per_pass),
              noun(device).c_str(), static_cast<long long>(batch.passes),
              batch.passes == 1 ? "pass" : "passes", static_cast<long long>(batch.copies),
              batch.copies == 1 ? "copy" : "copies");
  // The product of the three numbers can be larger than the global batch if the ranks have
  // different shares of the batch.
  const bool exact = batch.per_pass * batch.passes * batch.copies == batch.global;
  text +=
      (exact ? " = " : " at most, ") + std::to_string(batch.global) + " samples per optimizer step";
  return text + "; " + std::to_string(batch.steps) +
         " steps = " + count_text(batch.global * batch.steps) + " samples";
}

/// Returns the value of accelerate's DistributedType for `block`, as accelerate's launcher prints
/// it.
const char* distributed_type(const TrainingBlock& block) {
  if (block.processes == 1) return "DistributedType.NO";
  return block.device == DeviceKind::cuda ? "DistributedType.MULTI_GPU"
                                          : "DistributedType.MULTI_CPU";
}

/// Lists the indices of GPUs or ranks for each host, each index once, in order of appearance.
class HostLists {
public:
  void add(const WorkerBlock::Worker& worker) {
    for (const WorkerBlock::Place& place : worker) {
      const auto is_it = [&](const auto& list) { return list.first == place.host; };
      auto found = std::find_if(lists_.begin(), lists_.end(), is_it);
      if (found == lists_.end()) found = lists_.insert(lists_.end(), {place.host, {}});
      std::vector<int>& numbers = found->second;
      if (std::find(numbers.begin(), numbers.end(), place.number) == numbers.end())
        numbers.push_back(place.number);
    }
  }

  std::size_t num_hosts() const { return lists_.size(); }

  std::size_t total() const {
    std::size_t sum = 0;
    for (const auto& [host, numbers] : lists_)
      sum += numbers.size();
    return sum;
  }

  /// Formats the lists and a closing bracket; the caller has written the opening one. Examples are
  /// "0,1)", "0,1) on each of 2 nodes" and "a: 0,1; b: 0)".
  std::string merged() const {
    const bool is_one_list = std::all_of(lists_.begin(), lists_.end(), [&](const auto& list) {
      return list.second == lists_.front().second;
    });
    if (is_one_list) {
      const std::string list = lists_.empty() ? "" : joined(lists_.front().second, ',');
      return list + (num_hosts() > 1 ? text_of(") on each of %zu nodes", num_hosts()) : ")");
    }
    std::string text;
    for (const auto& [host, numbers] : lists_)
      text += (text.empty() ? "" : "; ") + escape_log(host) + ": " + joined(numbers, ',');
    return text + ")";
  }

  /// Formats "GPUs 0,1". If `with_hosts` is true, formats "a:GPUs 0,1 b:GPUs 0".
  std::string labeled(const char* many, bool with_hosts) const {
    std::string text;
    for (const auto& [host, numbers] : lists_)
      text += (text.empty() ? "" : " ") + (with_hosts ? escape_log(host) + ':' : "") + many + ' ' +
              joined(numbers, ',');
    return text;
  }

private:
  std::vector<std::pair<std::string, std::vector<int>>> lists_;
};

/// Formats "2", or "1 or 2" if workers have different sizes.
std::string sizes_text(const std::vector<WorkerBlock::Worker>& workers) {
  std::vector<std::size_t> sizes;
  for (const WorkerBlock::Worker& worker : workers)
    if (std::find(sizes.begin(), sizes.end(), worker.size()) == sizes.end())
      sizes.push_back(worker.size());
  std::string text;
  for (const std::size_t size : sizes)
    text += (text.empty() ? "" : " or ") + std::to_string(size);
  return text;
}

}  // namespace

std::string head_lines(const BannerHead& head) {
  std::string first = "mgpu_spmd " + head.version;
  if (!head.git.empty()) first += " (git " + head.git + ")";
  first += "  job " + head.job + "  ";
  for (std::size_t i = 0; i < head.sources.size(); ++i)
    first += (i == 0 ? "" : " + ") + head.sources[i];
  if (head.overrides > 0)
    first += text_of(" + %lld override%s", static_cast<long long>(head.overrides),
                     head.overrides == 1 ? "" : "s");

  std::string text = escape_log(first) + '\n';
  text += labeled("run directory", {head.run_directory});
  if (!head.machine.empty()) text += labeled("machine", {head.machine});
  std::vector<std::string> ranks;
  for (const BannerHead::Node& node : head.nodes) {
    std::string part = node.host + ": " + rank_list(node.ranks);
    if (!node.devices.empty()) part += " -> " + joined(node.devices, ' ');
    ranks.push_back(part);
  }
  const char* label = head.device == DeviceKind::cuda ? "rank -> GPU" : "ranks";
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
  const bool on_gpu = block.device == DeviceKind::cuda;
  const char* many = on_gpu ? "GPUs" : "ranks";
  HostLists all;
  for (const WorkerBlock::Worker& worker : block.workers)
    all.add(worker);
  std::string text = rule + escape_log(block.title) + '\n' + rule + "Configuration:\n";
  text += text_of("  Total %s available: %zu (%s", many, all.total(), all.merged().c_str());
  text += text_of("\n  %s per model: %s\n  Number of workers: %zu\n\nWorker %s assignments:\n",
                  on_gpu ? "GPUs" : "Ranks", sizes_text(block.workers).c_str(),
                  block.workers.size(), on_gpu ? "GPU" : "rank");
  for (std::size_t i = 0; i < block.workers.size(); ++i) {
    HostLists mine;
    mine.add(block.workers[i]);
    text += text_of("  Worker %zu: ", i) + mine.labeled(many, all.num_hosts() > 1) + '\n';
  }
  return text;
}

std::string fact_lines(const BannerFacts& facts) {
  std::string text;
  if (facts.batch.per_pass > 0) text += labeled("batch", {batch_text(facts.batch, facts.device)});
  if (!facts.memory.empty()) text += labeled("memory", {facts.memory});
  if (!facts.data.empty()) text += labeled("data", {facts.data});
  std::vector<std::string> settings;
  for (const BannerFacts::Setting& setting : facts.not_default) {
    settings.push_back(setting.key + '=' + shown_value(setting.key, setting.value) + " (" +
                       setting.source + ')');
  }
  if (!settings.empty()) text += labeled("not default", settings);
  return text;
}

}  // namespace mgpu::report
