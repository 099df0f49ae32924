#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/model_plan.hpp>

#include "inputs.hpp"
#include "job.hpp"
#include "other_models.hpp"
#include "reference.hpp"
#include "search_scores.hpp"

namespace mgpu::jobs {
namespace {

using report::Plan;

std::string tokenizer_text(const rows::ModelRowKeys& keys) {
  const auto files = rows::read_tokenizer_files(keys.folder, keys.chat);
  if (!files) return "no tokenizer.json: token_ids only";
  const text::TextFolder text = text::parse_text_folder(*files, keys.folder);
  return report::counted(static_cast<std::int64_t>(text.tokenizer.vocab_size()), "token") +
         (text.chat_template.empty() ? ", no chat template" : ", with a chat template");
}

/// Tokenizes all prompts, and describes their lengths.
/// Ranks: local; only rank 0 calls this function.
std::string prompts_text(const GenerateInputs& inputs) {
  const std::vector<std::int64_t> counts = count_tokens(inputs);
  const std::int64_t tokens = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t bad = std::ranges::count(counts, 0);
  return report::counted(inputs.prompts(), "prompt") + ", " + report::counted(tokens, "token") +
         ", the longest " + report::grouped(*std::ranges::max_element(counts)) +
         (bad > 0 ? "; " + report::grouped(bad) + " rows cannot be used" : "");
}

/// Builds the report that --plan shows for a run.
class GeneratePlan {
public:
  GeneratePlan(const Config& config, const run::PlanMachine& machine, GenerateInputs inputs,
               std::uint64_t disk_bytes)
      : config_(config),
        machine_(machine),
        inputs_(std::move(inputs)),
        counts_(count_tokens(inputs_)),
        disk_bytes_(disk_bytes),
        plan_(config, inputs_.keys.run, inputs_.keys.rows.model, machine, work()) {}

  Plan make() {
    Plan& plan = plan_.plan();
    plan.notes = {sampling_text(inputs_.keys, inputs_.config)};
    for (std::string note :
         {scoring_note(config_, inputs_.keys),
          unused_note(inputs_.config, inputs_.model.generation), answer_note(inputs_)})
      if (!note.empty()) plan.notes.push_back(std::move(note));
    plan_.add_shares();
    plan_.find_batch(inputs_.config.has_auto_batch);
    plan_.add_memory();
    add_times();
    plan_.add_limits();
    return std::move(plan);
  }

private:
  std::int64_t new_tokens() const { return inputs_.config.generation.max_new_tokens; }

  /// Returns the bytes that the weights of the reference model take on each rank; 0 without one.
  std::uint64_t reference_bytes() const {
    if (!inputs_.keys.has_reference()) return 0;
    const std::int64_t parameters = run::num_parameters(lm::read_lm_config(inputs_.keys.reference));
    const std::int64_t bytes = inputs_.keys.rows.model.matrices == lm::MatrixType::bf16 ? 2 : 4;
    return static_cast<std::uint64_t>(parameters * bytes /
                                      inputs_.keys.rows.model.group_sizes.front());
  }

  /// Returns how many bytes the guide's offsets for one completion take. Returns 0 without a
  /// reference, because the offsets are kept only for the KL from the reference.
  std::int64_t kept_offset_bytes() const {
    if (!inputs_.guide || !inputs_.keys.has_reference()) return 0;
    return new_tokens() * inputs_.keys.guide->settings.candidates * 8;
  }

  run::ModelPlan::Work work() const {
    const std::int64_t longest = *std::ranges::max_element(counts_);
    const lm::MemoryDemand demand = this->demand(longest);
    const std::int64_t rows = run::rows_at_once(inputs_.counts(), demand.batch_size);
    const std::int64_t samples = rows * inputs_.config.num_samples;
    // For each token of the prompts and completions, the results contain its id, its
    // log-probability and its text.
    const std::int64_t tokens = samples * (longest + new_tokens());
    return {.model = inputs_.model,
            .demand = demand,
            .names = kCompletions,
            .unit = "prompts",
            .samples = inputs_.prompts(),
            .other_bytes = static_cast<std::uint64_t>(tokens * 16 + samples * kept_offset_bytes()),
            .other_name = "results of a chunk",
            .other_models = {{"reward model",
                              rows::reward_model_bytes(inputs_.keys.rewards, machine_.device)},
                             {"model of generate.reward.path", search_bytes()},
                             {"reference", reference_bytes()},
                             {"guide", guide_bytes()}},
            .disk = disk_bytes_};
  }

