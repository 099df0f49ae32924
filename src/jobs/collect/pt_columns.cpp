#include "pt_columns.hpp"

#include <mgpu/formats/json_value.hpp>

#include "tree_lists.hpp"

namespace mgpu::jobs {

PtColumns::PtColumns(const std::filesystem::path& file, const AgentKeys& agents)
    : numbers(store::read_table(file, "samples")),
      prompts(file, "samples", "prompt"),
      gold_answers(file, "samples", "answer"),
      answers(file, "samples", "answers"),
      steps(file, "samples", "steps"),
      path_right(file, "samples", "path_right"),
      node_path(file, "samples", "node_path"),
      node_step(file, "samples", "node_step"),
      parents(file, "samples", "node_parent"),
      values(file, "samples", "node_value"),
      errors(file, "samples", "node_std_error"),
      visits(file, "samples", "node_visits"),
      right(file, "samples", "node_right") {
  if (agents.is_used) {
    votes.emplace(file, "samples", "vote");
    agent_of.emplace(file, "samples", "node_agent");
    scores.emplace(file, "samples", "node_score");
  }
  if (store::has_lists(file, "samples", "latents")) {
    latent_steps.emplace(file, "samples", "node_latents");
    latents.emplace(file, "samples", "latents");
  }
  check();
}

void PtColumns::check() const {
  for (const store::TextColumn* column : {&prompts, &gold_answers, &answers, &steps})
    column->check_bytes();
  if (votes) votes->check_bytes();
  for (const Lists* column :
       {&path_right, &node_path, &node_step, &parents, &values, &errors, &visits, &right})
    column->check_bytes();
  for (const std::optional<Lists>* column : {&agent_of, &scores, &latent_steps, &latents})
    if (*column) (*column)->check_bytes();
}

PtRow PtColumns::read(std::int64_t row) const {
  PtRow read{values_in<std::int32_t>(node_path, row), values_in<std::int32_t>(node_step, row),
             values_in<std::int32_t>(parents, row),   values_in<double>(values, row),
             values_in<double>(errors, row),          values_in<std::int32_t>(visits, row),
             values_in<std::int32_t>(right, row)};
  if (agent_of) read.agent = values_in<std::int32_t>(*agent_of, row);
  if (scores) read.score = values_in<double>(*scores, row);
  read.steps = parse_list<std::vector<std::vector<std::string>>>(steps.read(row, 1).at(0));
  read.answers = parse_list<std::vector<std::string>>(answers.read(row, 1).at(0));
  read.path_right = values_in<std::uint8_t>(path_right, row);
  return read;
}

}  // namespace mgpu::jobs
