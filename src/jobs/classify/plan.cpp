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

constexpr double kBytesPerToken = 3.0;  // of data, at least

std::uint64_t file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : bytes;
}

void check_strategies(const Config& config) {
  if (config.is("classify.prompt", "null")) return;
  const std::string path = config.text("classify.prompt");
  std::error_code missing;
  if (std::filesystem::is_regular_file(path, missing)) return;
  throw ConfigFailure({{"E603", "there is no such file: " + path, config.place("classify.prompt"),
                        "", "classify.prompt is a file of strategies, or a template with {text}"}},
                      ExitCode::no_input);
}

}  // namespace

void check_classify_job(const Config& config, int /*ranks*/) {
  check_classify_keys(config);
}

void check_classify_files(const Config& config) {
  rows::check_model_folder(config);
  rows::check_chat_template(config, config.text("model.path"));
  rows::check_data_file(config, "data.path is a file of texts: JSON Lines, CSV or Parquet");
  check_strategies(config);
}

std::vector<run::FileCheck> classify_file_checks(const Config& config) {
  const std::filesystem::path folder = config.text("model.path");
  return {{folder.string(),
           [folder, &config](const cluster::Group& world) {
             return cluster::on_rank_0(world, [&] {
               rows::check_model_folder(config);
               return rows::model_text(folder);
             });
           }},
          {config.text("data.path"), [&config](const cluster::Group& world) {
             const ClassifyInputs inputs = read_classify_inputs(world, config);
             return report::grouped(inputs.rows.rows()) + " rows, prompt strategy " +
                    inputs.strategy.name;
           }}};
}

std::uint64_t classify_disk_bytes(const Config& config) {
  // Three files hold the rows: the journal, the sealed file, and a temporary file for the tables. A
  // row consists of its text, an answer and the other columns.
  constexpr double kRowBytes = 512.0;
  const auto bytes = static_cast<double>(file_bytes(config.text("data.path")));
  return run::whole_bytes(3.0 * (bytes + bytes / 64.0 * kRowBytes));
}

report::Plan plan_classify(const Config& config, const run::PlanMachine& machine) {
  check_classify_files(config);
  const ClassifyInputs inputs = read_classify_inputs(config);
  const std::int64_t rows = inputs.rows.rows();
  run::ModelPlan plan(config, machine,
                      {.model = inputs.model,
                       .demand = inputs.demand(config.integer("run.chunk_size")),
                       .words = run::kTexts,
                       .unit = "samples",
                       .samples = rows,
                       .beside = 0,
                       .beside_name = "texts of a chunk",
                       .disk = classify_disk_bytes(config)});
  plan.plan().notes = {classify_text(inputs.config) + "; prompt strategy " + inputs.strategy.name};
  plan.add_shares();
  plan.find_batch(inputs.config.batch_size == 0);
  plan.add_memory();
  const auto prompt_bytes = static_cast<double>(inputs.strategy.system_prompt.size() +
                                                inputs.strategy.user_template.size()) *
                            static_cast<double>(rows);
  const double tokens = std::min(
      (static_cast<double>(file_bytes(inputs.rows.path())) + prompt_bytes) / kBytesPerToken,
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
    plan.add_time("answers",
                  4.0 * static_cast<double>(run::num_parameters(inputs.model)) * passes /
                      machine.ranks / rates.decode_bytes,
                  report::text_of("%.3g tokens of answers at most", answers));
  }
  plan.add_seal_time();
  plan.add_limits();
  return std::move(plan.plan());
}

}  // namespace mgpu::jobs
