#include "reference.hpp"

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/seal.hpp>

namespace mgpu::recipes {
namespace {

constexpr const char* kReferenceTable = "reference";
constexpr std::uint32_t kReferencePhase = 1;  // phase id in the journal of the run
constexpr std::int64_t kReferenceChunk = 8;   // examples in a chunk

store::TableSpec reference_table(std::int64_t rows) {
  using store::ColumnType;
  return {
      .path = kReferenceTable,
      .rows = rows,
      .columns =
          {{"tokens", ColumnType::i64, 1, "learned tokens of the example", "tokens"},
           {"crc32c", ColumnType::i64, 1,
            "CRC-32C of its token ids and learned tokens, which starts from that of the reference",
            ""},
           {"log_prob", ColumnType::f64, 1,
            "log-probability of its learned tokens before the training", "nats"}},
      .signal = "",
      .axis = ""};
}

/// Numbers all examples consecutively, first those of ReferenceExamples::training, then those of
/// ReferenceExamples::held_out.
class ExampleList {
public:
  explicit ExampleList(const ReferenceExamples& all) : all_(all) {}

  std::int64_t tokens(std::size_t number) const {
    return windows(number).examples().predictions(index(number));
  }

  /// Returns a checksum of an example and of the reference's model folder.
  std::int64_t crc(std::size_t number) const {
    const lm::LmExamples& examples = windows(number).examples();
    const auto begin = static_cast<std::size_t>(examples.begin(index(number)));
    const auto length = static_cast<std::size_t>(examples.length(index(number)));
    const std::uint32_t crc =
        crc32c(std::as_bytes(std::span(examples.ids).subspan(begin, length)), all_.model_crc);
    return crc32c(std::as_bytes(std::span(examples.is_learned).subspan(begin, length)), crc);
  }

  double log_prob(std::size_t number, const lm::TrainableModel& model) const {
    lm::LmBatch batch;
    windows(number).append_example(index(number), batch);
    const lm::ValueRequest request;
    const lm::TokenValues values = model.measure(batch, request);
    return lm::sequences_of(batch, values, request).front().log_prob();
  }

private:
  bool is_held_out(std::size_t number) const { return number >= all_.training.examples().size(); }
  const lm::LmWindows& windows(std::size_t number) const {
    return is_held_out(number) ? all_.held_out : all_.training;
  }
  std::size_t index(std::size_t number) const {
    return is_held_out(number) ? number - all_.training.examples().size() : number;
  }

  ReferenceExamples all_;
};

std::vector<std::byte> reference_rows(const ExampleList& examples, const lm::TrainableModel& model,
                                      const run::Chunk& chunk, const store::TableSpec& spec) {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> crc;
  std::vector<double> log_prob;
  for (std::int64_t row = chunk.first; row < chunk.first + chunk.count; ++row) {
    const auto number = static_cast<std::size_t>(row);
    tokens.push_back(examples.tokens(number));
    crc.push_back(examples.crc(number));
    log_prob.push_back(examples.log_prob(number, model));
  }
  store::ChunkEncoder rows(spec, chunk.first, chunk.count);
  rows.column<std::int64_t>("tokens", tokens);
  rows.column<std::int64_t>("crc32c", crc);
  rows.column<double>("log_prob", log_prob);
  return rows.finish();
}

/// Returns whether the file `path` exists on all ranks and is undamaged.
/// Errors: those of read_table(), except E604.
bool is_intact(run::RunContext& run, const std::filesystem::path& path) {
  const cluster::Group& world = run.topology.world();
  const bool exists = world.all_reduce(std::int32_t{std::filesystem::exists(path) ? 1 : 0},
                                       cluster::ReduceOp::min) == 1;
  if (!exists) return false;
  try {
    store::read_table(world, path, kReferenceTable);
    return true;
  } catch (const Failure& failure) {
    if (failure.report().code != "E604") throw;
    run.log.event({"warn", {{"text", path.string() + " is damaged, and is made again"}}});
    return false;
  }
}

/// Computes the rows that the journal lacks, and writes the file `path`. Returns false, and writes
/// no file, if a stop was requested.
bool make_file(run::RunContext& run, const std::filesystem::path& path,
               const lm::TrainableModel& model, const ReferenceExamples& examples) {
  const store::TableSpec spec = reference_table(static_cast<std::int64_t>(examples.size()));
  const ExampleList list(examples);
  const run::ChunkPhase phase{kReferenceTable, kReferencePhase, spec.rows, kReferenceChunk};
  const bool is_complete = run::run_chunks(
      phase, run.topology, run.journal,
      {[&](const run::Chunk& chunk) { return reference_rows(list, model, chunk, spec); },
       [&] { return run.stop.poll() != StopReason::none; },
       [&](std::int64_t samples) { run::log_chunk(run, kReferenceTable, samples); }});
  if (!is_complete) return false;
  store::SealRequest request;
  request.path = path;
  request.what = kReferenceTable;
  request.attempt = run.directory.attempt();
  request.tables = {{spec, kReferencePhase, kReferenceChunk}};
  request.check_current = [&run] { run.directory.check_current(); };
  store::seal(run.topology.world(), run.journal, request);
  return true;
}

void require_same_examples(const store::ReadTable& table, const std::filesystem::path& path,
                           const ReferenceExamples& examples) {
  const ExampleList list(examples);
  const auto crc = table.column("crc32c").values<std::int64_t>();
  bool is_same = crc.size() == examples.size();
  for (std::size_t number = 0; is_same && number < crc.size(); ++number)
    is_same = crc[number] == list.crc(number);
  if (is_same) return;
  throw Failure({"E608",
                 ExitCode::cannot_create,
                 "the log-probabilities of the reference are about other examples than the files "
                 "of `data.path` and `data.eval_path` hold, or its weights have changed",
                 {"  --> " + path.string()},
                 "put the old files back, or start anew: --resume=never"});
}

}  // namespace

std::optional<std::vector<double>> reference_log_probs(run::RunContext& run,
                                                       const OpenReference& open,
                                                       const ReferenceExamples& examples) {
  const cluster::Group& world = run.topology.world();
  const std::filesystem::path path = run.directory.path() / kReferenceFile;
  if (!is_intact(run, path) && !make_file(run, path, open(), examples)) return std::nullopt;
  const store::ReadTable table = store::read_table(world, path, kReferenceTable);
  cluster::run_together(world, [&] { require_same_examples(table, path, examples); });
  const auto values = table.column("log_prob").values<double>();
  return std::vector(values.begin(), values.end());
}

}  // namespace mgpu::recipes
