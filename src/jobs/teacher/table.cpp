#include "table.hpp"

#include <algorithm>

#include <mgpu/formats/bit_pack.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>

namespace mgpu::jobs {
namespace {

using store::ColumnType;

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& ids) {
  return {ids.begin(), ids.end()};
}

/// The ids of each token, packed on their own: row t of [T, bytes].
std::vector<std::uint8_t> packed_best(const TokenTargets& targets, std::size_t best, int bits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t begin = 0; begin < targets.ids.size(); begin += best) {
    const auto packed = formats::pack_bits(std::span(targets.ids).subspan(begin, best), bits);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
  }
  return bytes;
}

/// All draws of a sample in one stream: id, then count, in turn.
std::vector<std::uint8_t> packed_draws(const TokenTargets& targets, int id_bits, int count_bits) {
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i < targets.drawn_ids.size(); ++i)
    words.push_back(targets.drawn_ids[i] | targets.drawn_counts[i] << id_bits);
  return formats::pack_bits(words, id_bits + count_bits);
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

void add_target_columns(store::TableSpec& spec, const TeacherConfig& config, std::int64_t vocab) {
  const std::int64_t k = kept(config, vocab);
  auto& columns = spec.columns;
  columns.push_back({"log_sum_exp", ColumnType::f32, 1,
                     "log of the sum of exp over all logits behind each token", "nats", true});
  if (config.has_draws) {
    columns.push_back({"num_drawn", ColumnType::u8, 1,
                       "different tokens that were drawn behind each token", "", true});
    if (config.is_packed) {
      columns.push_back({"drawn_packed", ColumnType::u8, 1,
                         std::to_string(id_bits(vocab)) + " bits of id and " +
                             std::to_string(count_bits(config)) +
                             " bits of count for each drawn token of the sample, lowest first",
                         "", true});
      return;
    }
    columns.push_back(
        {"drawn_ids", ColumnType::u32, 1, "drawn tokens, num_drawn for each", "", true});
    columns.push_back({"drawn_counts", ColumnType::u8, 1, "how often each was drawn", "", true});
    return;
  }
  if (config.is_packed) {
    columns.push_back({"topk_packed", ColumnType::u8, packed_width(config, vocab),
                       "most probable tokens, " + std::to_string(id_bits(vocab)) +
                           " bits each, lowest bits first",
                       "", true});
  } else {
    columns.push_back({"topk_ids", ColumnType::u32, k,
                       "most probable tokens behind each token, equal ones by ascending id", "",
                       true});
    columns.push_back(
        {"tail_mass", ColumnType::f32, 1, "probability of all other tokens", "", true});
  }
  columns.push_back({"topk_logprobs", ColumnType::f16, k, "their log-probabilities", "nats", true});
}

/// Columns of targets, list by list.
class TargetColumns {
public:
  TargetColumns(const TeacherConfig& config, std::int64_t vocab) : config_(config), vocab_(vocab) {}

  void add(const TokenTargets& targets) {
    log_sums_.push_back(targets.log_sums);
    if (config_.has_draws) {
      num_drawn_.push_back(targets.num_drawn);
      if (config_.is_packed)
        return packed_.push_back(packed_draws(targets, id_bits(vocab_), count_bits(config_)));
      ids_.push_back(targets.drawn_ids);
      return counts_.push_back(targets.drawn_counts);
    }
    log_probs_.push_back(targets.log_probs);
    if (config_.is_packed)
      return packed_.push_back(
          packed_best(targets, static_cast<std::size_t>(kept(config_, vocab_)), id_bits(vocab_)));
    ids_.push_back(targets.ids);
    tails_.push_back(targets.tail_mass);
  }

