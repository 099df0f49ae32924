#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/run/run_context.hpp>

#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::run::test {

/// Keeps the events and scalars of a run.
class Heard final : public EventSink, public ScalarSink {
public:
  struct Scalar {
    std::string tag;
    std::int64_t step = 0;
    double value = 0.0;
  };

  void event(const Event& event) override { events.push_back(event); }
  void scalar(std::string_view tag, std::int64_t step, double value) override {
    scalars.push_back({std::string(tag), step, value});
  }

  /// Returns the texts of all events with this name.
  std::vector<std::string> texts(const std::string& word) const {
    std::vector<std::string> texts;
    for (const Event& event : events)
      if (event.word == word) texts.push_back(std::get<std::string>(event.fields.front().second));
    return texts;
  }

  std::vector<Event> events;
  std::vector<Scalar> scalars;
};

/// Makes the context of a run without a job, in a temporary folder that all ranks see. Tests pass
/// the context to code that jobs use. Ranks: collective over the world.
class FakeRun {
public:
  explicit FakeRun(const testing_support::Keys& keys = {}) : config_(with_folder(keys)) {}
  FakeRun(const FakeRun&) = delete;
  FakeRun& operator=(const FakeRun&) = delete;
  ~FakeRun() { world_.barrier(); }

  /// Closes the run. The next call of context() opens it again, as the next attempt does.
  void resume() {
    open_.reset();
    ++attempt_;
  }

  RunContext& context() {
    if (!open_) open_.emplace(*this);
    return open_->context;
  }

  /// Writes `lines` to quarantine.jsonl, one line for each death of a rank. Call it before the
  /// first context(). Ranks: collective.
  void write_deaths(const std::string& lines) const {
    if (world_.rank() == 0) std::ofstream(folder_ / "quarantine.jsonl") << lines;
    world_.barrier();
  }

  /// Returns the bytes of a phase's chunks as texts, in the order of the chunks.
  std::vector<std::string> journaled(std::uint32_t phase) {
    std::vector<std::string> chunks;
    const store::ChunkJournal& journal = context().journal;
    for (const store::ChunkEntry& entry : journal.entries(phase)) {
      std::ifstream file(journal.files()[entry.file], std::ios::binary);
      file.seekg(static_cast<std::streamoff>(entry.offset));
      std::string bytes(entry.length, '\0');
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      chunks.push_back(std::move(bytes));
    }
    return chunks;
  }

  const cluster::Group& world() const { return world_; }
  const std::filesystem::path& folder() const { return folder_; }

  Heard heard;
  std::vector<std::string> said;

private:
  /// The objects that each attempt creates.
  struct Open {
    explicit Open(FakeRun& run)
        : communicator(cluster::make_communicator(run.topology_.across_groups(),
                                                  cluster::Backend::mpi, Device{})),
          directory(run.world_, request(run)),
          journal(run.folder_, run.world_, run.attempt_),
          quarantine(run.folder_, run.world_, run.attempt_),
          context{run.config_,
                  run.cluster_,
                  run.store_,
                  run.topology_,
                  *communicator,
                  Device{},
                  cluster::Backend::mpi,
                  directory,
                  journal,
                  quarantine,
                  stop,
                  clock,
                  run.heard,
                  run.heard,
                  [](const report::BannerFacts&) {},
                  [&run](std::string_view lines) { run.said.emplace_back(lines); },
                  [] {}} {}

    static store::RunRequest request(const FakeRun& run) {
      store::RunRequest request;
      request.output = run.folder_ / "outputs";
      request.job = run.config_.text("job");
      request.identity = run.config_.identity();
      request.keys = store::identity_keys(run.config_);
      return request;
    }

    std::unique_ptr<cluster::Communicator> communicator;
    store::RunDirectory directory;
    store::ChunkJournal journal;
    store::Quarantine quarantine;
    SoftStop stop{SoftStop::Options{}};
    PhaseClock clock;
    RunContext context;
  };

  Config with_folder(testing_support::Keys keys) {
    if (world_.rank() == 0) {
      owner_.emplace();
      for (const char* name : {"parts", "working", "attempts"})
        std::filesystem::create_directory(owner_->path() / name);
    }
    folder_ = world_.broadcast(owner_ ? owner_->path().string() : std::string(), 0);
    keys.emplace("job", "generate");
    return testing_support::config_of(keys);
  }

  const cluster::Group world_ = cluster::Group::world();
  std::optional<testing_support::TemporaryFolder> owner_;  // on rank 0 only
  std::filesystem::path folder_;
  Config config_;
  cluster::ClusterConfig cluster_ = cluster::read_cluster_config(config_);
  store::StoreConfig store_ = store::read_store_config(config_);
  cluster::Topology topology_{world_, cluster_.group_sizes()};
  std::uint32_t attempt_ = 1;
  std::optional<Open> open_;
};

}  // namespace mgpu::run::test
