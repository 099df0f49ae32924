#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <mgpu/base/missing_file.hpp>
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

constexpr double kBytesPerToken = 3.0;  // assumed minimum of the data's bytes per token

void check_strategies(const Config& config, const std::filesystem::path& path) {
  if (path.empty()) return;
  const auto missing = missing_file(path);
  if (!missing) return;
  throw ConfigFailure({{"E603", *missing, config.place("classify.prompt"), "",
                        "classify.prompt is a file, or the text of a template with {text}"}},
                      ExitCode::no_input);
}

}  // namespace

void ClassifyJob::check_files() const {
  check_all(
      {[&] { rows::check_model_folder(config_, keys_.rows.folder); }, [&] { check_inputs(); }});
}

void ClassifyJob::check_inputs() const {
  rows::check_chat_template(config_, keys_.rows.folder, keys_.rows.chat);
  rows::check_data_file(config_, keys_.rows.options,
                        "data.path is a file of texts: JSON Lines, CSV or Parquet");
  check_strategies(config_, keys_.prompt_file);
}

std::vector<run::FileCheck> ClassifyJob::file_checks() const {
  return {rows::model_folder_check(config_, keys_.rows.folder),
          {keys_.rows.options.source(), [this](const cluster::Group& world) {
             const ClassifyInputs inputs = read_classify_inputs(world, config_, keys_);
             return report::counted(inputs.rows.rows(), "row") + ", prompt strategy " +
                    inputs.strategy.name;
           }}};
}

std::uint64_t ClassifyJob::disk_bytes() const {
  // Three files contain the rows: the journal, the sealed file, and the temporary file
  // rows.h5.part. The texts have as many bytes as the data. A row of the data is assumed to have at
  // least 64 bytes. Its answer and other columns take about kRowBytes.
  constexpr double kRowBytes = 512.0;
  const auto bytes = static_cast<double>(input::bytes_of(keys_.rows.options));
  return run::whole_bytes(3.0 * (bytes + bytes / 64.0 * kRowBytes));
}

report::Plan ClassifyJob::plan(const run::PlanMachine& machine) const {
  rows::check_model_config(config_, keys_.rows.folder);
  check_inputs();
  const ClassifyInputs inputs = read_classify_inputs(config_, keys_);
  const std::int64_t rows = inputs.rows.rows();
  run::ModelPlan plan(config_, keys_.run, keys_.rows.model, machine,
                      {.model = inputs.model,
                       .demand = inputs.demand(machine.device),
                       .names = kTexts,
                       .unit = "samples",
                       .samples = rows,
                       .other_bytes = 0,
                       .other_name = "texts of a chunk",
                       .disk = disk_bytes()});
  plan.plan().notes = {classify_text(inputs.config) + "; prompt strategy " + inputs.strategy.name};
  plan.add_shares();
  plan.find_batch(inputs.config.batch_size == 0);
  plan.add_memory();
  const auto prompt_bytes = static_cast<double>(inputs.strategy.system_prompt.size() +
                                                inputs.strategy.user_template.size()) *
                            static_cast<double>(rows);
  const double tokens =
      std::min((static_cast<double>(inputs.rows.bytes()) + prompt_bytes) / kBytesPerToken,
               static_cast<double>(rows) * static_cast<double>(inputs.max_length()));
  const run::ModelPlan::Rates& rates = plan.rates();
  plan.add_time("classify",
                2.0 * static_cast<double>(run::num_parameters(inputs.model)) * tokens /
                    machine.ranks / rates.prompt_flops,
                report::text_of("%.3g tokens of prompts at most, %.0e FLOP/s on %s", tokens,
                                rates.prompt_flops, rates.on));
  if (inputs.config.generates) {
    const double answers =
        static_cast<double>(rows) * static_cast<double>(inputs.strategy.max_tokens);
    const double passes =
        answers / static_cast<double>(std::max<std::int64_t>(1, plan.demand().batch_size));
    const double bytes = plan.demand().matrices == lm::MatrixType::bf16 ? 2.0 : 4.0;
    plan.add_time("answers",
                  bytes * static_cast<double>(run::num_parameters(inputs.model)) * passes /
                      machine.ranks / rates.decode_bytes,
                  report::text_of("%.3g tokens of answers at most", answers));
  }
  plan.add_seal_time();
  plan.add_limits();
  return std::move(plan.plan());
}

}  // namespace mgpu::jobs
