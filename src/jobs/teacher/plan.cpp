#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/model_plan.hpp>

#include "inputs.hpp"
#include "job.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kBytesPerToken = 3.0;  // lower bound: text has about 4, and JSON has more

/// Returns an upper bound of the number of tokens in a file of `bytes` bytes with `samples`
/// samples. A sample has at most `max_length` tokens.
double tokens_of(std::uint64_t bytes, std::int64_t samples, std::int64_t max_length) {
  const double by_size = static_cast<double>(bytes) / kBytesPerToken;
  return std::min(by_size, static_cast<double>(samples) * static_cast<double>(max_length));
}

/// Returns how many bytes the result file stores per token, at most.
double token_bytes(const TeacherConfig& config, std::int64_t vocab) {
  double bytes = 0.0;
  for (const store::ColumnSpec& column : teacher_table(1, config, vocab).columns)
    if (column.ragged && !column.name.starts_with("drawn_"))
      bytes += static_cast<double>(column.row_bytes());
  return config.has_draws ? bytes + drawn_bytes(config, vocab) : bytes;
}

/// Returns a text with the number of rows, and the number of tokens of the first 1000 rows. Encodes
/// these rows as a run does.
/// Ranks: local; only rank 0 calls this function.
/// Errors: those of TeacherEncoder::encode().
std::string rows_text(const TeacherInputs& inputs) {
  constexpr std::int64_t kEncodedRows = 1000;
  const std::int64_t count = std::min(inputs.rows.rows(), kEncodedRows);
  TeacherEncoder encoder = inputs.encoder();
  std::int64_t tokens = 0;
  for (const input::Row& row : inputs.rows.read(0, count))
    tokens += std::ssize(encoder.encode(row, inputs.rows.path()).text.ids);
  return report::counted(inputs.rows.rows(), "row") + "; " +
         (count < inputs.rows.rows() ? "the first " + report::grouped(count) + " have " : "") +
         report::counted(tokens, "token");
}

}  // namespace

void TeacherJob::check_files() const {
  check_all(
      {[&] { rows::check_model_folder(config_, keys_.rows.folder); }, [&] { check_inputs(); }});
}

void TeacherJob::check_inputs() const {
  rows::check_chat_template(config_, keys_.rows.folder, keys_.rows.chat);
  rows::check_data_file(config_, keys_.rows.options,
                        "data.path is a file of rows: JSON Lines, CSV or Parquet");
}

std::vector<run::FileCheck> TeacherJob::file_checks() const {
  return {rows::model_folder_check(config_, keys_.rows.folder),
          {keys_.rows.options.source(), [this](const cluster::Group& world) {
             const TeacherInputs inputs = read_teacher_inputs(world, config_, keys_);
             return cluster::on_rank_0(world, [&] { return rows_text(inputs); });
           }}};
}

std::uint64_t TeacherJob::disk_bytes() const {
  const std::uint64_t bytes = input::bytes_of(keys_.rows.options);
  if (bytes == 0) return 0;  // no data, which --check reports in a separate line
  const std::int64_t vocab = lm::read_lm_config(keys_.rows.folder).vocab;
  const double tokens = static_cast<double>(bytes) / kBytesPerToken;
  // The factor 2 is for two files: the journal and results.h5. The last term is for the columns
  // that are copied from the input file, which take at most `bytes` bytes.
  return run::whole_bytes(2.0 * (tokens * token_bytes(keys_, vocab) + static_cast<double>(bytes)));
}

report::Plan TeacherJob::plan(const run::PlanMachine& machine) const {
  rows::check_model_config(config_, keys_.rows.folder);
  check_inputs();
  const TeacherInputs inputs = read_teacher_inputs(config_, keys_);
  const lm::MemoryDemand demand = inputs.demand(machine.device);
  const std::int64_t rows = run::rows_at_once(inputs.counts(), demand.batch_size);
  const double token_size = token_bytes(inputs.config, inputs.model.vocab);
  run::ModelPlan plan(config_, keys_.run, keys_.rows.model, machine,
                      {.model = inputs.model,
                       .demand = demand,
                       .names = kTeacherSamples,
                       .unit = "samples",
                       .samples = inputs.rows.rows(),
                       .other_bytes = run::whole_bytes(
                           2.0 * token_size * static_cast<double>(rows * inputs.max_length())),
                       .other_name = "targets of a chunk",
                       .disk = disk_bytes()});
  plan.plan().notes = {targets_text(inputs.config)};
  plan.add_shares();
  plan.find_batch(inputs.config.batch_size == 0);
  plan.add_memory();
  const double tokens = tokens_of(inputs.rows.bytes(), inputs.rows.rows(), inputs.max_length());
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
