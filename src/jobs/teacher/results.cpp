#include "results.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/formats/bit_pack.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/results/read_table.hpp>

#include "page.hpp"
#include "plots.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

/// Returns the attributes of results.h5 that a reader needs to interpret the columns.
store::AttributeGroup facts_of(const TeacherInputs& inputs) {
  const TeacherConfig& config = inputs.config;
  const std::int64_t vocab = inputs.model.vocab;
  return {"teacher",
          {{"vocab_size", vocab},
           {"targets", config.has_draws ? "random_sampling" : "topk"},
           {"top_k", config.has_draws ? 0 : std::min(config.top_k, vocab)},
           {"num_draws", config.has_draws ? config.num_draws : 0},
           {"id_bits", std::int64_t{formats::bits_for(static_cast<std::uint64_t>(vocab))}},
           {"temperature", config.temperature},
           {"max_length", inputs.max_length()}}};
}

void add_result(run::JobOutcome& outcome, const char* key, const char* label, double value,
                const char* unit, int decimals) {
  outcome.results.push_back({key, label, value, unit, decimals});
}

/// Returns the data of the charts that are computed from table `samples`.
TeacherPlots plots_of(const store::ReadTable& samples) {
  TeacherPlots plots;
  const auto tokens = samples.column("n_tokens").values<std::int32_t>();
  const auto all_tokens = samples.column("all_tokens").values<std::int64_t>();
  const auto status = samples.column("status").values<std::uint8_t>();
  for (std::size_t i = 0; i < status.size(); ++i) {
    const auto what = static_cast<rows::RowStatus>(status[i]);
    ++plots.statuses[name_of(what)];
    plots.tokens += tokens[i];
    plots.tokens_left_out += all_tokens[i] - tokens[i];
    plots.longest = std::max<std::int64_t>(plots.longest, tokens[i]);
    if (tokens[i] > 0) ++plots.samples;
    if (all_tokens[i] == 0) continue;
    plots.lengths.push_back(all_tokens[i]);
    plots.is_cut.push_back(what == rows::RowStatus::ok ? 0 : 1);
  }
  return plots;
}

void fill_speeds(const std::vector<run::GroupWork>& groups, TeacherPlots& plots) {
  run::GroupSpeeds speeds = run::speeds_of(groups, &run::GroupWork::input_tokens);
  plots.tokens_per_second = std::move(speeds.of_groups);
  plots.total_tokens_per_second = speeds.total;
}

/// Returns how many bytes the targets of a token take, including ids. If this number differs
/// between tokens, returns a mean: the size of the whole file divided by the number of tokens.
double bytes_per_token(const TeacherInputs& inputs, const TeacherPlots& plots,
                       std::uint64_t file_bytes) {
  if (plots.tokens == 0) return 0.0;
  const std::int64_t bytes = target_bytes(inputs.config, inputs.model.vocab);
  return bytes > 0 ? static_cast<double>(bytes)
                   : static_cast<double>(file_bytes) / static_cast<double>(plots.tokens);
}

void add_results(const TeacherPlots& plots, run::JobOutcome& outcome) {
  add_result(outcome, "tokens", "read by the teacher", static_cast<double>(plots.tokens), "tokens",
             0);
  add_result(outcome, "bytes_per_token", "targets of a token", plots.bytes_per_token, "bytes", 0);
  add_result(outcome, "padding_share", "tokens that padding would have added",
             100.0 * plots.padding_share(), "%", 1);
  std::string text = report::counted(plots.tokens, "token") + " of " +
                     report::counted(outcome.total, "sample") + "; " +
                     report::text_of("%.0f bytes per token", plots.bytes_per_token);
  if (plots.total_tokens_per_second > 0.0) {
    add_result(outcome, "tokens_per_second", "tokens per second, all ranks",
               plots.total_tokens_per_second, "tokens/s", 1);
    text += "; " + report::rate_text(plots.total_tokens_per_second) + " tokens/s";
  }
  outcome.result = text;
}

