#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "evaluation_tables.hpp"
#include "page.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kShownPrompts = 6;
constexpr std::size_t kShownCompletions = 4;  // different completions of a prompt

std::string verdict_of(double score) {
  if (std::isnan(score)) return "";
  return score >= 1.0 ? "right" : "wrong";
}

/// Returns the kShownCompletions most frequent texts among the first `count` completions of a
/// prompt, the most frequent first. The prompt's rows begin at row `row`. `check` is the column
/// that tells which completions are right; "" for none.
std::vector<GeneratePlots::Sample> completions_of(const std::filesystem::path& path,
                                                  const store::ReadTable& samples, std::int64_t row,
                                                  std::int64_t count, const char* check) {
  const auto finish = samples.column("finish").values<std::uint8_t>();
  const auto log_prob = samples.column("output_log_prob").values<double>();
  const auto prompts = store::read_texts(path, "samples", "prompt", row, count);
  const auto outputs = store::read_texts(path, "samples", "output", row, count);
  const auto reasons = store::read_texts(path, "samples", "reason", row, count);
  const bool is_checked = *check != '\0';
  const auto answers = is_checked ? store::read_texts(path, "samples", "answer", row, count)
                                  : std::vector<std::string>(outputs.size());
  std::vector<GeneratePlots::Sample> found;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto same = std::ranges::find(found, outputs[i], &GeneratePlots::Sample::output);
    if (same != found.end()) {
      ++same->count;
      continue;
    }
    const std::size_t at = static_cast<std::size_t>(row) + i;
    const auto ended = static_cast<Finish>(finish[at]);
    found.push_back({prompts[i], outputs[i],
                     ended == Finish::none ? "not completed: " + reasons[i] : name_of(ended), 1,
                     log_prob[at], answers[i],
                     is_checked ? verdict_of(samples.column(check).values<double>()[at]) : ""});
  }
  std::ranges::stable_sort(found, std::greater(), &GeneratePlots::Sample::count);
  found.resize(std::min(found.size(), kShownCompletions));
  return found;
}

/// Returns the most frequent completions of the first kShownPrompts prompts.
std::vector<GeneratePlots::Sample> first_samples(const std::filesystem::path& path,
                                                 const store::ReadTable& samples,
                                                 std::int64_t num_samples, const char* check) {
  std::vector<GeneratePlots::Sample> shown;
  for (std::int64_t prompt = 0; prompt < kShownPrompts; ++prompt) {
    const std::int64_t row = prompt * num_samples;
    const std::int64_t count = std::min({num_samples, kReadSamples, samples.rows - row});
    if (count <= 0) break;
    std::ranges::move(completions_of(path, samples, row, count, check), std::back_inserter(shown));
  }
  return shown;
}

/// Returns the column that tells which completions are right; "" for none.
const char* check_of(const GenerateInputs& inputs) {
  if (!inputs.checks_answers()) return "";
  return inputs.has_scores() ? "score" : "reward_match";
}

/// Fills in the curves of pass@k, maj@k and searches over k, and the metrics of each group of
/// prompts.
void fill_evaluation(const Evaluation& evaluation, GeneratePlots& plots) {
  plots.evaluated_prompts = std::ssize(evaluation.prompts);
  const auto add = [&](const std::string& kind, std::int64_t k, GeneratePlots::Rates& rates) {
    const PromptMetric* metric = evaluation.find(kind + std::to_string(k));
    if (metric == nullptr) return;
    const Estimate estimate = estimate_of(evaluation, *metric);
    rates.means.x.push_back(static_cast<double>(k));
    rates.means.y.push_back(estimate.mean);
    rates.low.push_back(estimate.has_interval() ? estimate.low : estimate.mean);
    rates.high.push_back(estimate.has_interval() ? estimate.high : estimate.mean);
  };
  for (const std::int64_t k : evaluation.counts) {
    add("pass_", k, plots.pass);
    add("maj_", k, plots.majority);
    add("best_", k, plots.best);
    add("weighted_", k, plots.weighted);
  }
  if (!evaluation.has_groups()) return;
  for (const std::string& group :
       std::set<std::string>(evaluation.groups.begin(), evaluation.groups.end()))
    for (const PromptMetric& metric : evaluation.metrics)
      if (!group.empty())
        plots.groups.push_back({group, metric.label, estimate_of(evaluation, metric, group)});
}

void fill_speeds(const std::vector<run::GroupWork>& groups, GeneratePlots& plots) {
  run::GroupSpeeds speeds =
      run::speeds_of(groups, plots.is_scoring_only ? &run::GroupWork::input_tokens
                                                   : &run::GroupWork::output_tokens);
  plots.tokens_per_second = std::move(speeds.of_groups);
  plots.total_tokens_per_second = speeds.total;
}

