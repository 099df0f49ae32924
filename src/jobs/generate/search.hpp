#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/rows/text_steps.hpp>

namespace mgpu::jobs {

/// How one of the completions of a prompt is chosen.
enum class SearchKind : std::uint8_t {
  best_of_n,      // the completion with the highest score
  weighted_vote,  // the answer whose completions have the highest sum of scores
  beam,           // the completion with the highest score of those that a BeamSearch returns
};

/// Returns "best_of_n", "weighted_vote" or "beam".
const char* name_of(SearchKind kind);

/// How the scores of the steps of a completion become one score.
enum class StepAggregate : std::uint8_t { min, product, last };

/// The values of the keys generate.search and generate.reward.*.
struct SearchKeys {
  SearchKind kind = SearchKind::best_of_n;
  std::filesystem::path folder{};  // generate.reward.path
  StepAggregate aggregate = StepAggregate::min;
  rows::StepRule steps{};       // how completions are split into steps
  std::int64_t beam_width = 4;  // one in beam_width completions continues after each step

  bool has_beams() const { return kind == SearchKind::beam; }
};

/// Adds the keys generate.search and generate.reward.*.
void add_search_keys(KeyTable& table);

/// Returns whether generate.search asks for a search.
bool searches(const Config& config);

/// Checks the rules between the keys of add_search_keys() and other keys. It reads no file.
/// Errors: Failure E124 (exit 78).
void check_search_keys(const Config& config);

/// Returns the values of the keys of add_search_keys(); nullopt if generate.search is none or
/// generate.reward.path is null.
std::optional<SearchKeys> read_search_keys(const Config& config);

/// Returns whether the folder of generate.reward.path has a process reward model
/// (ForTokenClassification). If the result is false, the folder should have a reward model
/// (ForSequenceClassification), but this function does not check that.
///
/// Errors: Failure E603, E622, E623.
bool judges_steps(const SearchKeys& keys);

/// Checks that keys.folder has a process reward model or a reward model that can judge completions
/// of the model in folder `model`. If `needs_weights`, keys.folder must have weights, which are not
/// read.
///
/// Errors: with `needs_weights`, those of check_model_folder(); otherwise those of
///         check_model_config(). In addition:
///         - For a process reward model, those of read_step_head().
///         - For a process reward model that reads texts, Failure E553 (exit 65) if its folder has
///           no tokenizer.
///         - For a process reward model that reads the sampled tokens, those of
///           check_same_tokens().
///         - For a reward model, Failure E124 (exit 78) if generate.search is beam, or if a key
///           generate.reward.* is given that concerns steps. Also those of check_reward_config()
///           and, with `needs_weights`, of check_reward_weights().
void check_search_files(const Config& config, const SearchKeys& keys,
                        const std::filesystem::path& model, bool needs_weights);

/// Describes the search for the banner: "best by FOLDER, min over steps".
std::string search_text(const SearchKeys& keys);

}  // namespace mgpu::jobs
