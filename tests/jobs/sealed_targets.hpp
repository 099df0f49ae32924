#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "jobs/teacher/inputs.hpp"
#include "jobs/teacher/table.hpp"
#include "made_inputs.hpp"
#include "store/sealed_table.hpp"

namespace mgpu::jobs::test {

/// A sealed run of job teacher over three rows, on one rank. The loss covers all tokens of row
/// "abc", no token of the second row, and the second of two tokens of the third row.
class SealedTargets {
public:
  static constexpr std::int64_t kTopK = 2;
  static constexpr std::int64_t kDraws = 3;

  explicit SealedTargets(Keys keys = {})
      : made_("{\"text\": \"abc\"}\n{\"text\": \"d\"}\n{\"text\": \"ef\"}\n") {
    if (!keys.contains("teacher.targets")) keys.emplace("teacher.top_k", std::to_string(kTopK));
    keys.emplace("output.keep_columns", "[]");
    config_.emplace(made_.config("teacher", keys));
    inputs_.emplace(read_teacher_inputs(*config_, read_teacher_config(*config_)));
    results_ = seal();
  }

  const Config& config() const { return *config_; }
  const TeacherInputs& inputs() const { return *inputs_; }
  const std::filesystem::path& results() const { return results_; }

  /// Returns the probabilities of the two most probable tokens, which are the same after each
  /// token.
  static std::vector<double> probabilities() { return {0.5, 0.25}; }
  static std::uint32_t best_id(std::size_t token) { return static_cast<std::uint32_t>(10 + token); }

private:
  static TokenTargets targets_of(std::size_t tokens) {
    TokenTargets targets;
    for (std::size_t t = 0; t < tokens; ++t) {
      targets.log_sums.push_back(static_cast<float>(t + 1));
      targets.tail_mass.push_back(0.25F);
      for (std::size_t k = 0; k < 2; ++k) {
        targets.ids.push_back(best_id(t) + static_cast<std::uint32_t>(k));
        targets.log_probs.push_back(Half::of(static_cast<float>(std::log(probabilities()[k]))));
        targets.drawn_ids.push_back(best_id(t) + static_cast<std::uint32_t>(k));
        targets.drawn_counts.push_back(static_cast<std::uint8_t>(2 - k));  // two and one
      }
      targets.num_drawn.push_back(2);
    }
    return targets;
  }

  std::filesystem::path seal() const {
    const std::vector<TeacherSample> samples = {{{{0, 1, 2}, {1, 1, 1}}, 3, {}},
                                                {{}, 0, {rows::RowStatus::bad_row, "empty"}},
                                                {{{4, 5}, {0, 1}}, 2, {}}};
    const std::vector<TokenTargets> targets = {targets_of(3), {}, targets_of(2)};
    const TeacherConfig& config = inputs_->config;
    const std::int64_t vocab = inputs_->model.vocab;
    return store::test::seal_table(cluster::Group::world(), made_.folder(),
                                   teacher_table(3, config, vocab),
                                   teacher_rows(*inputs_, 0, samples, targets),
                                   {{"teacher",
                                     {{"vocab_size", vocab},
                                      {"top_k", config.has_draws ? 0 : config.top_k},
                                      {"num_draws", config.has_draws ? config.num_draws : 0},
                                      {"id_bits", std::int64_t{6}},
                                      {"temperature", config.temperature}}}});
  }

  MadeInputs made_;
  std::optional<Config> config_;
  std::optional<TeacherInputs> inputs_;
  std::filesystem::path results_;
};

/// Returns the keys of a run whose targets are drawn.
inline Keys draw_keys() {
  return {{"teacher.targets", "random_sampling"},
          {"teacher.num_draws", std::to_string(SealedTargets::kDraws)}};
}

}  // namespace mgpu::jobs::test