  void encode(store::ChunkEncoder& rows) const {
    put(rows, "log_sum_exp", log_sums_);
    if (config_.has_draws) {
      put(rows, "num_drawn", num_drawn_);
      if (config_.is_packed) return put(rows, "drawn_packed", packed_);
      put(rows, "drawn_ids", ids_);
      return put(rows, "drawn_counts", counts_);
    }
    put(rows, "topk_logprobs", log_probs_);
    if (config_.is_packed) return put(rows, "topk_packed", packed_);
    put(rows, "topk_ids", ids_);
    put(rows, "tail_mass", tails_);
  }

private:
  template <class T>
  static void put(store::ChunkEncoder& rows, const char* name,
                  const std::vector<std::vector<T>>& lists) {
    rows.lists(name, std::span<const std::vector<T>>(lists));
  }

  const TeacherConfig& config_;
  std::int64_t vocab_;
  std::vector<std::vector<float>> log_sums_;
  std::vector<std::vector<std::uint32_t>> ids_;
  std::vector<std::vector<Half>> log_probs_;
  std::vector<std::vector<float>> tails_;
  std::vector<std::vector<std::uint8_t>> num_drawn_;
  std::vector<std::vector<std::uint8_t>> counts_;
  std::vector<std::vector<std::uint8_t>> packed_;
};

}  // namespace

store::TableSpec teacher_table(std::int64_t rows, const TeacherConfig& config, std::int64_t vocab) {
  store::TableSpec spec{
      .path = "samples",
      .rows = rows,
      .columns = {{"n_tokens", ColumnType::i32, 1, "tokens that the teacher saw", "tokens"},
                  {"all_tokens", ColumnType::i64, 1, "tokens of the whole sample", "tokens"},
                  {"status", ColumnType::u8, 1,
                   "0 whole, 1 cut at data.max_length, 2 left out for its length, 3 a row that "
                   "cannot be used",
                   ""},
                  {"reason", ColumnType::text, 1, "why it is not whole", ""},
                  {"token_ids", ColumnType::i32, 1, "tokens of the sample", "", true},
                  {"is_learned", ColumnType::u8, 1,
                   "1: part of a completion, an answer or a text; 0: of a prompt", "", true}},
      .signal = "",
      .axis = ""};
  add_target_columns(spec, config, vocab);
  return spec;
}

std::int64_t target_bytes(const TeacherConfig& config, std::int64_t vocab) {
  if (config.has_draws) return 0;
  store::TableSpec spec;
  add_target_columns(spec, config, vocab);
  std::size_t bytes = 0;
  for (const store::ColumnSpec& column : spec.columns)
    bytes += column.row_bytes();
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::byte> teacher_rows(const store::TableSpec& spec, std::int64_t first,
                                    std::span<const TeacherSample> samples,
                                    std::span<const TokenTargets> targets,
                                    const TeacherConfig& config, std::int64_t vocab) {
  std::vector<std::int32_t> num_tokens;
  std::vector<std::int64_t> all_tokens;
  std::vector<std::uint8_t> status;
  std::vector<std::string> reasons;
  std::vector<std::vector<std::int32_t>> ids;
  std::vector<std::vector<std::uint8_t>> is_learned;
  TargetColumns columns(config, vocab);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    num_tokens.push_back(static_cast<std::int32_t>(samples[i].text.ids.size()));
    all_tokens.push_back(samples[i].all_tokens);
    status.push_back(static_cast<std::uint8_t>(samples[i].status));
    reasons.push_back(samples[i].reason);
    ids.push_back(narrow(samples[i].text.ids));
    is_learned.push_back(samples[i].text.is_learned);
    columns.add(targets[i]);
  }
  store::ChunkEncoder rows(spec, first, std::ssize(samples));
  rows.column("n_tokens", std::span<const std::int32_t>(num_tokens));
  rows.column("all_tokens", std::span<const std::int64_t>(all_tokens));
  rows.column("status", std::span<const std::uint8_t>(status));
  rows.text("reason", reasons);
  rows.lists("token_ids", std::span<const std::vector<std::int32_t>>(ids));
  rows.lists("is_learned", std::span<const std::vector<std::uint8_t>>(is_learned));
  columns.encode(rows);
  return rows.finish();
}

}  // namespace mgpu::jobs
