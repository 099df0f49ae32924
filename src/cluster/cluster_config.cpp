#include <array>
#include <string>
#include <vector>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/gpu_cards.hpp>

namespace mgpu::cluster {
namespace {

constexpr std::array<Backend, 3> kBackends = {Backend::nccl, Backend::staged, Backend::mpi};

constexpr double kMaxRanks = 65536;
constexpr double kMaxOnANode = 4096;

std::vector<std::string> card_names() {
  std::vector<std::string> names = {"auto"};
  for (const GpuCard& card : gpu_cards())
    names.emplace_back(card.key);
  return names;
}

void add_device_keys(KeyTable& table) {
  table.add({.name = "devices.gpus",
             .type = KeyType::integers,
             .default_value = "all",
             .summary = "GPUs of each node that the ranks use, in this order",
             .min = 0,
             .max = kMaxOnANode,
             .choices = {"all"},
             .identity = false,
             .foreign = {{"gpu_ids", "accelerate", "here it is `devices.gpus`, or --gpus 0,1"}}});
  table.add({.name = "devices.world",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary =
                 "ranks that --plan is for, and --check of one process; auto: those that are "
                 "launched, or of one model",
             .unit = "ranks",
             .min = 1,
             .max = kMaxRanks,
             .choices = {"auto"},
             .identity = false});
  table.add({.name = "devices.gpu",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary =
                 "GPU whose memory --plan and --check compare with the run's; auto: that of this "
                 "machine",
             .choices = card_names(),
             .identity = false});
  table.add({.name = "devices.gpus_per_model",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "ranks that share one copy of the model",
             .min = 1,
             .max = kMaxRanks,
             .identity = false,
             .foreign = {{"tensor_parallel_size", "vLLM"}, {"pipeline_parallel_size", "vLLM"}}});
  table.add({.name = "devices.groups",
             .type = KeyType::integers,
             .default_value = "[]",
             .summary =
                 "uneven machines: sizes of the groups of ranks, in order and repeated; [1, 1, 2] "
                 "gives two models a GPU each and one two",
             .min = 1,
             .max = kMaxRanks,
             .identity = false});
  table.add({.name = "devices.backend",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "how tensors travel; mpi runs on the CPU, staged lets ranks share a GPU",
             .choices = {"auto", "nccl", "staged", "mpi"},
             .identity = false});
  table.add({.name = "devices.threads",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "compute threads of each rank",
             .min = 1,
             .max = kMaxOnANode,
             .identity = false});
  table.add({.name = "devices.memory_margin",
             .type = KeyType::number,
             .default_value = "0.08",
             .summary = "share of the memory of a GPU (on the CPU: of a node) that --plan and "
                        "generate.batch_size=auto keep free",
             .min = 0,
             .max = 0.999,
             .identity = false,
             .foreign = {{"gpu_memory_utilization", "vLLM",
                          "here `devices.memory_margin` is the share that stays free"}}});
  table.add({.name = "devices.clear_cache_every",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "gives cached GPU memory back after so many steps; 0 = never",
             .unit = "steps",
             .min = 0,
             .aliases = {"system.clear_cache_interval"},
             .identity = false});
}

void add_comm_keys(KeyTable& table) {
  table.add({.name = "comm.timeout_s",
             .type = KeyType::duration,
             .default_value = "300",
             .summary = "a collective older than this is reported, then the run stops",
             .unit = "seconds",
             .min = 1,
             .identity = false});
  table.add({.name = "comm.bucket_mb",
             .type = KeyType::integer,
             .default_value = "25",
             .summary = "gradients are reduced in pieces of about this size",
             .unit = "MiB",
             .min = 1,
             .max = 65536,
             .identity = false});
}

/// Adds help texts for options of accelerate and torchrun that mpirun or srun replaces.
void add_launch_names(KeyTable& table) {
  table.add_foreign({"num_processes", "accelerate", "that is mpirun's -np"});
  table.add_foreign({"num_machines", "accelerate", "mpirun or srun knows the machines"});
  table.add_foreign({"main_process_port", "accelerate", "there is no port here: remove it"});
  table.add_foreign({"nproc_per_node", "torchrun", "that is mpirun's -np"});
  table.add_foreign({"master_addr", "torchrun", "mpirun or srun knows the machines: remove it"});
  table.add_foreign({"master_port", "torchrun", "there is no port here: remove it"});
}

}  // namespace

void add_cluster_keys(KeyTable& table) {
  add_device_keys(table);
  add_comm_keys(table);
  add_launch_names(table);
}

int read_gpus_per_model(const Config& config) {
  return static_cast<int>(config.integer("devices.gpus_per_model"));
}

std::vector<int> read_groups(const Config& config) {
  const std::vector<std::int64_t> sizes = config.integers("devices.groups");
  return {sizes.begin(), sizes.end()};
}

ClusterConfig read_cluster_config(const Config& config) {
  ClusterConfig values;
  if (!config.is("devices.gpus", "all")) {
    const std::vector<std::int64_t> ids = config.integers("devices.gpus");
    if (ids.empty()) {
      throw config.problem("E204", "devices.gpus", "No GPU IDs provided",
                           "devices.gpus=all, or a list such as [0, 1]");
    }
    values.gpus.emplace(ids.begin(), ids.end());
  }
  for (const Backend backend : kBackends) {
    if (config.text("devices.backend") == name_of(backend)) values.backend = backend;
  }
  if (!config.is("devices.world", "auto")) {
    values.world = static_cast<int>(config.integer("devices.world"));
  }
  values.card = find_gpu_card(config.text("devices.gpu"));
  if (values.card != nullptr && values.backend == Backend::mpi) {
    throw config.problem("E124", "devices.gpu",
                         "devices.gpu has no meaning with devices.backend=mpi, which uses no GPU",
                         "devices.backend=auto");
  }
  values.gpus_per_model = read_gpus_per_model(config);
  values.groups = read_groups(config);
  if (!values.groups.empty() && values.gpus_per_model != 1) {
    throw config.problem("E124", "devices.groups",
                         "devices.groups and devices.gpus_per_model both say how many ranks a "
                         "model has",
                         "remove one of them");
  }
  values.threads = static_cast<int>(config.integer("devices.threads"));
  values.memory_margin = config.number("devices.memory_margin");
  values.clear_cache_every = config.integer("devices.clear_cache_every");
  values.timeout_s = config.seconds("comm.timeout_s");
  values.bucket_mb = config.integer("comm.bucket_mb");
  return values;
}

}  // namespace mgpu::cluster
