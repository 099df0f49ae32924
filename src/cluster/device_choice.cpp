#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <mgpu/cluster/device_choice.hpp>

namespace mgpu::cluster {
namespace {

using Ranks = std::span<const RankDevices>;

/// Formats "[0, 1, 3]".
std::string list_of(const std::vector<int>& ids) {
  std::string text = "[";
  for (const int id : ids)
    text.append(text.size() > 1 ? ", " : "").append(std::to_string(id));
  return text + "]";
}

std::string gpus_of(const RankDevices& rank) {
  std::ostringstream text;
  text << "  " << rank.place.host << " has " << rank.uuids.size()
       << (rank.uuids.size() == 1 ? " GPU" : " GPUs");
  if (!rank.cuda_visible_devices.empty()) {
    text << " (CUDA_VISIBLE_DEVICES=" << rank.cuda_visible_devices << ")";
  }
  return text.str();
}

int ranks_on_node_of(const RankDevices& rank, Ranks ranks) {
  int count = 0;
  for (const RankDevices& other : ranks)
    count += other.place.node_index == rank.place.node_index ? 1 : 0;
  return count;
}

void require_gpus(Ranks ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].uuids.empty()) continue;
    std::ostringstream sentence;
    sentence << "no GPU is visible to rank " << r << " on " << ranks[r].place.host;
    throw Failure({"E203",
                   ExitCode::unavailable,
                   sentence.str(),
                   {"  " + ranks[r].why_none, gpus_of(ranks[r])},
                   "devices.backend=mpi computes on the CPU"});
  }
}

void require_listed(const RankDevices& rank, int ranks_on_node, const ClusterConfig& config) {
  const std::vector<int>& ids = *config.gpus;
  const std::string list = gpus_of(rank) + "; `devices.gpus` is " + list_of(ids);
  if (ids.empty()) throw Failure({"E204", ExitCode::config, "No GPU IDs provided", {list}, ""});
  for (const int id : ids) {
    if (id >= 0 && std::cmp_less(id, rank.uuids.size())) continue;
    std::ostringstream sentence;
    sentence << "GPU " << id << " is not available. Valid range: [0, " << rank.uuids.size() - 1
             << "]";
    throw Failure({"E201", ExitCode::unavailable, sentence.str(), {list}, ""});
  }
  const bool may_share = config.backend == Backend::staged;
  if (std::cmp_greater(ids.size(), ranks_on_node) ||
      (std::cmp_less(ids.size(), ranks_on_node) && !may_share)) {
    std::ostringstream line;
    line << "  `devices.gpus` lists " << ids.size() << (ids.size() == 1 ? " GPU, " : " GPUs, ")
         << rank.place.host << " has " << ranks_on_node
         << (ranks_on_node == 1 ? " rank" : " ranks");
    throw Failure(
        {"E205",
         ExitCode::unavailable,
         "Number of GPU IDs does not match num_gpus",
         {line.str()},
         "start as many ranks on each node as GPUs are listed; devices.backend=staged lets ranks "
         "share them"});
  }
}

Device gpu_for(const RankDevices& rank, const ClusterConfig& config) {
  const int node_rank = rank.place.node_rank;
  if (!config.gpus) {
    return {DeviceKind::cuda, node_rank % static_cast<int>(rank.uuids.size())};
  }
  const std::vector<int>& ids = *config.gpus;
  return {DeviceKind::cuda, ids[static_cast<std::size_t>(node_rank) % ids.size()]};
}

/// The first two ranks that use the same GPU, and the UUID of this GPU.
struct Shared {
  std::size_t first = 0;
  std::size_t second = 0;
  std::string uuid;
};

std::optional<Shared> find_shared(Ranks ranks, const std::vector<Device>& devices) {
  std::map<std::string, std::size_t> owners;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::string& uuid = ranks[r].uuids[static_cast<std::size_t>(devices[r].index)];
    const auto [owner, is_new] = owners.emplace(uuid, r);
    if (!is_new) return Shared{owner->second, r, uuid};
  }
  return std::nullopt;
}

/// Returns whether each rank has a different NCCL_HOSTID. If so, NCCL treats each rank as a
/// separate host, and lets ranks share a GPU.
bool have_host_ids(Ranks ranks) {
  std::set<std::string> ids;
  for (const RankDevices& rank : ranks)
    ids.insert(rank.nccl_host_id);
  return ids.size() == ranks.size() && !ids.contains("");
}

/// Returns the beginning of a UUID, such as "GPU-e7b3bccd". It is enough to find the card in the
/// output of nvidia-smi -L.
std::string short_uuid(const std::string& uuid) {
  return uuid.substr(0, uuid.find('-', uuid.find('-') + 1));
}

