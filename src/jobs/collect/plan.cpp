#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <mgpu/base/missing_file.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/model_plan.hpp>

#include "agent_plan.hpp"
#include "inputs.hpp"
#include "job.hpp"

namespace mgpu::jobs {
namespace {

// The number of tokens per step that a plan assumes if steps are lines.
constexpr std::int64_t kTokensOfLine = 16;

std::int64_t sum_of_tokens(const std::vector<QuestionTokens>& counts) {
  std::int64_t sum = 0;
  for (const QuestionTokens& tokens : counts)
    sum += tokens.all;
  return sum;
}

std::int64_t longest_tokens(const std::vector<QuestionTokens>& counts) {
  return std::ranges::max_element(counts, {}, &QuestionTokens::longest)->longest;
}

/// Tokenizes all questions. Returns a text with the number of questions, the number of their tokens
/// and the length of the longest question. Only rank 0 calls this function.
std::string questions_text(const CollectInputs& inputs) {
  const std::vector<QuestionTokens> counts = count_question_tokens(inputs);
  const std::int64_t bad = std::ranges::count(counts, 0, &QuestionTokens::all);
  return report::counted(inputs.questions(), "question") + ", " +
         report::counted(sum_of_tokens(counts), "token") + ", the longest " +
         report::grouped(longest_tokens(counts)) +
         (bad > 0 ? "; " + report::grouped(bad) + " rows cannot be used" : "");
}

std::int64_t count_questions(const CollectKeys& keys) {
  input::RowOptions options = keys.rows.options;
  options.on_bad_row = input::BadRow::mark;  // only the number of rows is used
  try {
    return input::open_rows(options).rows();
  } catch (const Failure&) {
    return 0;  // --check reports the reason
  }
}

/// Checks that the file of agents exists and can be used.
void check_agents(const Config& config, const AgentKeys& keys) {
  if (!keys.is_used || keys.path.empty()) return;
  if (const auto missing = missing_file(keys.path))
    throw ConfigFailure({{"E603", *missing, config.place("collect.agents.path"), "",
                          "collect.agents.path is a file of agents and their prompts (JSON)"}},
                        ExitCode::no_input);
  read_agents(keys);
}

/// Returns the number of steps that the plan assumes for a path.
std::int64_t expected_steps(const CollectKeys& keys) {
  const std::int64_t length = keys.step_tokens > 0 ? keys.step_tokens : kTokensOfLine;
  return std::min(keys.max_steps, (keys.max_new_tokens + length - 1) / length);
}

/// Returns the number of states of a question for which the plan assumes rollouts. A state is a
/// path up to the end of one of its steps.
std::int64_t expected_states(const CollectKeys& keys) {
  const std::int64_t steps = expected_steps(keys);
  if (keys.label != StepLabel::omega_prm) return keys.num_paths * (steps - 1);
  return keys.omega.searches *
         static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(steps - 1)));
}

/// Makes the plan of one run, for --plan.
class CollectPlan {
public:
  CollectPlan(const Config& config, const run::PlanMachine& machine, CollectInputs inputs,
              std::uint64_t disk_bytes)
      : machine_(machine),
        inputs_(std::move(inputs)),
        counts_(count_question_tokens(inputs_)),
        agents_(inputs_.keys.agents.is_used ? expected_work(inputs_, sum_of_tokens(counts_))
                                            : AgentWork{}),
        disk_bytes_(disk_bytes),
        plan_(config, inputs_.keys.run, inputs_.keys.rows.model, machine, work()) {}

  report::Plan make() {
    plan_.plan().notes = {collecting_text(inputs_.keys)};
    plan_.add_shares();
    plan_.find_batch(!inputs_.keys.batch_size);
    plan_.add_memory();
    inputs_.keys.agents.is_used ? add_agent_times() : add_times();
    if (inputs_.keys.agents.thinks()) add_path_note();
    plan_.add_limits();
    return std::move(plan_.plan());
  }

private:
  std::int64_t longest() const { return longest_tokens(counts_); }
  std::int64_t most_pages() const {
    return std::ranges::max_element(counts_, {}, &QuestionTokens::pages)->pages;
  }

