#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/report/notes.hpp>

namespace mgpu::recipes {

/// The facts about a training on which the notes about its slow phases depend.
struct NoteContext {
  const LoopSettings& loop;
  int ranks = 1;
  DeviceKind device = DeviceKind::cpu;
  bool makes_histories = false;  // the run generates the histories that it learns from
  /// The key and effect of a note if evaluations are slow, and train.eval_every cannot save one;
  /// nullopt: nothing would help.
  std::optional<report::Note> cheaper_evaluation{};
};

/// Returns notes about phases that took a large share of a training. A note is made only if its
/// advice saves evaluations, checkpoints, collective calls, histories or waiting in this training.
std::vector<report::Note> training_notes(const report::NoteFacts& facts,
                                         const NoteContext& training);

/// Returns the number of checkpoints that checkpoint.every and the end of the training cause.
std::int64_t planned_checkpoints(const LoopSettings& loop);

/// Returns a note for the log if train.micro_batch_size is more than a pass can have, else "".
std::string clipped_pass_note(const LoopSettings& loop, std::int64_t largest_pass);

}  // namespace mgpu::recipes
