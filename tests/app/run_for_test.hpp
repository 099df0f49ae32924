#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include <mgpu/run/run_context.hpp>

namespace mgpu::app::test {

/// The objects of a run, and the context that jobs get from them. One sink gets all events and
/// curves, in place of the program's screen and logs.
///
/// Ranks: made collectively over `world`, which outlives it.
template <class Sink>
class RunForTest {
public:
  RunForTest(const cluster::Group& world, Config config, store::RunRequest request, Sink& sink)
      : config_(std::move(config)),
        cluster_(cluster::read_cluster_config(config_)),
        store_(store::read_store_config(config_)),
        topology_(world, 1),
        communicator_(cluster::make_communicator(world, cluster::Backend::mpi, Device{})),
        directory_(world, std::move(request)),
        journal_(directory_.path(), world, directory_.attempt()),
        quarantine_(directory_.path(), world, directory_.attempt()),
        context_{config_,
                 cluster_,
                 store_,
                 topology_,
                 *communicator_,
                 Device{},
                 cluster::Backend::mpi,
                 directory_,
                 journal_,
                 quarantine_,
                 stop_,
                 clock_,
                 sink,
                 sink,
                 [](const report::BannerFacts&) {},
                 [](std::string_view) {},
                 [] {}} {}
  RunForTest(const RunForTest&) = delete;
  RunForTest& operator=(const RunForTest&) = delete;

  run::RunContext& context() { return context_; }
  store::RunDirectory& directory() { return directory_; }

private:
  Config config_;
  cluster::ClusterConfig cluster_;
  store::StoreConfig store_;
  cluster::Topology topology_;
  std::unique_ptr<cluster::Communicator> communicator_;
  store::RunDirectory directory_;
  store::ChunkJournal journal_;
  store::Quarantine quarantine_;
  SoftStop stop_{SoftStop::Options{}};
  PhaseClock clock_;
  run::RunContext context_;
};

/// Returns the request for the run directory of a configuration, as the program makes it for a run
/// without `--only`.
inline store::RunRequest request_of(const Config& config) {
  const store::StoreConfig store = store::read_store_config(config);
  store::RunRequest request;
  request.output = store.output_folder;
  request.name = store.run_name;
  request.resume = store.resume;
  request.job = config.text("job");
  request.identity = config.identity();
  request.keys = store::identity_keys(config);
  return request;
}

}  // namespace mgpu::app::test
