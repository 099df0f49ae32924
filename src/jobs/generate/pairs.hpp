#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/run/export_format.hpp>

// Forms pairs of completions of one prompt, from which recipes dpo, reward and value learn.
namespace mgpu::jobs {

/// A chosen and a rejected completion, as rows of table `samples`.
struct CompletionPair {
  std::int64_t chosen = 0;
  std::int64_t rejected = 0;
};

/// Returns a pair for each prompt: the first of its completions with the highest return, and the
/// first with the lowest. A return is a reward or a score. Completions without a return (NaN) are
/// left out. Prompts whose returns are all equal get no pair.
/// Shapes: prompts and returns have one element per row. The rows of a prompt are adjacent.
std::vector<CompletionPair> best_and_worst(std::span<const std::int64_t> prompts,
                                           std::span<const double> returns);

/// Returns pairs of the first completion of each prompt and each other completion of the prompt. Of
/// a pair, the completion with the higher return is the chosen one. If `has_ties` is true, pairs
/// with equal returns are kept, with the first completion as the chosen one. Otherwise they are
/// left out. Completions without a return (NaN) are left out.
///
/// Shapes: those of best_and_worst().
std::vector<CompletionPair> first_and_others(std::span<const std::int64_t> prompts,
                                             std::span<const double> returns, bool has_ties);

/// Writes a JSON line for each pair: `prompt`, `chosen`, `rejected`, `score_chosen` and
/// `score_rejected`. The pairs are those of first_and_others() with generate.first_greedy, and
/// otherwise those of best_and_worst(). The return of a completion is its value in column `reward`,
/// or in column `score` if there is no `reward`. Empty completions are left out, because no recipe
/// learns from them. Pairs of two completions with the same text are also left out.
///
/// With generate.roll_in, a line also has `cut`. Both completions begin with the same tokens from
/// the input row, and `cut` is the number of these tokens, minus 1. A recipe tokenizes the texts of
/// the pair again. If this changes one of the first `cut` tokens of a completion, `cut` counts only
/// the tokens before the first changed token. If it changes the prompt, `cut` is 0.
///
/// Returns the number of lines.
///
/// Ranks:  local.
/// Errors: those of reading a result file and the run's tokenizer; E602 (exit 74) if the file
///         cannot be written; Failure E143 (exit 64) in these cases:
///         - The run has neither column `reward` nor `score`.
///         - No prompt has a pair.
///         - The model's folder has no tokenizer.
///         - Recipes would tokenize the text of a prompt to other tokens than the run used.
std::int64_t export_pairs(const run::ExportRequest& request);

}  // namespace mgpu::jobs
