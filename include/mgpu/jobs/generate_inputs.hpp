#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/jobs/generate_config.hpp>
#include <mgpu/jobs/prompt_rows.hpp>
#include <mgpu/language/lm_config.hpp>
#include <mgpu/language/memory_plan.hpp>

namespace mgpu::jobs {

/// The bytes that job generate works on, but for the weights.
struct GenerateFiles {
  std::string prompts;                  // of data.path
  std::optional<text::TextFiles> text;  // of model.path
  std::uint32_t fingerprint = 0;        // of model.path
};

/// For one rank. Errors: E603 and those of model_fingerprint().
GenerateFiles read_generate_files(const Config& config);

/// What the files say.
struct GenerateInputs {
  language::LmConfig model;
  GenerateConfig config;
  std::vector<PromptRow> rows;
  std::optional<text::TextFiles> text;
  std::uint32_t phase = 0;  // in the journal: of these prompts and this model

  std::int64_t prompts() const { return std::ssize(rows); }
  std::int64_t samples() const { return prompts() * config.num_samples; }
  PromptEncoder encoder() const;

  /// The demand of chunks of so many prompts, the longest of which has so many tokens. A batch is
  /// never larger than the completions of a chunk; generate.batch_size=auto asks for all of them.
  language::MemoryDemand demand(std::int64_t chunk_rows, std::int64_t longest_prompt) const;
};

/// Errors: E531 with the first lines that cannot be used; those of read_generate_config().
GenerateInputs parse_generate_files(const Config& config, GenerateFiles files);

/// Both, on every rank: rank 0 reads the files, the others receive them. config.json, which is
/// small, is read by each.
///
/// Ranks:  collective. Errors: the same on all ranks.
GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config);

}  // namespace mgpu::jobs
