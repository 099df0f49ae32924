#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/report/notes.hpp>

namespace mgpu::recipes {

/// Facts about a training that training_notes() uses in addition to the measured times.
struct NoteContext {
  const LoopSettings& loop;
  int ranks = 1;
  DeviceKind device = DeviceKind::cpu;
  bool makes_histories = false;  // the run generates the histories that it learns from
  /// The result of Recipe::cheaper_evaluation(). training_notes() gives this advice if evaluations
  /// are slow and a larger train.eval_every would not reduce their number.
  std::optional<report::Note> cheaper_evaluation{};
};

/// Returns advice about a training that lost much time in one of these ways:
/// - evaluations, checkpoints, or generating histories
/// - all-reduces that did not overlap with computation ("exposed allreduce")
/// - ranks that waited for a slow GPU
///
/// Advice that would save nothing in this training is left out.
std::vector<report::Note> training_notes(const report::NoteFacts& facts,
                                         const NoteContext& training);

/// Returns how many checkpoints a training writes because of checkpoint.every and at its end.
std::int64_t planned_checkpoints(const LoopSettings& loop);

/// Returns a note for the log if train.micro_batch_size exceeds `largest_pass`, else "".
/// `largest_pass` is the number of items in the largest pass of this rank.
std::string clipped_pass_note(const LoopSettings& loop, std::int64_t largest_pass);

}  // namespace mgpu::recipes
