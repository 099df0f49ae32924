#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/model_keys.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/quarantined_rows.hpp>
#include <mgpu/run/run_context.hpp>

namespace mgpu::run {

/// The number of tokens of a row.
struct RowTokens {
  std::int64_t input = 0;
  std::int64_t output = 0;
};

/// The work that one group of ranks has done in this attempt.
struct GroupWork {
  std::int64_t rows = 0;  // counted only on the leader of the group
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  double seconds = 0.0;  // spent on reading rows and on the model

  /// Returns the tokens that count for the speed: the output tokens if there are any, otherwise the
  /// input tokens.
  std::int64_t tokens() const { return output_tokens > 0 ? output_tokens : input_tokens; }
};

/// Rows or tokens per second, of each group and of the run.
struct GroupSpeeds {
  std::vector<double> of_groups;  // speed of each group while it worked
  double total = 0.0;             // all rows or tokens, divided by the largest GroupWork::seconds
};
/// Returns the speeds of `groups`. `unit` points to the member that counts rows or tokens, such as
/// &GroupWork::rows.
GroupSpeeds speeds_of(const std::vector<GroupWork>& groups, std::int64_t GroupWork::*unit);

/// The callbacks by which a job processes rows of a file with a language model. RowPhase calls
/// encode() and work() for the rows of a block of chunks, then pack() for each chunk. A Sample is
/// an encoded row, and a Result is the model's output for that row.
///
/// Ranks: all ranks of a model group make the same calls with the same rows, except for pack() and
///        write_scalars().
template <class Sample, class Result>
class RowWorker {
public:
  virtual ~RowWorker() = default;

  /// Encodes `count` rows, beginning with row `first`, and returns one sample for each.
  virtual std::vector<Sample> encode(std::int64_t first, std::int64_t count) = 0;

  /// Applies the model to `samples`, and returns a result for each. The first sample is row
  /// `first`. RowPhase repeats the call with a smaller batch when memory runs out.
  virtual std::vector<Result> work(std::span<const Sample> samples, std::int64_t first) = 0;

  /// Returns a sample and a result that stand for a quarantined row, which the model never sees.
  virtual std::pair<Sample, Result> left_out(const std::string& reason) = 0;

  virtual RowTokens tokens(const Sample& sample, const Result& result) const = 0;

  /// Returns whether this rank writes the results of its group into the journal.
  virtual bool records() const = 0;

  /// Serializes the results of a chunk, as rows of the job's table, for the journal. The first
  /// sample is row `first`. Called only if records() is true.
  virtual std::vector<std::byte> pack(std::int64_t first, std::span<const Sample> samples,
                                      std::span<const Result> results) = 0;

  /// Returns the largest number of sequences that the model holds at once.
  virtual std::int64_t batch_size() const = 0;
  virtual void set_batch_size(std::int64_t batch_size) = 0;

  /// Sets a callback that reports progress within work(). The worker calls it after each forward
  /// pass, with the number of results that the current call to work() has computed so far.
  virtual void set_progress(const std::function<void(std::int64_t results)>& see) = 0;

  /// Called for each chunk after work() and before pack(), on every rank of the group. `seconds` is
  /// the chunk's share of the time that its block of chunks took.
  virtual void finished(const Chunk& /*chunk*/, double /*seconds*/) {}

  /// Called on the leader after a chunk, to write TensorBoard scalars of the job.
  virtual void write_scalars(const GroupWork& /*work*/) {}
};

/// The rows of a block of chunks. `samples` and `results` have one element for each row, in order.
template <class Sample, class Result>
struct BlockRows {
  std::span<const Chunk> chunks;
  double seconds = 0.0;  // spent on reading the rows and on the model
  std::vector<Sample> samples;
  std::vector<Result> results;

