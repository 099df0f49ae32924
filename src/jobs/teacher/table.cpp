#include "table.hpp"

#include <algorithm>
#include <string>

#include <mgpu/formats/bit_pack.hpp>
#include <mgpu/store/results/columns.hpp>

namespace mgpu::jobs {
namespace {

/// A sample and its targets, both of which must outlive this object.
struct TeacherRow {
  const TeacherSample* sample = nullptr;
  const TokenTargets* targets = nullptr;
};

using Columns = store::Columns<TeacherRow>;

/// Returns for each token the ids of the `best` most probable predictions, packed into `bits` bits
/// per id.
/// Shapes: [tokens, bytes of the packed ids of one token]
std::vector<std::uint8_t> packed_best(const TokenTargets& targets, std::size_t best, int bits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t begin = 0; begin < targets.ids.size(); begin += best) {
    const auto packed = formats::pack_bits(std::span(targets.ids).subspan(begin, best), bits);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
  }
  return bytes;
}

/// Returns TokenTargets::drawn_ids and TokenTargets::drawn_counts as one stream of bits, in which
/// ids and counts alternate.
std::vector<std::uint8_t> packed_draws(const TokenTargets& targets, int id_bits, int count_bits) {
  const auto shift = static_cast<unsigned>(id_bits);
  std::vector<std::uint32_t> draws;
  for (std::size_t i = 0; i < targets.drawn_ids.size(); ++i)
    draws.push_back(targets.drawn_ids[i] | std::uint32_t{targets.drawn_counts[i]} << shift);
  return formats::pack_bits(draws, id_bits + count_bits);
}

std::int64_t kept(const TeacherConfig& config, std::int64_t vocab) {
  return std::min(config.top_k, vocab);
}

int id_bits(std::int64_t vocab) {
  return formats::bits_for(static_cast<std::uint64_t>(vocab));
}

int count_bits(const TeacherConfig& config) {
  return formats::bits_for(static_cast<std::uint64_t>(config.num_draws) + 1);
}

std::int64_t packed_width(const TeacherConfig& config, std::int64_t vocab) {
  return (kept(config, vocab) * id_bits(vocab) + 7) / 8;
}

/// Adds columns for the most probable tokens (teacher.targets=topk).
void add_best_columns(Columns& columns, const TeacherConfig& config, std::int64_t vocab) {
  using Row = TeacherRow;
  const std::int64_t k = kept(config, vocab);
  const int bits = id_bits(vocab);
  if (config.is_packed) {
    columns.add(
        {"topk_packed",
         "most probable tokens, " + std::to_string(bits) + " bits each, lowest bits first"},
        [k, bits](const Row& row) {
          return packed_best(*row.targets, static_cast<std::size_t>(k), bits);
        },
        packed_width(config, vocab));
  } else {
    columns.add(
        {"topk_ids", "most probable next tokens at each token, equal ones by ascending id"},
        [](const Row& row) { return row.targets->ids; }, k);
    columns.add({"tail_mass", "probability of all other tokens"},
                [](const Row& row) { return row.targets->tail_mass; });
  }
  columns.add(
      {"topk_logprobs", "their log-probabilities", "nats"},
      [](const Row& row) { return row.targets->log_probs; }, k);
}

/// Adds columns for the drawn tokens (teacher.targets=random_sampling).
void add_drawn_columns(Columns& columns, const TeacherConfig& config, std::int64_t vocab) {
  using Row = TeacherRow;
  columns.add({"num_drawn", "different next tokens drawn at each token"},
              [](const Row& row) { return row.targets->num_drawn; });
  if (config.is_packed) {
    const int ids = id_bits(vocab);
    const int counts = count_bits(config);
    columns.add(
        {"drawn_packed", std::to_string(ids) + " bits of id and " + std::to_string(counts) +
                             " bits of count for each drawn token of the sample, lowest first"},
        [ids, counts](const Row& row) { return packed_draws(*row.targets, ids, counts); });
    return;
  }
  columns.add({"drawn_ids", "drawn tokens, num_drawn for each"},
              [](const Row& row) { return row.targets->drawn_ids; });
  columns.add({"drawn_counts", "how often each was drawn"},
              [](const Row& row) { return row.targets->drawn_counts; });
}

void add_target_columns(Columns& columns, const TeacherConfig& config, std::int64_t vocab) {
  columns.add({"log_sum_exp", "log of the sum of exp over all logits at each token", "nats"},
              [](const TeacherRow& row) { return row.targets->log_sums; });
  if (config.has_draws)
    add_drawn_columns(columns, config, vocab);
  else
    add_best_columns(columns, config, vocab);
}

Columns columns_of(const TeacherConfig& config, std::int64_t vocab,
                   const std::vector<std::string>& kept_names) {
  using Row = TeacherRow;
  Columns columns;
  columns.add({"n_tokens", "tokens that the teacher saw", "tokens"}, [](const Row& row) {
    return static_cast<std::int32_t>(row.sample->text.ids.size());
  });
  columns.add({"all_tokens", "tokens of the whole sample", "tokens"},
              [](const Row& row) { return row.sample->all_tokens; });
  columns.add({"token_ids", "tokens of the sample"}, [](const Row& row) {
    const std::vector<std::int64_t>& ids = row.sample->text.ids;
    return std::vector<std::int32_t>(ids.begin(), ids.end());
  });
  columns.add({"is_learned", "1: part of a completion, an answer or a text; 0: of a prompt"},
              [](const Row& row) { return row.sample->text.is_learned; });
  add_target_columns(columns, config, vocab);
  rows::add_row_columns(columns, kept_names,
                        [](const Row& row) -> const rows::RowFacts& { return row.sample->facts; });
  return columns;
}

}  // namespace

store::TableSpec teacher_table(std::int64_t rows, const TeacherConfig& config, std::int64_t vocab,
                               const std::vector<std::string>& kept) {
  return columns_of(config, vocab, kept).table("samples", rows);
}

std::int64_t target_bytes(const TeacherConfig& config, std::int64_t vocab) {
  if (config.has_draws) return 0;
  Columns columns;
  add_target_columns(columns, config, vocab);
  std::size_t bytes = 0;
  for (const store::ColumnSpec& column : columns.table("targets", 0).columns)
    bytes += column.row_bytes();
  return static_cast<std::int64_t>(bytes);
}

double drawn_bytes(const TeacherConfig& config, std::int64_t vocab) {
  const auto most = static_cast<double>(std::min(config.num_draws, vocab));
  if (config.is_packed) return most * (id_bits(vocab) + count_bits(config)) / 8.0;
  double bytes = 0.0;
  for (const store::ColumnSpec& column : teacher_table(1, config, vocab, {}).columns)
    if (column.name.starts_with("drawn_")) bytes += most * static_cast<double>(column.row_bytes());
  return bytes;
}

std::vector<std::byte> teacher_rows(const TeacherInputs& inputs, std::int64_t first,
                                    std::span<const TeacherSample> samples,
                                    std::span<const TokenTargets> targets) {
  std::vector<TeacherRow> rows;
  for (std::size_t i = 0; i < samples.size(); ++i)
    rows.push_back({&samples[i], &targets[i]});
  const Columns columns = columns_of(inputs.config, inputs.model.vocab, inputs.kept.names());
  return columns.encode(columns.table("samples", inputs.rows.rows()), first, rows);
}

}  // namespace mgpu::jobs
