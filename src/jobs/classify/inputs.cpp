#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::uint64_t kMaxStrategyBytes = std::uint64_t{16} << 20;

std::string strategy_file(const ClassifyConfig& config) {
  return config.prompt_file.empty() ? config.prompt_text
                                    : read_file(config.prompt_file, kMaxStrategyBytes);
}

PromptStrategy strategy_of(const ClassifyConfig& config, const std::string& strategies) {
  if (!config.prompt_text.empty()) return template_strategy(config.prompt_text);
  if (config.prompt_file.empty()) return default_strategy(config.labels);
  return parse_strategy(config.prompt_file, strategies, config.strategy);
}

/// Combines the rows, the keys and the prompt strategy into the inputs of the job. `strategies`
/// depends on the value of classify.prompt:
/// - text of a template: this text
/// - name of a file: the content of the file
/// - null: ""
ClassifyInputs put_together(rows::ModelRows read, const ClassifyConfig& config,
                            const std::string& strategies) {
  ClassifyInputs inputs{std::move(read)};
  inputs.config = config;
  inputs.strategy = strategy_of(config, strategies);
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(strategies)));
  inputs.inputs["classify.prompt"] = rows::checksum_text(crc);
  const std::array crcs{inputs.crc, crc};
  inputs.phase = run::phase_of(crc32c(std::as_bytes(std::span(crcs))));
  return inputs;
}

}  // namespace

std::int64_t ClassifyInputs::max_length() const {
  if (model.rope.kind != lm::RopeKind::none) return config.length.max_length;
  const std::int64_t answer = config.generates ? strategy.max_tokens : 0;
  return std::max<std::int64_t>(1,
                                std::min(config.length.max_length, model.max_positions - answer));
}

ClassifyEncoder ClassifyInputs::encoder() const {
  std::optional<text::TextFolder> texts = rows::parse_tokenizer_files(text, folder, model.vocab);
  if (!texts) rows::refuse_absent_tokenizer(folder, "a row with a text");
  return {*std::move(texts),
          {.config = config,
           .strategy = strategy,
           .columns = row_options.columns,
           .max_length = max_length(),
           .may_be_bad = row_options.on_bad_row == input::BadRow::mark,
           .kept = kept}};
}

lm::MemoryDemand ClassifyInputs::demand(DeviceKind device) const {
  lm::MemoryDemand demand;
  demand.batch_size = run::most_at_once(counts(), config.batch_size, device);
  demand.is_scoring = !config.generates;
  demand.longest = max_length() + (config.generates ? strategy.max_tokens : 0);
  if (!config.generates) {
    // The cache contains all tokens of a label but the last one, in pages that no other label
    // shares. A label has at most as many tokens as bytes. Its last page may be partly empty.
    for (const std::string& label : config.labels)
      demand.longest += static_cast<std::int64_t>(label.size()) + demand.page_tokens;
  }
  return demand;
}

ClassifyInputs read_classify_inputs(const cluster::Group& world, const Config& config,
                                    const ClassifyConfig& keys, lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, keys.rows, models);
  const std::string strategies = cluster::on_rank_0(world, [&] { return strategy_file(keys); });
  std::optional<ClassifyInputs> inputs;
  cluster::run_together(world,
                        [&] { inputs.emplace(put_together(std::move(read), keys, strategies)); });
  return std::move(*inputs);
}

ClassifyInputs read_classify_inputs(const Config& config, const ClassifyConfig& keys) {
  return put_together(rows::read_model_rows(config, keys.rows), keys, strategy_file(keys));
}

}  // namespace mgpu::jobs
