#include <algorithm>
#include <initializer_list>

#include <mgpu/base/environment.hpp>
#include <mgpu/base/secrets.hpp>

namespace mgpu {
namespace {

/// Environment variables whose values the program may show. Their names are `prefix` followed by
/// one of `names`. A name that ends with * stands for all names that begin with the text before the
/// *.
struct Family {
  std::string_view prefix;
  std::initializer_list<std::string_view> names;
};

const Family kFamilies[] = {
    {"CUBLAS_", {"WORKSPACE_CONFIG"}},
    {"CUDA_",
     {"CACHE_*", "DEVICE_*", "LAUNCH_BLOCKING", "MODULE_LOADING", "MPS_*", "VISIBLE_DEVICES"}},
    {"FI_", {"EFA_*", "HMEM*", "MR_*", "PROVIDER", "LOG_LEVEL", "TCP_IFACE"}},
    {"HDF5_", {"*"}},
    {"MGPU_", {"COLUMNS", "FAILPOINT*", "START_LIMIT_S", "TESTING", "TTY"}},
    {"NCCL_", {"ALGO",     "BUFFSIZE", "COLLNET_*",  "CROSS_NIC", "CUMEM_*",
               "DEBUG*",   "DMABUF_*", "IB_*",       "LAUNCH_*",  "MAX_*",
               "MIN_*",    "MNNVL_*",  "NCHANNELS*", "NET",       "NET_GDR_*",
               "NTHREADS", "NVLS_*",   "P2P_*",      "PROTO",     "PXN_*",
               "SHM_*",    "SOCKET_*", "TOPO_*",     "TREE_*",    "IGNORE_CPU_AFFINITY"}},
    {"OMP_",
     {"DISPLAY_*", "DYNAMIC", "MAX_*", "NUM_THREADS", "PLACES", "PROC_BIND", "SCHEDULE",
      "STACKSIZE", "THREAD_LIMIT", "WAIT_POLICY"}},
    {"OMPI_", {"COMM_WORLD_*", "UNIVERSE_SIZE", "VERSION"}},
    {"OMPI_MCA_",
     {"btl*", "coll*", "fbtl*", "fcoll*", "fs*", "hwloc*", "io*", "mpi_*", "mtl*", "opal_*", "osc*",
      "pml*", "rmaps*", "sharedfp*"}},
    {"PMIX_", {"HOSTNAME", "RANK", "VERSION"}},
    {"SLURM_",
     {"ARRAY_*",       "CLUSTER_NAME", "CPUS_*",         "CPU_BIND*",    "GPUS*",
      "GPU_BIND",      "GTIDS",        "JOBID",          "JOB_ACCOUNT",  "JOB_CPUS_PER_NODE",
      "JOB_END_TIME",  "JOB_GPUS",     "JOB_ID",         "JOB_NODELIST", "JOB_NUM_NODES",
      "JOB_PARTITION", "JOB_QOS",      "JOB_START_TIME", "LOCALID",      "MEM_*",
      "MPI_TYPE",      "NNODES",       "NODEID",         "NODELIST",     "NPROCS",
      "NTASKS*",       "PROCID",       "RESTART_COUNT",  "STEP_*",       "TASKS_PER_NODE"}},
    {"UCX_", {"IB_*", "LOG_LEVEL", "MEMTYPE_CACHE", "NET_DEVICES", "RNDV_*", "TLS"}},
};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

bool is_shown_variable(std::string_view name) {
  if (is_secret_name(name)) return false;
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](const Family& family) {
    if (!name.starts_with(family.prefix)) return false;
    const std::string_view rest = name.substr(family.prefix.size());
    return std::any_of(family.names.begin(), family.names.end(),
                       [&](std::string_view pattern) { return matches(rest, pattern); });
  });
}

std::map<std::string, std::string> shown_environment(const char* const* environment) {
  std::map<std::string, std::string> shown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (is_shown_variable(name)) shown.emplace(name, redact(entry.substr(equals + 1)));
  }
  return shown;
}

}  // namespace mgpu
