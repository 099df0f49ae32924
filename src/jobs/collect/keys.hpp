#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/chunk_keys.hpp>

#include "agent_keys.hpp"
#include "omega_search.hpp"
#include "step_tree.hpp"

namespace mgpu::jobs {

/// Adds the keys collect.*.
void add_collect_keys(KeyTable& table);

/// The values of the keys of job collect.
struct CollectKeys {
  run::JobKeys run;
  rows::ModelRowKeys rows;
  bool splits_lines = true;      // collect.split: line; false: tokens
  std::int64_t step_tokens = 0;  // collect.step_tokens; 0 if steps are lines
  std::int64_t max_steps = 32;   // limit of steps per solution; the last step has all other tokens
  std::int64_t num_paths = 8;    // solutions of a question; with agents, paths of an agent
  std::int64_t rollouts = 8;     // completions that are sampled after a step
  StepLabel label = StepLabel::monte_carlo;
  OmegaRules omega{};  // collect.omega.*
  AgentKeys agents{};  // collect.agents.*, collect.latent.*, collect.num_parent_paths
  /// Limit of tokens per solution. The tokens of a rollout and of the steps before it count
  /// together.
  std::int64_t max_new_tokens = 256;
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  std::optional<std::int64_t> batch_size;  // nullopt: auto
  lm::CacheType cache_type = lm::CacheType::f32;
};

/// Checks the rules between the keys of job collect. It reads no files except those of the data set
/// (data.dataset).
/// Errors: Failure (exit 78) if a rule is broken.
void check_collect_keys(const Config& config);

/// Reads the keys of a configuration that check_collect_keys() accepts.
CollectKeys read_collect_keys(const Config& config);

/// Returns a text for the banner: "8 paths of a question, 8 rollouts of a step (a line), label
/// monte_carlo; temperature 1, top k 0, top p 1".
std::string collecting_text(const CollectKeys& keys);

}  // namespace mgpu::jobs
