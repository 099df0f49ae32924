#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/store/checkpoint/checkpoint_store.hpp>

#include "checkpoint_plan.hpp"

namespace mgpu::store {
namespace {

void add_warnings(const fs::path& damaged, const fs::path& aside, const ErrorReport& report,
                  std::vector<std::string>& lines) {
  lines.push_back("checkpoint " + damaged.filename().string() +
                  " is damaged and was skipped (W611)");
  lines.insert(lines.end(), report.lines.begin(), report.lines.end());
  lines.push_back("  kept as " + aside.string());
}

/// Returns the newest intact checkpoint; nullptr if the run has no checkpoints, not even damaged
/// ones. Renames damaged checkpoints that are newer than the returned one to .bad.
/// Errors: Failure E611 when the run has only damaged checkpoints; E602 (write failed); those of
///         StoredCheckpoint, except E611.
std::unique_ptr<StoredCheckpoint> find_newest(const CheckpointFolder& folder,
                                              std::vector<std::string>& warnings) {
  folder.tidy();
  for (const fs::path& path : folder.finished()) {
    try {
      return std::make_unique<StoredCheckpoint>(path);
    } catch (const Failure& failure) {
      if (failure.exit_code() != ExitCode::corrupt) throw;
      add_warnings(path, folder.set_aside(path), failure.report(), warnings);
    }
  }
  const std::vector<fs::path> bad = folder.bad();
  if (bad.empty()) return nullptr;
  ErrorReport report{"E611", ExitCode::corrupt,
                     "this run has checkpoints, but none of them is whole", warnings,
                     "--resume=never starts afresh"};
  for (const fs::path& path : bad)
    report.lines.push_back("  --> " + path.string());
  throw Failure(std::move(report));
}

CheckpointPlan plan_of(const StoredCheckpoint* checkpoint, std::vector<std::string> warnings) {
  CheckpointPlan plan;
  plan.warnings = std::move(warnings);
  if (checkpoint == nullptr) return plan;
  plan.found = true;
  plan.directory = checkpoint->directory().string();
  plan.state = to_json(checkpoint->state());
  plan.model = facts_of(checkpoint->model(), checkpoint->model_digest());
  plan.trainer = facts_of(checkpoint->trainer(), checkpoint->trainer_digest());
  return plan;
}

using Views = std::map<std::string_view, BufferView>;

Views views_of(std::span<const formats::NamedTensor> tensors) {
  Views views;
  for (const formats::NamedTensor& tensor : tensors)
    views.emplace(tensor.name, tensor.view);
  return views;
}

/// Copies the tensors of rank 0's `file` into `targets` on every rank. `file` is nullptr on the
/// other ranks.
void transfer(const cluster::Group& group, const formats::SafetensorsFile* file,
              const std::vector<TensorFacts>& tensors, const Views& targets) {
  for (const TensorFacts& facts : tensors) {
    const BufferView view = targets.at(facts.name);
    if (file != nullptr && view.bytes() > 0) {
      std::memcpy(view.data, file->find(facts.name)->bytes.data(), view.bytes());
    }
    group.broadcast(std::span(static_cast<std::uint8_t*>(view.data), view.bytes()), 0);
  }
}

void check_arrived(const CheckpointPlan& plan, const std::vector<TensorFacts>& tensors,
                   const Views& targets) {
  for (const TensorFacts& facts : tensors) {
    const BufferView view = targets.at(facts.name);
    const std::span bytes(static_cast<const std::byte*>(view.data), view.bytes());
    if (crc32c(bytes) == facts.crc32c) continue;
    throw Failure({"E611",
                   ExitCode::corrupt,
                   "tensor `" + facts.name + "` arrived with other bytes than were read",
                   {"  --> " + plan.directory},
                   "start the same command again; if it stays, suspect memory or network"});
  }
}

}  // namespace

CheckpointStore::CheckpointStore(const cluster::Group& group, const fs::path& run_directory,
                                 Options options)
    : group_(&group), folder_(run_directory, options.attempt), keep_(options.keep) {
  if (keep_ < 1) throw Error("checkpoint.keep is " + std::to_string(keep_));
}

fs::path CheckpointStore::save(const CheckpointContent& content, bool is_best) const {
  const bool writes = group_->rank() == 0;
  fs::path directory;
  cluster::run_together(*group_, [&] {
    if (!writes) return;
    folder_.tidy();
    directory = folder_.write(content);
  });
  cluster::run_together(*group_, [&] {
    if (!writes) return;
    directory = folder_.publish(directory, is_best);
    folder_.prune(keep_);
  });
  return group_->broadcast(directory.string(), 0);
}

Restored CheckpointStore::load_newest(std::span<const formats::NamedTensor> model,
                                      std::span<const formats::NamedTensor> trainer) const {
  std::unique_ptr<StoredCheckpoint> checkpoint;  // rank 0 only
  std::string plan_text;
  cluster::run_together(*group_, [&] {
    if (group_->rank() != 0) return;
    std::vector<std::string> warnings;
    checkpoint = find_newest(folder_, warnings);
    plan_text = to_json(plan_of(checkpoint.get(), std::move(warnings)));
  });
  const CheckpointPlan plan = plan_from_json(group_->broadcast(std::move(plan_text), 0));
  if (!plan.found) return {std::nullopt, {}, plan.warnings};

  Restored restored{std::nullopt, plan.directory, plan.warnings};
  cluster::run_together(*group_, [&] {
    check_fits(plan, model, trainer);
    for (const formats::NamedTensor& tensor : model)
      formats::check_view(tensor);
    for (const formats::NamedTensor& tensor : trainer)
      formats::check_view(tensor);
    restored.state = state_from_json(plan.state);
  });
  transfer(*group_, checkpoint ? &checkpoint->model() : nullptr, plan.model, views_of(model));
  transfer(*group_, checkpoint ? &checkpoint->trainer() : nullptr, plan.trainer, views_of(trainer));
  cluster::run_together(*group_, [&] {
    check_arrived(plan, plan.model, views_of(model));
    check_arrived(plan, plan.trainer, views_of(trainer));
  });
  return restored;
}

}  // namespace mgpu::store