  run::ModelPlan::Work work() const {
    const CollectKeys& keys = inputs_.keys;
    const lm::MemoryDemand demand = inputs_.demand(machine_.device, {0, longest(), most_pages()});
    const std::int64_t rows = run::rows_at_once(inputs_.counts(), demand.batch_size);
    if (keys.agents.is_used)
      return {.model = inputs_.model,
              .demand = demand,
              .names = kCollected,
              .unit = "questions",
              .samples = inputs_.questions(),
              .other_bytes = static_cast<std::uint64_t>(rows * agents_.kept),
              .other_name = "states and texts of a block of questions",
              .disk = disk_bytes_};
    const std::int64_t states = rows * expected_states(keys);
    // The ids and log-probabilities of a rollout are in memory until the rollout is judged. The
    // question and the path before the rollouts are in memory once per state.
    const std::int64_t tokens =
        states * (keys.rollouts * keys.max_new_tokens + longest() + keys.max_new_tokens);
    return {.model = inputs_.model,
            .demand = demand,
            .names = kCollected,
            .unit = "questions",
            .samples = inputs_.questions(),
            .other_bytes = static_cast<std::uint64_t>(tokens * 12),
            .other_name = "rollouts of a block of questions",
            .disk = disk_bytes_};
  }

  /// Adds to the plan the time in which the model reads the questions and the tokens before
  /// rollouts. Also adds the time in which it generates paths and rollouts, and the time of the
  /// seal.
  void add_times() {
    const CollectKeys& keys = inputs_.keys;
    const auto questions = static_cast<double>(sum_of_tokens(counts_));
    const auto paths = static_cast<double>(inputs_.questions() * keys.num_paths);
    const auto length = static_cast<double>(keys.max_new_tokens);
    const auto states = static_cast<double>(expected_states(keys));
    const double beginnings = questions * (1.0 + states) +
                              states * static_cast<double>(inputs_.questions()) * length / 2.0;
    const auto parameters = static_cast<double>(run::num_parameters(inputs_.model));
    const run::ModelPlan::Rates& rates = plan_.rates();
    plan_.add_time("questions and beginnings of rollouts",
                   2.0 * parameters * beginnings / machine_.ranks / rates.prompt_flops,
                   report::text_of("%.3g tokens, %.0e FLOP/s on %s", beginnings, rates.prompt_flops,
                                   rates.on));
    const double drawn = paths * length + states * static_cast<double>(inputs_.questions()) *
                                              static_cast<double>(keys.rollouts) * length / 2.0;
    const lm::MemoryDemand& demand = plan_.demand();
    const double passes = drawn / static_cast<double>(demand.batch_size) / machine_.ranks;
    const double bytes = demand.matrices == lm::MatrixType::bf16 ? 2.0 : 4.0;
    plan_.add_time(
        "paths and rollouts", passes * parameters * bytes / rates.decode_bytes,
        report::text_of("%.3g passes of a rank for %.3g tokens: paths of %lld tokens "
                        "with %lld steps; %.0f GB/s",
                        passes, drawn, static_cast<long long>(keys.max_new_tokens),
                        static_cast<long long>(expected_steps(keys)), 1e-9 * rates.decode_bytes));
    plan_.add_seal_time();
  }

  /// Adds a note to the plan: the bytes of KV cache that all paths of one question need, for the
  /// question that needs the most.
  void add_path_note() {
    const lm::LmConfig& model = inputs_.model;
    const std::int64_t page = 2 * std::ssize(model.layers) * model.kv_heads * model.head_dim *
                              inputs_.generation.page_tokens *
                              lm::bytes_of(inputs_.generation.cache_type);
    const std::int64_t paths = inputs_.keys.num_paths;
    const auto text_of = [](std::int64_t bytes) {
      return report::bytes_text(static_cast<std::uint64_t>(bytes));
    };
    plan_.plan().notes.push_back("cache of the largest question: " + text_of(most_pages() * page) +
                                 ", or " + text_of(most_pages() * page / paths) +
                                 " for each of its " + std::to_string(paths) +
                                 " paths, which share pages");
  }

