#include <algorithm>

#include <mgpu/recipes/training_notes.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/train/batch_plan.hpp>

namespace mgpu::recipes {
namespace {

using report::Note;
using report::NoteFacts;

double fact(const NoteFacts& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? 0.0 : found->second;
}

std::string share_text(double share, const char* what) {
  return report::percent(share) + " of the run was " + what;
}

/// Adds a note if evaluations took more than 10 % of the time. The note suggests doubling
/// train.eval_every. If the doubled value gives no fewer evaluations, the note is
/// NoteContext::cheaper_evaluation instead. If that member is also unset, adds no note.
void note_evaluation(const NoteFacts& facts, const NoteContext& training,
                     std::vector<Note>& notes) {
  const double share = fact(facts, "share/evaluation");
  if (share <= 0.10) return;
  LoopSettings rarer = training.loop;
  rarer.train.eval_every *= 2;
  const std::int64_t now = training.loop.planned_evaluations();
  const std::int64_t then = rarer.planned_evaluations();
  if (then < now) {
    notes.push_back({share_text(share, "evaluation"), "train.eval_every",
                     "With train.eval_every=" + std::to_string(rarer.train.eval_every) +
                         " the training has " + report::counted(then, "evaluation") +
                         " instead of " + report::grouped(now)});
  } else if (training.cheaper_evaluation) {
    Note note = *training.cheaper_evaluation;
    note.text = share_text(share, "evaluation");
    notes.push_back(std::move(note));
  }
}

void note_checkpoints(const NoteFacts& facts, const NoteContext& training,
                      std::vector<Note>& notes) {
  const double share = fact(facts, "share/checkpoints");
  if (share <= 0.05) return;
  LoopSettings rarer = training.loop;
  rarer.checkpoint.every *= 2;
  const std::int64_t now = planned_checkpoints(training.loop);
  const std::int64_t then = planned_checkpoints(rarer);
  if (then >= now) return;
  notes.push_back({share_text(share, "writing checkpoints"), "checkpoint.every",
                   "checkpoint.every=" + std::to_string(rarer.checkpoint.every) + " saves " +
                       report::counted(then, "checkpoint") + " instead of " +
                       report::grouped(now)});
}

/// Adds a note about the sums of gradients. Gradients are summed over the ranks once per step, even
/// if the step has many passes. Therefore only a larger global batch makes the sums rarer.
void note_allreduce(const NoteFacts& facts, const NoteContext& training, std::vector<Note>& notes) {
  const double share = fact(facts, "share/allreduce, exposed");
  if (share <= 0.05 || training.ranks == 1) return;
  notes.push_back(
      {share_text(share, "exposed allreduce"), "train.global_batch_size",
       "train.global_batch_size=" + std::to_string(2 * training.loop.train.batch.global_batch) +
           " sums gradients half as often for the same samples, but is another training; fewer "
           "ranks wait less"});
}

void note_histories(const NoteFacts& facts, const NoteContext& training, std::vector<Note>& notes) {
  const double share = fact(facts, "share/histories");
  if (share <= 0.30 || !training.makes_histories) return;
  notes.push_back({share_text(share, "generating histories"), "data.path",
                   "data.path=<histories.h5 of this run> reads them instead"});
}

/// Adds a note about the slowest GPU, if the training would be faster without it. Without that GPU,
/// each other rank has `ranks` / (`ranks` - 1) times its present work.
void note_slow_gpu(const NoteFacts& facts, const NoteContext& training, std::vector<Note>& notes) {
  const int ranks = training.ranks;
  if (training.device != DeviceKind::cuda || ranks < 2) return;
  if (train::problem_of(training.loop.train.batch, ranks - 1)) return;
  const double slowest = 1.0 + fact(facts, "spread/forward");  // slowest rank's time / mean
  const double others = (ranks - slowest) / (ranks - 1);
  if (slowest <= others * ranks / (ranks - 1)) return;
  notes.push_back(
      {report::text_of("rank %.0f needed %s more time than the mean in forward, and the others "
                       "waited for it",
                       fact(facts, "rank/forward"), report::percent(slowest - 1.0).c_str()),
       "devices.gpus", "A list without that device is faster"});
}

}  // namespace

std::int64_t planned_checkpoints(const LoopSettings& loop) {
  const std::int64_t steps = loop.optimizer.schedule.max_steps;
  const std::int64_t every = loop.checkpoint.every;
  if (every == 0) return 1;
  return steps / every + (steps % every == 0 ? 0 : 1);
}

std::vector<Note> training_notes(const NoteFacts& facts, const NoteContext& training) {
  std::vector<Note> notes;
  note_allreduce(facts, training, notes);
  note_evaluation(facts, training, notes);
  note_checkpoints(facts, training, notes);
  note_histories(facts, training, notes);
  note_slow_gpu(facts, training, notes);
  return notes;
}

std::string clipped_pass_note(const LoopSettings& loop, std::int64_t largest_pass) {
  const std::int64_t asked = loop.train.batch.micro_batch;
  if (asked <= largest_pass) return "";
  return "train.micro_batch_size (" + std::to_string(asked) +
         ") is more than a rank has of a lane: its passes have at most " +
         std::to_string(largest_pass);
}

}  // namespace mgpu::recipes
