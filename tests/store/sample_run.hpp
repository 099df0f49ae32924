// A small phase for the tests of journal and seal, whose rows are a function of the sample id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/seal.hpp>

#include "support/shared_folder.hpp"

namespace mgpu::store::test {

constexpr std::uint32_t kPhase = 7;
constexpr std::int64_t kChunkRows = 8;

inline TableSpec sample_spec(std::int64_t rows) {
  return {"samples",
          rows,
          {{"score", ColumnType::f32, 1, "score of the sample", "nats"},
           {"hidden", ColumnType::f64, 6, "a row of six", ""},
           {"length", ColumnType::i32, 1, "tokens", "tokens"},
           {"small", ColumnType::u16, 1, "a u16", ""},
           {"status", ColumnType::u8, 1, "what became of it", "", false, {"ok", "odd", "third"}},
           {"output", ColumnType::text, 1, "what was said", ""},
           {"tokens", ColumnType::i32, 1, "token ids", "", true},
           {"places", ColumnType::i64, 1, "only in every third chunk", "", true},
           {"top", ColumnType::f32, 2, "pairs of log-probabilities", "nats", true}},
          "",
          ""};
}

inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Returns the number of items in the lists of a sample; 0 for many samples.
inline std::size_t list_length(std::int64_t id) {
  return mixed(static_cast<std::uint64_t>(id) + 77) % 5 * static_cast<std::size_t>(id % 7);
}

template <class T>
std::vector<T> sample_list(std::int64_t id, std::size_t length) {
  std::vector<T> list;
  for (std::size_t i = 0; i < length; ++i)
    list.push_back(static_cast<T>(static_cast<std::size_t>(id) * 31 + i));
  return list;
}

inline void add_lists(ChunkEncoder& encoder, std::int64_t first, std::int64_t rows) {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<std::vector<std::int64_t>> places;
  std::vector<std::vector<float>> top;
  for (std::int64_t id = first; id < first + rows; ++id) {
    const std::size_t length = list_length(id);
    tokens.push_back(sample_list<std::int32_t>(id, length));
    places.push_back(sample_list<std::int64_t>(id, id / kChunkRows % 3 == 2 ? length : 0));
    top.push_back(sample_list<float>(id, 2 * length));
  }
  encoder.lists<std::int32_t>("tokens", tokens);
  encoder.lists<std::int64_t>("places", places);
  encoder.lists<float>("top", top);
}

inline std::vector<std::byte> sample_chunk(const TableSpec& spec, std::int64_t chunk) {
  const std::int64_t first = chunk * kChunkRows;
  const std::int64_t rows = std::min(kChunkRows, spec.rows - first);
  std::vector<float> score;
  std::vector<double> hidden;
  std::vector<std::int32_t> length;
  std::vector<std::uint16_t> small;
  std::vector<std::uint8_t> status;
  std::vector<std::string> output;
  for (std::int64_t id = first; id < first + rows; ++id) {
    const std::uint64_t random = mixed(static_cast<std::uint64_t>(id) + 1);
    score.push_back(static_cast<float>(random % 1000) / 8.0F);
    for (int k = 0; k < 6; ++k)
      hidden.push_back(static_cast<double>(id) + k / 8.0);
    length.push_back(static_cast<std::int32_t>(random % 97));
    small.push_back(static_cast<std::uint16_t>(id));
    status.push_back(static_cast<std::uint8_t>(id % 3));
    output.push_back(std::string(random % 40, 'a') + " \u00FC " + std::to_string(id));
  }
  ChunkEncoder encoder(spec, first, rows);
  encoder.column<float>("score", score);
  encoder.column<double>("hidden", hidden);
  encoder.column<std::int32_t>("length", length);
  encoder.column<std::uint16_t>("small", small);
  encoder.column<std::uint8_t>("status", status);
  encoder.text("output", output);
  add_lists(encoder, first, rows);
  return encoder.finish();
}

inline std::int64_t sample_chunks(const TableSpec& spec) {
  return (spec.rows + kChunkRows - 1) / kChunkRows;
}

/// Journals this rank's share of the chunks that the journal lacks.
inline void run_phase(ChunkJournal& journal, const cluster::Group& group, const TableSpec& spec) {
  const std::vector<std::uint64_t> done = journal.done(kPhase);
  std::int64_t missing = 0;
  for (std::int64_t chunk = 0; chunk < sample_chunks(spec); ++chunk) {
    if (std::binary_search(done.begin(), done.end(), static_cast<std::uint64_t>(chunk))) continue;
    if (missing++ % group.size() != group.rank()) continue;
    journal.append(kPhase, static_cast<std::uint64_t>(chunk), sample_chunk(spec, chunk));
  }
}

inline SmallTable metrics_table() {
  SmallTable table{{"metrics/train",
                    3,
                    {{"step", ColumnType::i64, 1, "optimizer step", "steps"},
                     {"loss", ColumnType::f64, 1, "cross entropy", "nats"},
                     {"note", ColumnType::text, 1, "remark", ""}},
                    "loss",
                    "step"},
                   {}};
  const std::vector<std::int64_t> step{1, 2, 3};
  const std::vector<double> loss{0.5, 0.25, 0.125};
  const std::vector<std::string> note{"a", "", "c"};
  ChunkEncoder encoder(table.spec, 0, 3);
  encoder.column<std::int64_t>("step", step);
  encoder.column<double>("loss", loss);
  encoder.text("note", note);
  table.rows = encoder.finish();
  return table;
}

inline SealRequest sample_request(const std::filesystem::path& path, const TableSpec& spec,
                                  int gzip) {
  SealRequest request;
  request.path = path;
  request.gzip = gzip;
  request.attributes = {{"job", "test"}, {"rounds", std::int64_t{2}}};
  request.groups = {{"run", {{"config", "run: {seed: 0}\n"}}}};
  request.tables = {{spec, kPhase, kChunkRows}};
  request.small_tables = {metrics_table()};
  return request;
}

using testing_support::SharedFolder;

}  // namespace mgpu::store::test
