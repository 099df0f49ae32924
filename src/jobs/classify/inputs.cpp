#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/agree.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_text.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

input::RowOptions row_options(const Config& config) {
  input::RowOptions options = input::read_row_options(config);
  options.all_of = {"text"};
  options.may_have = {"label", "group"};
  return options;
}

/// The parts that a rank has without the texts that rank 0 reads for all, which come afterwards.
ClassifyInputs begin_inputs(const Config& config, lm::LmConfig model, input::RowFile rows) {
  return {.config = read_classify_config(config),
          .model = std::move(model),
          .row_options = row_options(config),
          .strategy = {},
          .text = {},
          .rows = std::move(rows)};
}

std::string strategy_file(const ClassifyConfig& config) {
  return config.prompt_file.empty() ? "" : read_file(config.prompt_file);
}

void finish_inputs(const Config& config, const std::string& strategies, rows::FolderText text,
                   ClassifyInputs& inputs) {
  inputs.text = std::move(text.files);
  const ClassifyConfig& classify = inputs.config;
  inputs.strategy = classify.prompt_file.empty()
                        ? default_strategy(classify.labels)
                        : parse_strategy(classify.prompt_file, strategies, classify.strategy);
  const std::array crcs{inputs.rows.crc(), text.fingerprint,
                        crc32c(std::as_bytes(std::span(strategies))), rows::chat_crc(inputs.text)};
  inputs.phase =
      run::scoring_phase(rows::crc_with_groups(config, crc32c(std::as_bytes(std::span(crcs)))));
}

}  // namespace

std::int64_t ClassifyInputs::max_length() const {
  if (model.rope.kind != lm::RopeKind::none) return config.max_length;
  const std::int64_t answer = config.generates ? strategy.max_tokens : 0;
  return std::max<std::int64_t>(1, std::min(config.max_length, model.positions - answer));
}

ClassifySampleMaker ClassifyInputs::sample_maker() const {
  std::optional<text::TextFolder> folder = rows::parse_model_text(text, config.model, model.vocab);
  if (!folder) {
    throw Failure({"E603",
                   ExitCode::no_input,
                   "texts need a tokenizer, and the model's folder has no tokenizer.json",
                   {"  --> " + config.model.string()},
                   ""});
  }
  return {*std::move(folder),
          {.config = config,
           .strategy = strategy,
           .columns = row_options.columns,
           .max_length = max_length(),
           .may_be_bad = row_options.on_bad_row == input::BadRow::mark}};
}

lm::MemoryDemand ClassifyInputs::demand(std::int64_t chunk_rows) const {
  const std::int64_t most = std::min(chunk_rows, rows.rows());
  lm::MemoryDemand demand;
  demand.batch_size = config.batch_size == 0 ? most : std::min(config.batch_size, most);
  demand.is_scoring = !config.generates;
  demand.longest = max_length() + (config.generates ? strategy.max_tokens : 0);
  if (!config.generates) {
    // Behind its first token each label has pages of its own.
    for (const std::string& label : config.labels)
      demand.longest += static_cast<std::int64_t>(label.size()) + demand.page_tokens;
  }
  return demand;
}

ClassifyInputs read_classify_inputs(const cluster::Group& world, const Config& config) {
  input::RowFile rows = input::open_rows(world, row_options(config));
  lm::LmConfig model = lm::read_shared_lm_config(world, config.text("model.path"));
  std::optional<ClassifyInputs> inputs;
  cluster::run_together(
      world, [&] { inputs.emplace(begin_inputs(config, std::move(model), std::move(rows))); });
  const std::string strategies =
      cluster::on_rank_0(world, [&] { return strategy_file(inputs->config); });
  rows::FolderText text =
      rows::read_folder_text(world, inputs->config.model, rows::read_chat_choice(config));
  cluster::run_together(world,
                        [&] { finish_inputs(config, strategies, std::move(text), *inputs); });
  return std::move(*inputs);
}

ClassifyInputs read_classify_inputs(const Config& config) {
  ClassifyInputs inputs = begin_inputs(config, lm::read_lm_config(config.text("model.path")),
                                       input::open_rows(row_options(config)));
  finish_inputs(config, strategy_file(inputs.config),
                rows::read_folder_text(inputs.config.model, rows::read_chat_choice(config)),
                inputs);
  return inputs;
}

}  // namespace mgpu::jobs
