#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/estimate.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/seal.hpp>

#include "inputs.hpp"

namespace mgpu::jobs {

/// A measure with one value for each prompt.
struct PromptMetric {
  std::string key;               // name in result files: "pass_4", "reward_match"
  std::string label;             // "pass@4"
  std::string units{};           // "nats"; "" for none
  std::vector<double> values{};  // [prompts]; NaN: the prompt has no value
};

/// The measures of the completions of all prompts. Their values depend neither on the number of
/// ranks nor on how many attempts the run took.
struct Evaluation {
  std::vector<std::int64_t> prompts{};    // index of each prompt that was evaluated, ascending
  std::vector<std::int64_t> checksums{};  // CRC-32C of the prompt in its input row
  std::vector<std::string> groups{};      // column `group` of the row, "" without it
  std::vector<std::int64_t> samples{};    // number of completions of each prompt
  std::vector<std::int64_t> right{};  // right completions per prompt; empty: no answers are checked
  std::vector<PromptMetric> metrics{};  // score, pass@k, rewards and so on, one value per prompt
  std::vector<std::int64_t> counts{};   // values of k in pass@k; empty: no answers are checked

  std::optional<SearchKind> search{};  // generate.search; nullopt: no searches among `metrics`

  /// Returns whether `key` is the key of one of two metrics: the accuracy of search `search` among
  /// k completions, or this accuracy minus that of a random completion. Returns false without a
  /// search.
  bool is_of_search(const std::string& key, std::int64_t k) const;

  /// Returns whether some row has a group.
  bool has_groups() const;

  /// Returns the metric with this key; nullptr if the evaluation lacks it.
  const PromptMetric* find(const std::string& key) const;
};

/// Returns the mean of a metric over the prompts, with its 95 % interval. If `group` is given, only
/// the prompts of that group count.
Estimate estimate_of(const Evaluation& evaluation, const PromptMetric& metric,
                     const std::optional<std::string>& group = std::nullopt);

/// Computes the metrics from rows of table `samples`, in which the rows of a prompt are adjacent.
/// Column prompt_index is required. Columns score, same_as, search_score, reward, reward_NAME and
/// kl are used if `rows` has them. Column same_as is used only with score or reward_match. `search`
/// is the value of generate.search. Members `checksums` and `groups` of the result are empty.
Evaluation evaluate_rows(const store::ReadTable& rows,
                         std::optional<SearchKind> search = std::nullopt);

/// Evaluates the completions in the journal. `table` must have column prompt_index. Returns nullopt
/// if `table` has no other column that evaluate_rows() uses.
///
/// Ranks:  collective over `world`; all ranks get the same result.
/// Errors: those of read_chunks() and RowFile::read(), on all ranks.
std::optional<Evaluation> evaluate_journal(const cluster::Group& world,
                                           const store::ChunkJournal& journal,
                                           const store::ChunkedTable& table,
                                           const GenerateInputs& inputs);

}  // namespace mgpu::jobs