  /// Adds to the plan the time in which the model reads the prompts of agents. Also adds the time
  /// in which it makes latent steps and texts, and the time of the seal.
  void add_agent_times() {
    const auto parameters = static_cast<double>(run::num_parameters(inputs_.model));
    const run::ModelPlan::Rates& rates = plan_.rates();
    plan_.add_time("prompts of agents",
                   2.0 * parameters * agents_.read / machine_.ranks / rates.prompt_flops,
                   report::text_of("%.3g tokens, %.0e FLOP/s on %s", agents_.read,
                                   rates.prompt_flops, rates.on));
    const lm::MemoryDemand& demand = plan_.demand();
    const double passes = agents_.drawn / static_cast<double>(demand.batch_size) / machine_.ranks;
    const double bytes = demand.matrices == lm::MatrixType::bf16 ? 2.0 : 4.0;
    plan_.add_time("latent steps and texts", passes * parameters * bytes / rates.decode_bytes,
                   report::text_of("%.3g passes of a rank for %.3g steps and tokens; %.0f GB/s",
                                   passes, agents_.drawn, 1e-9 * rates.decode_bytes));
    plan_.add_seal_time();
  }

  const run::PlanMachine& machine_;
  CollectInputs inputs_;
  std::vector<QuestionTokens> counts_;  // sizes of each question
  AgentWork agents_;
  std::uint64_t disk_bytes_;
  run::ModelPlan plan_;
};

}  // namespace

void CollectJob::check_files() const {
  check_all(
      {[&] { rows::check_model_folder(config_, keys_.rows.folder); }, [&] { check_inputs(); }});
}

void CollectJob::check_inputs() const {
  rows::check_chat_template(config_, keys_.rows.folder, keys_.rows.chat);
  rows::check_data_file(config_, keys_.rows.options,
                        "data.path is a file of rows: JSON Lines, CSV or Parquet");
  check_agents(config_, keys_.agents);
}

std::vector<run::FileCheck> CollectJob::file_checks() const {
  return {rows::model_folder_check(config_, keys_.rows.folder),
          {keys_.rows.options.source(), [this](const cluster::Group& world) {
             return cluster::on_rank_0(
                 world, [&] { return questions_text(read_collect_inputs(config_, keys_)); });
           }}};
}

/// Returns the bytes on disk that a path needs for the nodes and latent states of all agents.
/// Returns 0 if agents do not think in latent steps.
std::uint64_t CollectJob::state_bytes() const {
  if (!keys_.agents.thinks()) return 0;
  const lm::LmConfig model = lm::read_lm_config(keys_.rows.folder, lm::FolderWeights::ignored);
  const std::int64_t bytes = keys_.agents.store == LatentStore::none  ? 0
                             : keys_.agents.store == LatentStore::f16 ? 2
                                                                      : 4;
  return static_cast<std::uint64_t>(std::ssize(read_agents(keys_.agents)) *
                                    (80 + keys_.agents.steps * model.hidden_size * bytes));
}

std::uint64_t CollectJob::disk_bytes() const {
  const auto questions = static_cast<std::uint64_t>(count_questions(keys_));
  if (questions == 0) return 0;  // the data cannot be read; another check reports the reason
  const auto tokens = static_cast<std::uint64_t>(keys_.max_new_tokens);
  const auto paths = static_cast<std::uint64_t>(keys_.num_paths);
  const auto steps = static_cast<std::uint64_t>(std::min(keys_.max_steps, keys_.max_new_tokens));
  // A token has an id and about eight bytes of text. A node has at most 56 bytes of numbers.
  const std::uint64_t path = tokens * 12 + steps * 56 + 64 + state_bytes();
  return 2 * (input::bytes_of(keys_.rows.options) * 9 + questions * (paths * path + 512));
}

report::Plan CollectJob::plan(const run::PlanMachine& machine) const {
  rows::check_model_config(config_, keys_.rows.folder);
  check_inputs();
  return CollectPlan(config_, machine, read_collect_inputs(config_, keys_), disk_bytes()).make();
}

}  // namespace mgpu::jobs
