#include "inputs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <mgpu/rows/model_text.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

/// The possible contents of a row, in the order in which messages name them.
const std::vector<std::string> kContents = {"text", "prompt", "messages", "token_ids"};

input::RowOptions row_options(const Config& config) {
  input::RowOptions options = input::read_row_options(config);
  options.one_of = kContents;
  options.may_have = {"completion"};
  options.keeps = {"id", "label"};
  return options;
}

TeacherInputs put_together(const Config& config, rows::ModelRows read) {
  TeacherInputs inputs{std::move(read)};
  inputs.config = read_teacher_config(config);
  inputs.phase = run::phase_of(inputs.crc);
  return inputs;
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
           .may_be_bad = row_options.on_bad_row == input::BadRow::mark,
           .kept = kept}};
}

lm::MemoryDemand TeacherInputs::demand(std::int64_t chunk_rows) const {
  const std::int64_t most = std::min(chunk_rows, rows.rows());
  lm::MemoryDemand demand;
  demand.batch_size = config.batch_size == 0 ? most : std::min(config.batch_size, most);
  demand.longest = max_length();
  demand.is_scoring = true;
  return demand;
}

TeacherInputs read_teacher_inputs(const cluster::Group& world, const Config& config,
                                  lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, row_options(config), models);
  std::optional<TeacherInputs> inputs;
  cluster::run_together(world, [&] { inputs.emplace(put_together(config, std::move(read))); });
  return std::move(*inputs);
}

TeacherInputs read_teacher_inputs(const Config& config) {
  return put_together(config, rows::read_model_rows(config, row_options(config)));
}

}  // namespace mgpu::jobs
