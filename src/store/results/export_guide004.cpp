#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/bit_pack.hpp>
#include <mgpu/store/results/export_guide004.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "hdf5.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;
using Sizes3 = std::array<hsize_t, 3>;

constexpr unsigned kGzip = 4;

/// The stored top k, sample by sample.
class StoredBest {
public:
  explicit StoredBest(const std::filesystem::path& results)
      : facts_(read_numbers(results, "teacher")),
        log_sums_(results, "log_sum_exp"),
        log_probs_(results, "topk_logprobs"),
        is_packed_(has_list(results, "topk_packed")),
        ids_(results, is_packed_ ? "topk_packed" : "topk_ids") {}

  std::int64_t samples() const { return log_probs_.rows(); }
  std::int64_t tokens_of(std::int64_t sample) const { return log_probs_.items_of(sample); }
  std::int64_t best() const { return log_probs_.spec().width; }
  std::int64_t fact(const char* name) const { return std::llround(facts_.at(name)); }

  std::int64_t longest() const {
    std::int64_t longest = 1;  // HDF5 has no chunks of nothing
    for (std::int64_t s = 0; s < samples(); ++s)
      longest = std::max(longest, tokens_of(s));
    return longest;
  }

  /// [tokens, K] each.
  std::vector<Half> logits(std::int64_t sample) const {
    const ReadLists log_probs = log_probs_.read(sample, 1);
    const ReadLists log_sums = log_sums_.read(sample, 1);
    const auto sums = log_sums.row<float>(0);
    std::vector<Half> logits;
    for (const Half log_prob : log_probs.row<Half>(0)) {
      const float sum = sums[logits.size() / static_cast<std::size_t>(best())];
      logits.push_back(Half::of(log_prob.value() + sum));
    }
    return logits;
  }

  std::vector<std::int32_t> ids(std::int64_t sample) const {
    const ReadLists stored = ids_.read(sample, 1);
    if (!is_packed_) {
      const auto ids = stored.row<std::uint32_t>(0);
      return {ids.begin(), ids.end()};
    }
    std::vector<std::int32_t> all;
    const auto width = static_cast<std::size_t>(ids_.spec().width);
    const auto bytes = stored.row<std::uint8_t>(0);
    const auto bits = static_cast<int>(fact("id_bits"));
    for (std::size_t begin = 0; begin < bytes.size(); begin += width) {
      const auto ids =
          formats::unpack_bits(bytes.subspan(begin, width), bits, static_cast<std::size_t>(best()));
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  }

  static bool has_list(const std::filesystem::path& results, const std::string& name) {
    const std::vector<std::string> lists = list_columns(results);
    return std::find(lists.begin(), lists.end(), name) != lists.end();
  }

private:
  std::map<std::string, double> facts_;
  ListColumn log_sums_;
  ListColumn log_probs_;
  bool is_packed_;
  ListColumn ids_;
};

/// A data set [N, L, K] that is written sample by sample; what is not written reads as 0.
class PaddedDataset {
public:
  PaddedDataset(hid_t file, const char* name, ColumnType type, const Sizes3& sizes)
      : type_(hdf5::number_type(type)), best_(sizes[2]) {
    const Hid space = hdf5::own(H5Screate_simple(3, sizes.data(), nullptr));
    const Hid creation = hdf5::own(H5Pcreate(H5P_DATASET_CREATE));
    const Sizes3 chunk{1, sizes[1], sizes[2]};
    hdf5::check(H5Pset_chunk(creation.get(), 3, chunk.data()));
    hdf5::check(H5Pset_deflate(creation.get(), kGzip));
    hdf5::check(H5Pset_obj_track_times(creation.get(), false));
    dataset_ = hdf5::own(
        H5Dcreate2(file, name, type_, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  }

  void write(std::int64_t sample, std::size_t tokens, const void* values) const {
    if (tokens == 0) return;
    const Sizes3 first{static_cast<hsize_t>(sample), 0, 0};
    const Sizes3 count{1, tokens, best_};
    const Hid space = hdf5::own(H5Dget_space(dataset_.get()));
    hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr,
                                    count.data(), nullptr));
    const Hid memory = hdf5::own(H5Screate_simple(3, count.data(), nullptr));
    hdf5::check(H5Dwrite(dataset_.get(), type_, memory.get(), space.get(), H5P_DEFAULT, values));
  }

private:
  hid_t type_;
  hsize_t best_;
  Hid dataset_;
};

void write_lengths(hid_t file, const StoredBest& stored) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t s = 0; s < stored.samples(); ++s)
    lengths.push_back(static_cast<std::int32_t>(stored.tokens_of(s)));
  const Hid space = hdf5::make_space(stored.samples(), 1);
  const hid_t type = hdf5::number_type(ColumnType::i32);
  const Hid dataset = hdf5::own(
      H5Dcreate2(file, "seq_lengths", type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (lengths.empty()) return;
  hdf5::check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, lengths.data()));
}

void write_file(const StoredBest& stored, const std::filesystem::path& out) {
  const hdf5::Quiet quiet;
  try {
    hdf5::SerialWriter file = hdf5::SerialWriter::create(out);
    {
      const Sizes3 sizes{static_cast<hsize_t>(stored.samples()),
                         static_cast<hsize_t>(stored.longest()),
                         static_cast<hsize_t>(stored.best())};
      const PaddedDataset values(file.id(), "logits_values", ColumnType::f16, sizes);
      const PaddedDataset indices(file.id(), "logits_indices", ColumnType::i32, sizes);
      for (std::int64_t s = 0; s < stored.samples(); ++s) {
        const std::vector<Half> logits = stored.logits(s);
        const std::vector<std::int32_t> ids = stored.ids(s);
        const auto tokens = static_cast<std::size_t>(stored.tokens_of(s));
        file.reserve(ids.size() * 8);
        values.write(s, tokens, logits.data());
        indices.write(s, tokens, ids.data());
      }
      write_lengths(file.id(), stored);
    }
    file.close();
  } catch (const hdf5::Hdf5Error& error) {
    throw Failure({"E602",
                   ExitCode::io,
                   "cannot write the logits: " + error.detail(),
                   {"  --> " + out.string()},
                   ""});
  }
}

}  // namespace

std::int64_t export_guide004(const std::filesystem::path& results, const std::filesystem::path& out,
                             const std::filesystem::path& metadata, const Guide004Names& names) {
  if (!StoredBest::has_list(results, "topk_logprobs")) {
    throw Failure({"E533",
                   ExitCode::data,
                   "the file has no top k: guide 004's layout has a place for nothing else",
                   {"  --> " + results.string()},
                   "--export jsonl; or a run of job teacher with teacher.targets=topk"});
  }
  const StoredBest stored(results);
  write_file(stored, out);
  const nlohmann::ordered_json facts{{"num_samples", stored.samples()},
                                     {"max_seq_length", stored.longest()},
                                     {"top_k", stored.best()},
                                     {"vocab_size", stored.fact("vocab_size")},
                                     {"teacher_model", names.teacher_model},
                                     {"dataset_name", names.dataset_name},
                                     {"dataset_config", nullptr},
                                     {"dataset_split", nullptr}};
  write_file_durably(metadata, facts.dump(2) + "\n", "export");
  return stored.samples();
}

}  // namespace mgpu::store
