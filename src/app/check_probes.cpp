#include "check_probes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <mgpu/cluster/device_work.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/checkpoint/checkpoint_store.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/seal.hpp>

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kRowsPerChunk = 4;
constexpr std::int64_t kWidth = 65536;  // float32: 256 KiB a row, 16 MiB in all

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns rows [first, first + rows) of the test table. All values of the table are different.
std::vector<float> values_of(std::int64_t first, std::int64_t rows) {
  std::vector<float> values(static_cast<std::size_t>(rows * kWidth));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(first * kWidth + static_cast<std::int64_t>(i));
  }
  return values;
}

store::TableSpec table_spec() {
  return {.path = "check",
          .rows = kRows,
          .columns = {{"value", store::ColumnType::f32, kWidth, "test values", ""}},
          .signal = "",
          .axis = ""};
}

void check_gather(const cluster::Group& world) {
  const std::vector<std::int32_t> ranks = world.all_gather(std::int32_t{world.rank()});
  cluster::run_together(world, [&] {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (std::cmp_equal(ranks[r], r)) continue;
      throw Failure(
          {"E404",
           ExitCode::unavailable,
           "MPI gathered rank " + std::to_string(ranks[r]) + " as rank " + std::to_string(r),
           {},
           ""});
    }
  });
}

void journal_share(const cluster::Group& world, store::ChunkJournal& journal) {
  const store::TableSpec spec = table_spec();
  cluster::run_together(world, [&] {
    for (std::int64_t chunk = world.rank(); chunk < kRows / kRowsPerChunk; chunk += world.size()) {
      const std::int64_t first = chunk * kRowsPerChunk;
      const std::vector<float> values = values_of(first, kRowsPerChunk);
      store::ChunkEncoder rows(spec, first, kRowsPerChunk);
      rows.column("value", std::span<const float>(values));
      journal.append(1, static_cast<std::uint64_t>(chunk), rows.finish());
    }
  });
  journal.commit();
}

void check_read_back(const cluster::Group& world, const fs::path& path) {
  const store::ReadTable table = store::read_table(world, path, "check");
  cluster::run_together(world, [&] {
    const auto read = table.column("value").values<float>();
    const std::vector<float> written = values_of(0, kRows);
    if (std::equal(read.begin(), read.end(), written.begin(), written.end())) return;
    throw Failure({"E606",
                   ExitCode::corrupt,
                   "HDF5 gave back other values than were written",
                   {"  --> " + path.string()},
                   ""});
  });
}

BufferView view_of(std::vector<std::int32_t>& values) {
  return {values.data(), values.size(), DType::i32, Device{}};
}

}  // namespace

Finding probe_files(const cluster::Group& world, const fs::path& folder) {
  check_gather(world);
  store::ChunkJournal journal(folder, world, /*attempt=*/1);
  journal_share(world, journal);
  store::SealRequest request;
  request.path = folder / "check.h5";
  request.what = "check";
  request.attempt = 1;
  request.tables = {{table_spec(), 1, kRowsPerChunk}};
  const Stopwatch watch;
  const store::SealResult sealed = store::seal(world, journal, request);
  check_read_back(world, request.path);
  const std::string rate =
      report::text_of("%.0f MB/s", static_cast<double>(sealed.file_bytes) / 1e6 / watch.seconds());
  if (sealed.other_writes == 0) return {rate};
  return {rate + "; " + std::to_string(sealed.other_writes) + " writes were not collective",
          report::Verdict::warn};
}

Finding probe_restart(const cluster::Group& world, const fs::path& folder) {
  constexpr std::size_t kValues = 4096;
  std::vector<std::int32_t> written(kValues);
  for (std::size_t i = 0; i < kValues; ++i)  // no two values are equal
    written[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761U);
  std::vector<std::int32_t> values = written;
  const std::vector<formats::NamedTensor> model = {
      {"weights", {static_cast<std::int64_t>(kValues)}, view_of(values)}};
  const store::CheckpointStore checkpoints(world, folder, {/*attempt=*/1, /*keep=*/1});
  store::CheckpointState state;
  state.step = 1;
  state.values = {{"third", 1.0 / 3.0}};
  checkpoints.save({model, {}, state}, /*is_best=*/false);
  std::fill(values.begin(), values.end(), 0);
  const store::Restored restored = checkpoints.load_newest(model, {});
  cluster::run_together(world, [&] {
    if (values == written && restored.state == state) return;
    throw Failure({"E611",
                   ExitCode::corrupt,
                   "a checkpoint came back with other bits",
                   {"  --> " + folder.string()},
                   ""});
  });
  return {};
}

Finding probe_all_reduce(const cluster::Topology& topology, const cluster::DeviceChoice& choice,
                         double timeout_s) {
  constexpr std::size_t kValues = 4U << 20;
  const cluster::Group& group = topology.world();
  const auto communicator = cluster::make_communicator(group, choice.plan.backend, choice.device,
                                                       {.timeout_s = timeout_s});
  cluster::use_device(choice.device);
  const cluster::Stream stream(choice.device);
  const cluster::Event filled(choice.device);
  const cluster::Buffer buffer(choice.device, kValues * sizeof(std::int32_t));
  const BufferView values = buffer.view(kValues, DType::i32);
  std::vector<std::int32_t> host(kValues);
  double seconds = 0.0;
  for (int round = 0; round < 2; ++round) {  // the first round is a warm-up
    std::fill(host.begin(), host.end(), group.rank() + 1);
    cluster::copy(values, view_of(host), stream.get());
    filled.record(stream.get());
    filled.wait();
    group.barrier();
    const Stopwatch watch;
    communicator->all_reduce(values, cluster::ReduceOp::sum);
    seconds = watch.seconds();
  }
  cluster::copy(view_of(host), values, stream.get());
  filled.record(stream.get());
  filled.wait();
  const std::int32_t sum = group.size() * (group.size() + 1) / 2;
  cluster::run_together(group, [&] {
    const auto wrong =
        std::find_if(host.begin(), host.end(), [&](std::int32_t value) { return value != sum; });
    if (wrong == host.end()) return;
    throw Failure({"E404",
                   ExitCode::unavailable,
                   "the sum over all ranks is wrong: " + std::to_string(*wrong) + " instead of " +
                       std::to_string(sum),
                   {"  backend " + std::string(communicator->name())},
                   "try another one: devices.backend"});
  });
  const double megabytes = static_cast<double>(kValues * sizeof(std::int32_t)) / 1e6;
  return {report::text_of("%.0f MB/s", megabytes / seconds)};
}

}  // namespace mgpu::app
