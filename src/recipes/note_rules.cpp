#include <array>

#include <mgpu/recipes/recipe.hpp>

namespace mgpu::recipes {

std::span<const report::NoteRule> note_rules() {
  static constexpr std::array kRules = {
      report::NoteRule{"share/allreduce, exposed", 0.05,
                       "{percent} of the run was exposed allreduce", "train.micro_batch_size",
                       "{double} does more work per allreduce"},
      report::NoteRule{"share/evaluation", 0.10, "{percent} of the run was evaluation",
                       "train.eval_every", "{double} halves it"},
      report::NoteRule{"share/checkpoints", 0.05, "{percent} of the run was writing checkpoints",
                       "checkpoint.every", "{double} halves it"},
      report::NoteRule{"share/histories", 0.30, "{percent} of the run was generating histories",
                       "data.path", "data.path=<histories.h5 of this run> reads them instead"},
  };
  return kRules;
}

}  // namespace mgpu::recipes
