#include "export.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/half_float.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/formats/bit_pack.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/padded_lists.hpp>
#include <mgpu/store/results/read_texts.hpp>

namespace mgpu::jobs {
namespace {

bool has_list(const std::filesystem::path& results, const std::string& name) {
  const std::vector<std::string> lists = store::list_columns(results, "samples");
  return std::find(lists.begin(), lists.end(), name) != lists.end();
}

/// Reads what a run stored with teacher.targets=topk: the k() most probable tokens at each
/// position.
class StoredTopK {
public:
  explicit StoredTopK(const std::filesystem::path& results)
      : facts_(store::read_numbers(results, "teacher")),
        log_sums_(results, "samples", "log_sum_exp"),
        log_probs_(results, "samples", "topk_logprobs"),
        is_packed_(has_list(results, "topk_packed")),
        ids_(results, "samples", is_packed_ ? "topk_packed" : "topk_ids") {}

  std::int64_t samples() const { return log_probs_.rows(); }
  std::int64_t tokens_of(std::int64_t sample) const { return log_probs_.items_of(sample); }
  std::int64_t k() const { return log_probs_.spec().width; }
  std::int64_t fact(const char* name) const { return std::llround(facts_.at(name)); }

  std::int64_t longest() const {
    std::int64_t longest = 1;
    for (std::int64_t s = 0; s < samples(); ++s)
      longest = std::max(longest, tokens_of(s));
    return longest;
  }

  /// Returns log-probability + log-sum-exp of each stored token of a sample.
  /// Shapes: [tokens_of(sample), k()]
  std::vector<Half> logits(std::int64_t sample) const {
    const store::ReadLists log_probs = log_probs_.read(sample, 1);
    const store::ReadLists log_sums = log_sums_.read(sample, 1);
    const auto sums = log_sums.row<float>(0);
    std::vector<Half> logits;
    for (const Half log_prob : log_probs.row<Half>(0)) {
      const float sum = sums[logits.size() / static_cast<std::size_t>(k())];
      logits.push_back(Half::of(log_prob.value() + sum));
    }
    return logits;
  }

  /// Returns the ids of the stored tokens of a sample.
  /// Shapes: [tokens_of(sample), k()]
  std::vector<std::int32_t> ids(std::int64_t sample) const {
    const store::ReadLists stored = ids_.read(sample, 1);
    if (is_packed_) return unpacked(stored.row<std::uint8_t>(0));
    const auto ids = stored.row<std::uint32_t>(0);
    return {ids.begin(), ids.end()};
  }

private:
  std::vector<std::int32_t> unpacked(std::span<const std::uint8_t> bytes) const {
    const auto bytes_per_token = static_cast<std::size_t>(ids_.spec().width);
    const auto bits = static_cast<int>(fact("id_bits"));
    std::vector<std::int32_t> all;
    for (std::size_t begin = 0; begin < bytes.size(); begin += bytes_per_token) {
      const auto ids = formats::unpack_bits(bytes.subspan(begin, bytes_per_token), bits,
                                            static_cast<std::size_t>(k()));
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  }

  std::map<std::string, double> facts_;
  store::ListColumn log_sums_;
  store::ListColumn log_probs_;
  bool is_packed_;
  store::ListColumn ids_;
};

void write_targets(const StoredTopK& stored, const std::filesystem::path& out) {
  store::PaddedLists file(
      out, {stored.samples(), stored.longest(), stored.k()},
      {{"logits_values", store::ColumnType::f16}, {"logits_indices", store::ColumnType::i32}});
  std::vector<std::int32_t> lengths;
  for (std::int64_t s = 0; s < stored.samples(); ++s) {
    const std::vector<Half> logits = stored.logits(s);
    const std::vector<std::int32_t> ids = stored.ids(s);
    file.write(s, stored.tokens_of(s), {logits.data(), ids.data()});
    lengths.push_back(static_cast<std::int32_t>(stored.tokens_of(s)));
  }
  file.finish("seq_lengths", lengths);
}

/// Returns the name of the data set, or the path of the data file if the run has no data set.
std::string source_of(const Config& config) {
  const datasets::DatasetEntry* dataset = datasets::dataset_of(config);
  return dataset == nullptr ? read_data_path(config) : std::string(dataset->name);
}

}  // namespace

std::int64_t export_padded_targets(const run::ExportRequest& request) {
  if (!has_list(request.results, "topk_logprobs")) {
    throw Failure({"E533",
                   ExitCode::data,
                   "the file has no top k, and padded-h5 holds only a top k",
                   {"  --> " + request.results.string()},
                   "--export jsonl; or a run of job teacher with teacher.targets=topk"});
  }
  const StoredTopK stored(request.results);
  write_targets(stored, request.out);
  const formats::JsonValue::Members facts{
      {"num_samples", stored.samples()},
      {"max_seq_length", stored.longest()},
      {"top_k", stored.k()},
      {"vocab_size", stored.fact("vocab_size")},
      {"teacher_model", rows::read_model_path(request.config).string()},
      {"dataset_name", source_of(request.config)},
      {"dataset_config", nullptr},
      {"dataset_split", nullptr}};
  write_file_durably(request.results.parent_path() / "metadata.json", formats::to_json(facts),
                     "export");
  return stored.samples();
}

}  // namespace mgpu::jobs