/// Converts table `samples` to the data of the charts.
GeneratePlots plots_of(const store::ReadTable& samples) {
  GeneratePlots plots;
  const auto prompt_tokens = samples.column("n_prompt_tokens").values<std::int32_t>();
  const auto output_tokens = samples.column("n_output_tokens").values<std::int32_t>();
  const auto finish = samples.column("finish").values<std::uint8_t>();
  const auto prompt_log_prob = samples.column("prompt_log_prob").values<double>();
  const auto output_log_prob = samples.column("output_log_prob").values<double>();
  const auto sample = samples.column("sample").values<std::int32_t>();
  for (std::size_t i = 0; i < finish.size(); ++i) {
    ++plots.finishes[name_of(static_cast<Finish>(finish[i]))];
    plots.output_lengths.push_back(output_tokens[i]);
    plots.output_tokens += output_tokens[i];
    plots.output_log_prob += output_log_prob[i];
    if (sample[i] > 0) continue;  // prompt lengths count each prompt once
    if (prompt_tokens[i] > 0) plots.prompt_lengths.push_back(prompt_tokens[i]);
    plots.prompt_tokens += prompt_tokens[i];
    plots.prompt_log_prob += prompt_log_prob[i];
    if (finish[i] != static_cast<std::uint8_t>(Finish::none))
      plots.scored_prompt_tokens += prompt_tokens[i] - 1;
  }
  return plots;
}

void add_result(run::JobOutcome& outcome, const char* key, const char* label, double value,
                const char* unit, int decimals) {
  outcome.results.push_back({key, label, value, unit, decimals});
}

void add_results(const GeneratePlots& plots, run::JobOutcome& outcome) {
  const double rate = plots.total_tokens_per_second;
  const auto outputs = static_cast<double>(plots.output_tokens);
  const auto prompts = static_cast<double>(plots.scored_prompt_tokens);
  std::string text = report::counted(plots.output_tokens, "token") + " generated after " +
                     report::grouped(plots.prompt_tokens) + " of prompts";
  if (outputs > 0) {
    add_result(outcome, "output_tokens", "tokens generated", outputs, "tokens", 0);
    add_result(outcome, "output_log_prob", "mean log-probability of a generated token",
               plots.output_log_prob / outputs, "nats", 4);
    text += report::text_of("; %.4f nats per generated token", plots.output_log_prob / outputs);
  }
  if (plots.is_scored && prompts > 0) {
    const double mean = plots.prompt_log_prob / prompts;
    add_result(outcome, "prompt_log_prob", "mean log-probability of a prompt token", mean, "nats",
               4);
    add_result(outcome, "prompt_perplexity", "perplexity of the prompts", std::exp(-mean), "", 3);
    text +=
        report::text_of("; prompts %.4f nats per token (perplexity %.3f)", mean, std::exp(-mean));
  }
  const std::int64_t context = plots.context;
  const auto beyond = std::ranges::count_if(
      plots.prompt_lengths, [&](std::int64_t tokens) { return context > 0 && tokens > context; });
  if (beyond > 0)
    add_result(outcome, "beyond_context", "prompts longer than the model was made for",
               static_cast<double>(beyond), "", 0);
  if (rate > 0.0) {
    add_result(outcome, "tokens_per_second", "tokens per second, all ranks", rate, "tokens/s", 1);
    text += "; " + report::rate_text(rate) + " tokens/s";
  }
  outcome.result = text;
}

/// Returns the short name of a metric for the result line, or "" if the line omits the metric. The
/// line shows the score, the reward and the KL. Of pass@k, maj@k and the metrics of the chosen
/// search, it shows only those for the largest k. It omits maj@1, and pass@1 if there is a score.
/// With a search, it also shows pass@1, the accuracy of a random choice.
std::string short_name(const report::Result& result, const Evaluation& evaluation) {
  if (result.key == "score") return result.label;
  if (result.key == "reward" || result.key == "kl") return result.key == "kl" ? "KL" : "reward";
  if (evaluation.counts.empty()) return "";
  const std::int64_t most = evaluation.counts.back();
  if (evaluation.is_of_search(result.key, most)) return result.label;
  if (evaluation.search && most > 1 && result.key == "pass_1") return "random";
  if (result.key == "pass_" + std::to_string(most))
    return most == 1 && evaluation.find("score") != nullptr ? "" : "pass@" + std::to_string(most);
  return most > 1 && result.key == "maj_" + std::to_string(most) ? result.label : "";
}

