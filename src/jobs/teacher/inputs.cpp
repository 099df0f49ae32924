#include "inputs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

TeacherInputs put_together(const TeacherConfig& keys, rows::ModelRows read) {
  TeacherInputs inputs{std::move(read)};
  inputs.config = keys;
  inputs.phase = run::phase_of(inputs.crc);
  return inputs;
}

}  // namespace

std::int64_t TeacherInputs::max_length() const {
  if (model.rope.kind != lm::RopeKind::none) return config.length.max_length;
  return std::min(config.length.max_length, model.max_positions);
}

TeacherEncoder TeacherInputs::encoder() const {
  rows::RowEncoder rows_encoder(rows::parse_tokenizer_files(text, folder, model.vocab),
                                {.vocab = model.vocab, .ends_texts = false, .folder = folder});
  TeacherEncoder::Options options{.max_length = max_length(),
                                  .too_long = config.length.too_long,
                                  .may_be_bad = row_options.on_bad_row == input::BadRow::mark,
                                  .kept = kept};
  if (max_length() < config.length.max_length) {
    options.limit = "the number of the model's positions is";
    options.too_long_help = "data.too_long=truncate or drop";
  }
  return {std::move(rows_encoder), std::move(options)};
}

lm::MemoryDemand TeacherInputs::demand(DeviceKind device) const {
  lm::MemoryDemand demand;
  demand.batch_size = run::most_at_once(counts(), config.batch_size, device);
  demand.longest = max_length();
  demand.is_scoring = true;
  return demand;
}

TeacherInputs read_teacher_inputs(const cluster::Group& world, const Config& config,
                                  const TeacherConfig& keys, lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, keys.rows, models);
  std::optional<TeacherInputs> inputs;
  cluster::run_together(world, [&] { inputs.emplace(put_together(keys, std::move(read))); });
  return std::move(*inputs);
}

TeacherInputs read_teacher_inputs(const Config& config, const TeacherConfig& keys) {
  return put_together(keys, rows::read_model_rows(config, keys.rows));
}

}  // namespace mgpu::jobs
