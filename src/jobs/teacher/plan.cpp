#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <mgpu/cluster/agree.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/model_text.hpp>
#include <mgpu/run/model_plan.hpp>

#include "inputs.hpp"
#include "job.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kBytesPerToken = 3.0;  // of data, at least: texts have four, JSON names and quotes

/// Upper bound of the tokens of a file, from its size.
double tokens_of(std::uint64_t bytes, std::int64_t samples, std::int64_t max_length) {
  const double by_size = static_cast<double>(bytes) / kBytesPerToken;
  return std::min(by_size, static_cast<double>(samples) * static_cast<double>(max_length));
}

/// Bytes of a token in the result file.
double token_bytes(const store::TableSpec& spec, const TeacherConfig& config) {
  double bytes = 0.0;
  for (const store::ColumnSpec& column : spec.columns) {
    if (!column.ragged) continue;
    const bool is_drawn = column.name.starts_with("drawn_");  // so many of a token
    bytes += static_cast<double>(column.row_bytes()) *
             (is_drawn ? static_cast<double>(config.num_draws) : 1.0);
  }
  return bytes;
}

std::uint64_t file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : bytes;
}

}  // namespace

void check_teacher_job(const Config& config, int /*ranks*/) {
  check_teacher_keys(config);
}

void check_teacher_files(const Config& config) {
  rows::check_model_folder(config);
  rows::check_chat_template(config, config.text("model.path"));
  rows::check_data_file(config, "data.path is a file of rows: JSON Lines, CSV or Parquet");
}

std::vector<run::FileCheck> teacher_file_checks(const Config& config) {
  const std::filesystem::path folder = config.text("model.path");
  return {{folder.string(),
           [folder, &config](const cluster::Group& world) {
             return cluster::on_rank_0(world, [&] {
               rows::check_model_folder(config);
               return rows::model_text(folder);
             });
           }},
          {config.text("data.path"), [&config](const cluster::Group& world) {
             const TeacherInputs inputs = read_teacher_inputs(world, config);
             return report::grouped(inputs.rows.rows()) + " rows";
           }}};
}

std::uint64_t teacher_disk_bytes(const Config& config) {
  const TeacherConfig teacher = read_teacher_config(config);
  const std::uint64_t bytes = file_bytes(config.text("data.path"));
  if (bytes == 0) return 0;  // --check reports this in a separate line
  const std::int64_t vocab = lm::read_lm_config(teacher.model).vocab;
  const double tokens = static_cast<double>(bytes) / kBytesPerToken;
  // Journal and sealed file. The user's columns are smaller than the row in the input file.
  return run::whole_bytes(2.0 * (tokens * token_bytes(teacher_table(1, teacher, vocab), teacher) +
                                 static_cast<double>(bytes)));
}

report::Plan plan_teacher(const Config& config, const run::PlanMachine& machine) {
  check_teacher_files(config);
  const TeacherInputs inputs = read_teacher_inputs(config);
  const std::int64_t chunk_size = config.integer("run.chunk_size");
  const double token_size =
      token_bytes(teacher_table(1, inputs.config, inputs.model.vocab), inputs.config);
  run::ModelPlan plan(
      config, machine,
      {.model = inputs.model,
       .demand = inputs.demand(chunk_size),
       .words = run::kTeacherSamples,
       .unit = "samples",
       .samples = inputs.rows.rows(),
       .beside = run::whole_bytes(2.0 * token_size *
                                  static_cast<double>(chunk_size * inputs.max_length())),
       .beside_name = "targets of a chunk",
       .disk = teacher_disk_bytes(config)});
  plan.plan().notes = {targets_text(inputs.config)};
  plan.add_shares();
  plan.find_batch(inputs.config.batch_size == 0);
  plan.add_memory();
  const double tokens =
      tokens_of(file_bytes(inputs.rows.path()), inputs.rows.rows(), inputs.max_length());
  const run::ModelPlan::Rates& rates = plan.rates();
  plan.add_time("targets",
                2.0 * static_cast<double>(run::num_parameters(inputs.model)) * tokens /
                    machine.ranks / rates.prompt_flops,
                report::text_of("%.3g tokens at most, %.0e FLOP/s on %s", tokens,
                                rates.prompt_flops, rates.on));
  plan.add_seal_time();
  plan.add_limits();
  return std::move(plan.plan());
}

}  // namespace mgpu::jobs