  std::uint64_t search_bytes() const {
    const std::optional<SearchKeys>& search = inputs_.keys.search;
    return search ? rows::reward_model_bytes(reward_settings_of(*search), machine_.device) : 0;
  }

  std::uint64_t guide_bytes() const {
    if (!inputs_.guide) return 0;
    lm::MemoryDemand demand;
    demand.device = machine_.device;
    demand.matrices = inputs_.keys.rows.model.matrices;
    return static_cast<std::uint64_t>(guide_weights(*inputs_.guide, demand));
  }

  /// Returns the memory demand of a batch, including the guide and the reference.
  lm::MemoryDemand demand(std::int64_t longest) const {
    lm::MemoryDemand demand = inputs_.demand(machine_.device, longest);
    if (!inputs_.keys.has_divergence()) return demand;
    std::vector<std::function<std::int64_t(const lm::MemoryDemand&)>> all;
    if (inputs_.guide)
      all.emplace_back(
          [guide = *inputs_.guide, candidates = inputs_.keys.guide->settings.candidates](
              const lm::MemoryDemand& of) { return guide_batch_bytes(guide, candidates, of); });
    if (inputs_.keys.has_reference()) {
      const auto part_of = [&](const lm::LmConfig& config, const lm::GroupPlan& plan) {
        return largest_part(config, plan, inputs_.keys.rows.model.group_sizes.front());
      };
      all.emplace_back([model = part_of(inputs_.model, inputs_.keys.rows.model.plan),
                        reference = part_of(lm::read_lm_config(inputs_.keys.reference),
                                            {inputs_.keys.rows.model.plan.split, {}}),
                        new_tokens = new_tokens()](const lm::MemoryDemand& of) {
        return divergence_batch_bytes(model, reference, new_tokens, of);
      });
    }
    demand.others = [all](const lm::MemoryDemand& of) {
      std::int64_t bytes = 0;
      for (const auto& bytes_of : all)
        bytes += bytes_of(of);
      return bytes;
    };
    return demand;
  }

  /// Adds the time of the guide. For each new token, the guide processes all candidates, and then
  /// the drawn token.
  void add_guiding_time() {
    if (!inputs_.guide) return;
    const auto parameters = static_cast<double>(run::num_parameters(*inputs_.guide));
    const std::int64_t each = inputs_.keys.guide->settings.candidates + 1;
    const auto tokens = static_cast<double>(inputs_.samples() * new_tokens() * each);
    plan_.add_time("guide", 2.0 * parameters * tokens / machine_.ranks / plan_.rates().prompt_flops,
                   report::text_of("%.3g tokens at most, which include %lld candidates each",
                                   tokens, static_cast<long long>(each - 1)));
  }

  void add_times() {
    double prompt_tokens = 0.0;
    for (const std::int64_t count : counts_)
      prompt_tokens += static_cast<double>(count);
    const auto parameters = static_cast<double>(run::num_parameters(inputs_.model));
    const run::ModelPlan::Rates& rates = plan_.rates();
    plan_.add_time("prompts",
                   2.0 * parameters * prompt_tokens / machine_.ranks / rates.prompt_flops,
                   report::text_of("%.3g tokens, %.0e FLOP/s on %s", prompt_tokens,
                                   rates.prompt_flops, rates.on));
    if (new_tokens() > 0) {
      const lm::MemoryDemand& demand = plan_.demand();
      const double passes = static_cast<double>(inputs_.samples() * new_tokens()) /
                            static_cast<double>(demand.batch_size) / machine_.ranks;
      const double bytes = demand.matrices == lm::MatrixType::bf16 ? 2.0 : 4.0;
      plan_.add_time(
          "completions", passes * parameters * bytes / rates.decode_bytes,
          report::text_of("%.3g passes of a rank at most, which read all weights at %.0f GB/s",
                          passes, 1e-9 * rates.decode_bytes));
    }
    add_guiding_time();
    plan_.add_seal_time();
  }

