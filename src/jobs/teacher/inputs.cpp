#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_text.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

/// What a row may be, in the order in which messages name them.
const std::vector<std::string> kContents = {"text", "prompt", "messages", "token_ids"};

input::RowOptions row_options(const Config& config) {
  input::RowOptions options = input::read_row_options(config);
  options.one_of = kContents;
  options.may_have = {"completion"};
  return options;
}

/// The parts that a rank has without the model's text and fingerprint, which come afterwards.
TeacherInputs begin_inputs(const Config& config, lm::LmConfig model, input::RowFile rows) {
  return {.config = read_teacher_config(config),
          .model = std::move(model),
          .row_options = row_options(config),
          .text = {},
          .rows = std::move(rows)};
}

void finish_inputs(const Config& config, rows::FolderText text, TeacherInputs& inputs) {
  inputs.text = std::move(text.files);
  const std::array crcs{inputs.rows.crc(), text.fingerprint, rows::chat_crc(inputs.text)};
  inputs.phase =
      run::scoring_phase(rows::crc_with_groups(config, crc32c(std::as_bytes(std::span(crcs)))));
}

}  // namespace

std::int64_t TeacherInputs::max_length() const {
  if (model.rope.kind != lm::RopeKind::none) return config.max_length;
  return std::min(config.max_length, model.positions);
}

SampleMaker TeacherInputs::sample_maker() const {
  rows::RowEncoder encoder(rows::parse_model_text(text, config.model, model.vocab),
                           {.vocab = model.vocab, .ends_texts = false});
  return {std::move(encoder),
          {.max_length = max_length(),
           .too_long = config.too_long,
           .may_be_bad = row_options.on_bad_row == input::BadRow::mark}};
}

lm::MemoryDemand TeacherInputs::demand(std::int64_t chunk_rows) const {
  const std::int64_t most = std::min(chunk_rows, rows.rows());
  lm::MemoryDemand demand;
  demand.batch_size = config.batch_size == 0 ? most : std::min(config.batch_size, most);
  demand.longest = max_length();
  demand.is_scoring = true;
  return demand;
}

TeacherInputs read_teacher_inputs(const cluster::Group& world, const Config& config) {
  input::RowFile rows = input::open_rows(world, row_options(config));
  lm::LmConfig model = lm::read_shared_lm_config(world, config.text("model.path"));
  std::optional<TeacherInputs> inputs;
  cluster::run_together(
      world, [&] { inputs.emplace(begin_inputs(config, std::move(model), std::move(rows))); });
  finish_inputs(config,
                rows::read_folder_text(world, inputs->config.model, rows::read_chat_choice(config)),
                *inputs);
  return std::move(*inputs);
}

TeacherInputs read_teacher_inputs(const Config& config) {
  TeacherInputs inputs = begin_inputs(config, lm::read_lm_config(config.text("model.path")),
                                      input::open_rows(row_options(config)));
  finish_inputs(config, rows::read_folder_text(inputs.config.model, rows::read_chat_choice(config)),
                inputs);
  return inputs;
}

}  // namespace mgpu::jobs