  /// Returns the index of the first row of `chunk` in `samples` and in `results`. `chunk` must be
  /// one of `chunks`.
  std::size_t index_of(const Chunk& chunk) const {
    std::int64_t rows = 0;
    for (const Chunk& before : chunks) {
      if (before.index == chunk.index) break;
      rows += before.count;
    }
    return static_cast<std::size_t>(rows);
  }
};

/// Runs a language model over the rows of a file. It opens the model on every group of ranks, finds
/// the batch size and assigns the chunks. It also quarantines rows, halves the batch size when
/// memory runs out, and reports progress. A group works on several chunks at once, at most as many
/// as its batch needs.
class RowPhase {
public:
  struct Options {
    ChunkPhase chunks;
    const char* rows = "rows";         // how messages name the samples of a chunk: "prompts"
    BatchNames names{};                // how messages name the items of a batch
    const char* clock_phase = "";      // phase of the clock (PhaseClock) while the model works
    std::int64_t results_per_row = 1;  // results that a row gives, such as completions of a prompt
  };

  /// The settings of a job that RowPhase uses. They must outlive the RowPhase.
  struct Keys {
    const JobKeys& run;
    const ModelKeys& model;
    const std::filesystem::path& folder;  // folder of the model
  };

  /// Opens the model on every group of ranks.
  ///
  /// Ranks:  collective over the world.
  /// Errors: those of ModelGroup::open().
  RowPhase(RunContext& run, const Keys& keys, Options options);

  lm::ModelGroup& group() { return group_; }
  const ChunkPhase& chunks() const { return options_.chunks; }

  /// Chooses how many sequences a model holds at once, and returns this number for the caller's
  /// RowWorker. Call it before memory_text() and run(). Without `is_auto`, the number is
  /// demand.batch_size. With `is_auto`, it is the largest number up to demand.batch_size for which
  /// every rank has memory. On a GPU, results may depend on the number. So a number that is found
  /// on a GPU with `is_auto` is written to run.json, and later attempts of the run use the number
  /// in run.json.
  ///
  /// Ranks:  collective over the world.
  /// Errors: Failure E301 (exit 71) when not even one sequence fits.
  std::int64_t choose_batch(lm::MemoryDemand demand, bool is_auto);

  /// Formats the batch and the memory that rank 0 needs for it: "8 texts at once: 416.0 KiB = ...".
  /// All ranks get the same text.
  ///
  /// Ranks:  collective over the world.
  std::string memory_text(std::int64_t batch_size) const;

  /// Processes all chunks that the journal lacks. Returns whether the phase is complete; false
  /// means that a stop was requested.
  ///
  /// Ranks:  collective over the world.
  /// Errors: those of `worker` and of run_chunks(); Failure E301 (exit 71) when memory runs out
  ///         with a batch of 1.
  template <class Sample, class Result>
  bool run(RowWorker<Sample, Result>& worker);

  /// Returns how many seconds run() took, including waits for other ranks.
  double seconds() const { return seconds_; }

  /// Returns the work of this rank's group.
  const GroupWork& work() const { return work_; }

  /// Returns the work of every group, in order, on every rank. Ranks: collective over the world.
  std::vector<GroupWork> work_of_groups() const;

  /// Makes the outcome of the job, with exit code `exit`. Its member `total` counts the results of
  /// all chunks that this run has to do (ChunkPhase::part). Its member `done` counts the results of
  /// those chunks that are finished.
  JobOutcome outcome(ExitCode exit) const;

private:
  template <class Sample, class Result>
  BlockRows<Sample, Result> work_on(std::span<const Chunk> block,
                                    RowWorker<Sample, Result>& worker);

  template <class Sample, class Result>
  std::vector<std::byte> pack(const Chunk& chunk, const BlockRows<Sample, Result>& rows,
                              RowWorker<Sample, Result>& worker);

  template <class Sample, class Result>
  std::vector<Result> results_of(RowWorker<Sample, Result>& worker, std::span<const Sample> samples,
                                 std::int64_t first);

  /// The work on a block, and then on each of its chunks.
  struct BlockWork {
    std::function<void(std::span<const Chunk> block)> begin;
    std::function<std::vector<std::byte>(const Chunk&)> pack;
    std::function<void()> write_scalars;
  };

