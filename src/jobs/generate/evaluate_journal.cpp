// Reads what an evaluation needs: columns of the journal, and the rows of the input.
#include <cstddef>
#include <string_view>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/read_chunks.hpp>

#include "evaluation.hpp"

namespace mgpu::jobs {
namespace {

/// Returns the names of the columns that evaluate_rows() uses.
std::vector<std::string> used_columns(const store::TableSpec& table) {
  std::vector<std::string> names;
  for (const store::ColumnSpec& column : table.columns) {
    const bool is_used = column.name == "prompt_index" || column.name == "score" ||
                         column.name == "same_as" || column.name == "kl" ||
                         column.name == "search_score" || column.name.starts_with("reward");
    if (is_used && !column.has_lists()) names.push_back(column.name);
  }
  return names;
}

/// Returns the checksum of the prompt in a row. --compare uses it to check that two runs have the
/// same prompts.
std::int64_t checksum_of(const input::Row& row) {
  for (const char* name : {"prompt", "messages", "token_ids"})
    if (const formats::JsonValue* value = row.object.find(name))
      return crc32c(formats::to_json_line(*value));
  return 0;
}

std::string group_of(const input::Row& row) {
  const formats::JsonValue* group = row.object.find("group");
  if (group == nullptr || group->is_null()) return "";
  return group->text() != nullptr ? *group->text() : formats::to_json_line(*group);
}

/// Reads the rows of the prompts from the input, and sets Evaluation::checksums and
/// Evaluation::groups on all ranks. Each rank reads only some of the rows.
/// Ranks: collective over `world`.
void add_row_facts(const cluster::Group& world, const GenerateInputs& inputs,
                   Evaluation& evaluation) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto rank = static_cast<std::size_t>(world.rank());
  const std::size_t count = evaluation.prompts.size();
  formats::JsonValue::List checksums;
  formats::JsonValue::List groups;
  cluster::run_together(world, [&] {
    for (std::size_t i = count * rank / ranks; i < count * (rank + 1) / ranks; ++i) {
      const input::Row row = inputs.rows.read(evaluation.prompts[i], 1).front();
      checksums.emplace_back(checksum_of(row));
      groups.emplace_back(group_of(row));
      mark_progress();
    }
  });
  const std::string mine = formats::to_json_line(
      formats::JsonValue::Members{{"checksums", checksums}, {"groups", groups}},
      formats::BadUtf8::replace);
  for (const std::string& theirs : world.all_gather(std::string_view(mine))) {
    const formats::JsonValue facts = formats::parse_json_object(theirs);
    for (const auto checksum : facts.get<std::vector<std::int64_t>>("checksums"))
      evaluation.checksums.push_back(checksum);
    for (std::string& group : facts.get<std::vector<std::string>>("groups"))
      evaluation.groups.push_back(std::move(group));
  }
}

}  // namespace

std::optional<Evaluation> evaluate_journal(const cluster::Group& world,
                                           const store::ChunkJournal& journal,
                                           const store::ChunkedTable& table,
                                           const GenerateInputs& inputs) {
  const std::vector<std::string> names = used_columns(table.spec);
  if (names.size() == 1) return std::nullopt;  // only prompt_index
  const store::ReadTable rows = store::read_chunks(world, journal, table, names);
  std::optional<SearchKind> search;
  if (inputs.keys.search) search = inputs.keys.search->kind;
  std::optional<Evaluation> evaluation;
  cluster::run_together(world, [&] { evaluation = evaluate_rows(rows, search); });
  add_row_facts(world, inputs, *evaluation);
  return evaluation;
}

}  // namespace mgpu::jobs