  const Config& config_;
  const run::PlanMachine& machine_;
  GenerateInputs inputs_;
  std::vector<std::int64_t> counts_;  // tokens of each prompt
  std::uint64_t disk_bytes_;
  run::ModelPlan plan_;
};

}  // namespace

void GenerateJob::check_files() const {
  check_all({[&] { rows::check_model_folder(config_, keys_.rows.folder); },
             [&] {
               if (keys_.guide)
                 check_guide_files(config_, *keys_.guide, keys_.rows.folder,
                                   /*needs_weights=*/true);
             },
             [&] {
               if (keys_.search)
                 check_search_files(config_, *keys_.search, keys_.rows.folder,
                                    /*needs_weights=*/true);
             },
             [&] {
               if (keys_.has_reference())
                 check_reference_folder(config_, keys_.rows.folder, keys_.reference,
                                        /*needs_weights=*/true);
             },
             [&] {
               check_inputs();
               rows::check_reward_weights(config_, keys_.rewards);
             }});
}

void GenerateJob::check_inputs() const {
  rows::check_chat_template(config_, keys_.rows.folder, keys_.rows.chat);
  rows::check_data_file(config_, keys_.rows.options,
                        "data.path is a file of rows: JSON Lines, CSV or Parquet");
  rewards::check_rewards(keys_.rewards);
  rows::check_reward_config(config_, keys_.rewards);
}

std::vector<run::FileCheck> GenerateJob::file_checks() const {
  std::vector<run::FileCheck> checks = {
      {keys_.rows.folder.string(),
       [this](const cluster::Group& world) {
         return cluster::on_rank_0(world, [&] {
           rows::check_model_folder(config_, keys_.rows.folder);
           return rows::describe_model(keys_.rows.folder) + "; " + tokenizer_text(keys_.rows);
         });
       }},
      {keys_.rows.options.source(), [this](const cluster::Group& world) {
         return cluster::on_rank_0(
             world, [&] { return prompts_text(read_generate_inputs(config_, keys_)); });
       }}};
  if (keys_.search)
    checks.push_back({keys_.search->folder.string(), [this](const cluster::Group& world) {
                        return cluster::on_rank_0(world, [&] {
                          check_search_files(config_, *keys_.search, keys_.rows.folder,
                                             /*needs_weights=*/true);
                          return "model of generate.reward.path: " +
                                 rows::describe_model(keys_.search->folder);
                        });
                      }});
  if (!keys_.rewards.has_model()) return checks;
  checks.push_back({keys_.rewards.model.string(), [this](const cluster::Group& world) {
                      return cluster::on_rank_0(world, [&] {
                        rows::check_reward_config(config_, keys_.rewards);
                        rows::check_reward_weights(config_, keys_.rewards);
                        return "reward model: " + rows::describe_model(keys_.rewards.model);
                      });
                    }});
  return checks;
}

std::uint64_t GenerateJob::disk_bytes() const {
  const auto prompts = static_cast<std::uint64_t>(count_prompts(keys_));
  if (prompts == 0) return 0;  // no rows, or an unreadable file, which --check reports elsewhere
  const std::uint64_t text = input::bytes_of(keys_.rows.options);
  const auto new_tokens = static_cast<std::uint64_t>(keys_.max_new_tokens);
  const auto samples = static_cast<std::uint64_t>(keys_.num_samples);
  // A byte of the input becomes at most one token. For this token, the results contain an id and a
  // log-probability (8 bytes), and the byte itself. A token of a completion has about eight bytes
  // of text in addition to its id and log-probability.
  const std::uint64_t row = new_tokens * (keys_.has_divergence() ? 20 : 16) + 256;
  return 2 * samples * (text * 9 + prompts * row);
}

report::Plan GenerateJob::plan(const run::PlanMachine& machine) const {
  rows::check_model_config(config_, keys_.rows.folder);
  if (keys_.guide)
    check_guide_files(config_, *keys_.guide, keys_.rows.folder, /*needs_weights=*/false);
  if (keys_.search)
    check_search_files(config_, *keys_.search, keys_.rows.folder, /*needs_weights=*/false);
  if (keys_.has_reference())
    check_reference_folder(config_, keys_.rows.folder, keys_.reference, /*needs_weights=*/false);
  check_inputs();
  return GeneratePlan(config_, machine, read_generate_inputs(config_, keys_), disk_bytes()).make();
}

}  // namespace mgpu::jobs