  bool run_all(const BlockWork& work, std::int64_t batch_size);
  ChunkSharing sharing(std::int64_t batch_size) const;
  std::vector<Chunk> joined(std::span<const Chunk> block) const;
  std::int64_t automatic_batch();
  void log_progress();
  void log_within_work(std::int64_t results);
  void log_samples(std::int64_t samples, std::int64_t total);
  void look_for_idle_groups();

  RunContext& run_;
  Keys keys_;
  Options options_;
  lm::ModelGroup group_;
  lm::MemoryDemand demand_;
  bool has_auto_batch_ = false;
  Chunk last_;
  std::int64_t static_total_ = 0;  // static_samples() of this attempt
  GroupWork work_;
  double seconds_ = 0.0;
  std::int64_t results_before_ = 0;  // results of the block that earlier calls of work() returned
  double logged_s_ = 0.0;            // when progress was logged last, on the run's clock
  std::optional<report::Note> idle_note_;
};

template <class Sample, class Result>
bool RowPhase::run(RowWorker<Sample, Result>& worker) {
  worker.set_progress([this](std::int64_t results) { log_within_work(results); });
  BlockRows<Sample, Result> rows;
  return run_all({[&](std::span<const Chunk> block) { rows = work_on(block, worker); },
                  [&](const Chunk& chunk) { return pack(chunk, rows, worker); },
                  [&] { worker.write_scalars(work_); }},
                 worker.batch_size());
}

template <class Sample, class Result>
BlockRows<Sample, Result> RowPhase::work_on(std::span<const Chunk> block,
                                            RowWorker<Sample, Result>& worker) {
  const double begin_s = run_.clock.elapsed_s();
  last_ = block.front();
  BlockRows<Sample, Result> rows;
  rows.chunks = block;
  const auto work = [&](std::int64_t first, std::int64_t count) {
    {
      const auto reading = run_.clock.enter("tokenize");
      for (Sample& sample : worker.encode(first, count))
        rows.samples.push_back(std::move(sample));
    }
    results_before_ = std::ssize(rows.results) * options_.results_per_row;
    const auto fresh = std::span<const Sample>(rows.samples).last(static_cast<std::size_t>(count));
    for (Result& result : results_of(worker, fresh, first))
      rows.results.push_back(std::move(result));
  };
  const auto leave_out = [&](std::int64_t, const std::string& reason) {
    auto [sample, result] = worker.left_out(reason);
    rows.samples.push_back(std::move(sample));
    rows.results.push_back(std::move(result));
  };
  for (const Chunk& chunk : joined(block))
    work_on_rows(run_, options_.chunks, chunk, {work, leave_out});
  for (std::size_t i = 0; i < rows.samples.size(); ++i) {
    const RowTokens tokens = worker.tokens(rows.samples[i], rows.results[i]);
    work_.input_tokens += tokens.input;
    work_.output_tokens += tokens.output;
  }
  rows.seconds = run_.clock.elapsed_s() - begin_s;
  work_.seconds += rows.seconds;
  return rows;
}

template <class Sample, class Result>
std::vector<std::byte> RowPhase::pack(const Chunk& chunk, const BlockRows<Sample, Result>& rows,
                                      RowWorker<Sample, Result>& worker) {
  last_ = chunk;
  const auto count = static_cast<std::size_t>(chunk.count);
  const double share = static_cast<double>(count) / static_cast<double>(rows.samples.size());
  worker.finished(chunk, share * rows.seconds);
  if (!worker.records()) return {};
  const auto recording = run_.clock.enter("journal");
  const std::size_t first = rows.index_of(chunk);
  return worker.pack(chunk.first, std::span(rows.samples).subspan(first, count),
                     std::span(rows.results).subspan(first, count));
}

template <class Sample, class Result>
std::vector<Result> RowPhase::results_of(RowWorker<Sample, Result>& worker,
                                         std::span<const Sample> samples, std::int64_t first) {
  const auto working = run_.clock.enter(options_.clock_phase);
  std::vector<Result> results;
  run_within_memory(
      run_, keys_.model, group_, demand_, options_.names,
      {[&] { results = worker.work(samples, first); }, [&] { return worker.batch_size(); },
       [&](std::int64_t batch) { worker.set_batch_size(batch); }});
  return results;
}

}  // namespace mgpu::run