/// Warns about samples that were cut or left out. Adds the number of rows with the status bad_row
/// to the results. Sets the exit code `incomplete` if the share of these rows is above
/// output.max_failed.
void judge_rows(run::RunContext& run, const TeacherPlots& plots, run::JobOutcome& outcome) {
  for (const auto& [status, count] : plots.statuses) {
    if (status == name_of(rows::RowStatus::ok)) continue;
    run.log.event({"warn",
                   {{"text", report::grouped(count) + " of " +
                                 report::counted(outcome.total, "sample") + ": " + status +
                                 "; column `reason` of " + run.store.result_file + " says why"}}});
  }
  const auto bad = plots.statuses.find(name_of(rows::RowStatus::bad_row));
  if (bad == plots.statuses.end()) return;
  add_result(outcome, "bad_rows", "rows that could not be used", static_cast<double>(bad->second),
             "", 0);
  const double share = static_cast<double>(bad->second) / static_cast<double>(outcome.total);
  if (share > run.store.max_failed) outcome.exit = ExitCode::incomplete;
}

/// Warns about texts that are longer than the teacher's context, and adds their number to the
/// results.
void judge_lengths(run::RunContext& run, const TeacherInputs& inputs,
                   std::span<const std::int32_t> tokens, run::JobOutcome& outcome) {
  const std::int64_t context = rows::context_of(inputs.model);
  const auto beyond = std::ranges::count_if(
      tokens, [&](std::int32_t count) { return context > 0 && count > context; });
  if (beyond == 0) return;
  add_result(outcome, "beyond_context", "texts longer than the model was made for",
             static_cast<double>(beyond), "", 0);
  run.log.event({"warn",
                 {{"text", rows::beyond_context_warning(
                               beyond, context,
                               "data.max_length=" + std::to_string(context) + " cuts them")}}});
}

}  // namespace

store::SealRequest teacher_request(const run::SealPlace& place, const TeacherInputs& inputs) {
  store::SealRequest request = run::seal_request(place, "teacher", inputs.config.run.part);
  if (const int ranks = inputs.config.rows.model.summing_ranks(); ranks > 1)
    request.groups.front().attributes.push_back({"ranks_of_a_model", std::int64_t{ranks}});
  request.groups.push_back(facts_of(inputs));
  request.tables = {
      {teacher_table(inputs.rows.rows(), inputs.config, inputs.model.vocab, inputs.kept.names()),
       inputs.phase, inputs.config.run.chunk_size}};
  return request;
}

void seal_targets(run::RunContext& run, const TeacherInputs& inputs) {
  const auto sealing = run.clock.enter("seal");
  store::seal(run.topology.world(), run.journal,
              teacher_request({run.config, run.store, run.directory}, inputs));
  run::log_part(run, inputs.config.run);
}

void add_target_results(run::RunContext& run, const TeacherInputs& inputs,
                        const std::vector<run::GroupWork>& groups, RankMap ranks,
                        run::JobOutcome& outcome) {
  const auto reading = run.clock.enter("results");
  const std::filesystem::path path = run.directory.path() / run.store.result_file;
  const store::ReadTable samples = store::read_table(run.topology.world(), path, "samples");
  TeacherPlots plots = plots_of(samples);
  plots.max_length = inputs.max_length();
  plots.bytes_per_token = bytes_per_token(inputs, plots, std::filesystem::file_size(path));
  cluster::run_together(run.topology.world(), [&] {
    if (run.topology.world().rank() == 0 && plots.tokens > 0)
      add_targets(path, inputs, samples.column("n_tokens").values<std::int32_t>(), plots);
  });
  plots.ranks = std::move(ranks);
  fill_speeds(groups, plots);
  add_results(plots, outcome);
  judge_rows(run, plots, outcome);
  judge_lengths(run, inputs, samples.column("n_tokens").values<std::int32_t>(), outcome);
  outcome.page = std::make_unique<TeacherPage>(std::move(plots));
}

}  // namespace mgpu::jobs