/// Adds the means of all metrics to `outcome`. The result line shows only metrics with a
/// short_name().
void add_evaluation(const GenerateInputs& inputs, const Evaluation& evaluation,
                    run::JobOutcome& outcome) {
  bool has_interval = false;
  for (report::Result& result : evaluation_results(evaluation)) {
    if (result.key == "score") result.label = inputs.keys.rows.dataset->dataset->metric();
    if (result.key == "kl" && !inputs.keys.has_reference())
      result.label = "KL per token of the guided draws from model.path";
    const std::string interval = result.interval();
    const std::string name = short_name(result, evaluation);
    if (!name.empty()) {
      outcome.result += "; " + name + report::text_of(" %.4f", result.value);
      if (!interval.empty()) outcome.result += " " + interval;
      has_interval = has_interval || !interval.empty();
    }
    outcome.results.push_back(std::move(result));
  }
  if (has_interval)
    outcome.result +=
        "; [95 % intervals] over " + report::counted(std::ssize(evaluation.prompts), "prompt");
}

/// Adds to `outcome` the number of samples without a reward. Samples without a completion count
/// too.
void add_without_reward(const store::ReadTable& samples, run::JobOutcome& outcome) {
  const auto rewards = samples.column("reward").values<double>();
  const auto missing =
      std::ranges::count_if(rewards, [](double reward) { return std::isnan(reward); });
  if (missing == 0) return;
  add_result(outcome, "without_reward", "samples without a reward", static_cast<double>(missing),
             "", 0);
  outcome.result += "; " + report::counted(missing, "sample") + " without a reward";
}

/// Adds to `outcome` the number of samples that could not be completed. Sets the exit code
/// `incomplete` if their share is above output.max_failed.
void judge_failures(run::RunContext& run, const GeneratePlots& plots, run::JobOutcome& outcome) {
  const auto found = plots.finishes.find(name_of(Finish::none));
  if (found == plots.finishes.end()) return;
  add_result(outcome, "failed_samples", "samples that failed", static_cast<double>(found->second),
             "", 0);
  const std::string where = run.store.text
                                ? "column `reason` of " + run.store.result_file + " says why"
                                : "column `status` of " + run.store.result_file +
                                      " marks them; output.text=true says why";
  run.log.event({"warn", {{"text", report::grouped(found->second) + " samples failed: " + where}}});
  const double share = static_cast<double>(found->second) / static_cast<double>(outcome.total);
  if (share > run.store.max_failed) outcome.exit = ExitCode::incomplete;
}

}  // namespace

store::SealRequest generate_request(const run::SealPlace& place, const GenerateInputs& inputs) {
  store::SealRequest request = run::seal_request(place, "generate", inputs.keys.run.part);
  if (const int ranks = inputs.keys.rows.model.summing_ranks(); ranks > 1)
    request.groups.front().attributes.push_back({"ranks_of_a_model", std::int64_t{ranks}});
  request.tables = {{completion_table(inputs), inputs.phase,
                     inputs.keys.run.chunk_size * inputs.config.num_samples}};
  return request;
}

SealedCompletions seal_completions(const cluster::Group& world, const store::ChunkJournal& journal,
                                   const run::SealPlace& place, const GenerateInputs& inputs,
                                   bool may_lack_rows) {
  store::SealRequest request = generate_request(place, inputs);
  request.partial = request.partial || may_lack_rows;
  SealedCompletions sealed;
  sealed.evaluation = evaluate_journal(world, journal, request.tables.front(), inputs);
  if (world.rank() == 0 && sealed.evaluation)
    request.small_tables = evaluation_tables(*sealed.evaluation);
  sealed.report = store::seal(world, journal, request);
  return sealed;
}

void add_completion_results(run::RunContext& run, const GenerateInputs& inputs,
                            const std::optional<Evaluation>& evaluation,
                            const std::vector<run::GroupWork>& groups, run::JobOutcome& outcome) {
  const auto reading = run.clock.enter("results");
  const cluster::Group& world = run.topology.world();
  const std::filesystem::path path = run.directory.path() / run.store.result_file;
  const store::ReadTable samples = store::read_table(world, path, "samples");
  GeneratePlots plots = plots_of(samples);
  plots.is_scored = inputs.config.generation.scores_prompts;
  plots.is_scoring_only = inputs.config.generation.max_new_tokens == 0;
  plots.context = rows::context_of(inputs.model);
  plots.num_samples = inputs.config.num_samples;
  plots.settings = sampling_text(inputs.keys, inputs.config);
  fill_speeds(groups, plots);
  if (evaluation) fill_evaluation(*evaluation, plots);
  cluster::run_together(world, [&] {
    if (world.rank() == 0 && run.store.text)
      plots.samples = first_samples(path, samples, plots.num_samples, check_of(inputs));
  });
  add_results(plots, outcome);
  if (evaluation) add_evaluation(inputs, *evaluation, outcome);
  if (inputs.keys.rewards.is_given()) add_without_reward(samples, outcome);
  judge_failures(run, plots, outcome);
  outcome.page = std::make_unique<GeneratePage>(std::move(plots));
}

}  // namespace mgpu::jobs