Failure refuse_sharing(const Shared& shared, Ranks ranks) {
  const RankDevices& rank = ranks[shared.second];
  std::ostringstream sentence;
  sentence << "ranks " << shared.first << " and " << shared.second << " both got GPU "
           << short_uuid(shared.uuid) << " on " << rank.place.host;
  std::ostringstream line;
  line << "  NCCL allows one rank per GPU. This node has " << ranks_on_node_of(rank, ranks)
       << " ranks:";
  std::ostringstream help;
  help << "--ntasks-per-node=" << rank.uuids.size()
       << ", or list more GPUs with --gpus, or devices.backend=staged";
  return Failure(
      {"E202", ExitCode::unavailable, sentence.str(), {line.str(), gpus_of(rank)}, help.str()});
}

DevicePlan plan_cpu(Ranks ranks, std::string note) {
  return {Backend::mpi, std::vector<Device>(ranks.size()), std::move(note)};
}

DevicePlan plan_gpus(Ranks ranks, const ClusterConfig& config) {
  DevicePlan plan{config.backend.value_or(Backend::nccl), {}, "one GPU per rank"};
  for (const RankDevices& rank : ranks) {
    if (config.gpus) require_listed(rank, ranks_on_node_of(rank, ranks), config);
    plan.devices.push_back(gpu_for(rank, config));
  }
  const std::optional<Shared> shared = find_shared(ranks, plan.devices);
  if (!shared) return plan;
  if (config.backend == Backend::nccl) {
    if (!have_host_ids(ranks)) throw refuse_sharing(*shared, ranks);
    plan.note = "ranks share a GPU; NCCL counts each as a host, by NCCL_HOSTID: slow";
    return plan;
  }
  plan.backend = Backend::staged;
  std::ostringstream note;
  note << "ranks " << shared->first << " and " << shared->second << " share GPU "
       << short_uuid(shared->uuid) << " on " << ranks[shared->second].place.host
       << ": tensors travel through pinned host memory";
  plan.note = note.str();
  return plan;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Returns a text for unpack(), with one value on each line: the reason for missing GPUs, two
/// environment variables, and the UUIDs of the GPUs. No value contains a line break.
std::string pack(const VisibleGpus& visible) {
  std::string text = visible.why_none + '\n' + variable("CUDA_VISIBLE_DEVICES") + '\n' +
                     variable("NCCL_HOSTID") + '\n';
  for (const GpuInfo& gpu : visible.gpus)
    text.append(gpu.uuid).append("\n");
  return text;
}

RankDevices unpack(const std::string& text, const RankPlace& place) {
  RankDevices rank;
  rank.place = place;
  std::istringstream lines(text);
  std::getline(lines, rank.why_none);
  std::getline(lines, rank.cuda_visible_devices);
  std::getline(lines, rank.nccl_host_id);
  for (std::string uuid; std::getline(lines, uuid);)
    rank.uuids.push_back(uuid);
  return rank;
}

}  // namespace

DevicePlan plan_devices(std::span<const RankDevices> ranks, const ClusterConfig& config) {
  if (config.backend == Backend::mpi) {
    return plan_cpu(ranks, config.gpus ? "as asked, on the CPU; devices.gpus is not used"
                                       : "as asked, on the CPU");
  }
  const bool none =
      std::ranges::all_of(ranks, [](const RankDevices& rank) { return rank.uuids.empty(); });
  if (none && !config.backend && !config.gpus) {
    return plan_cpu(ranks, "on the CPU: " + ranks.front().why_none);
  }
  require_gpus(ranks);
  return plan_gpus(ranks, config);
}

DeviceChoice choose_device(const Topology& topology, const ClusterConfig& config) {
  VisibleGpus visible;
  if (config.backend != Backend::mpi) {
    run_together(topology.world(), [&] { visible = visible_gpus(); });
  }
  std::vector<RankDevices> ranks;
  for (const std::string& text : topology.world().all_gather(pack(visible)))
    ranks.push_back(unpack(text, topology.places()[ranks.size()]));

  DeviceChoice choice;
  run_together(topology.world(), [&] { choice.plan = plan_devices(ranks, config); });
  choice.device = choice.plan.devices[static_cast<std::size_t>(topology.world().rank())];
  if (choice.device.kind == DeviceKind::cuda) {
    choice.gpu = visible.gpus[static_cast<std::size_t>(choice.device.index)];
  }
  return choice;
}

}  // namespace mgpu::cluster
