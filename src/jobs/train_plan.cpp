#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <mgpu/jobs/train_job.hpp>
#include <mgpu/jobs/train_plan.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/schedule/chunk_phase.hpp>

#include "train_lm.hpp"
#include "train_sizes.hpp"

namespace mgpu::jobs {
namespace {

using report::Plan;

// What one rank does in a second that has a core, or a GPU, to itself. Operations are counted as by
// TrainSizes. CPU: within a factor 1.5 on one core of a server with AVX-512, model of guide 001.
constexpr double kCpuFlops = 4e10;           // forward and backward
constexpr double kCpuRoundedFlops = 3e10;    // the same, rounded to 16 bits at every product
constexpr double kCpuPlayFlops = 4e9;        // of one token at a time: vectors, not matrices
constexpr double kGpuFlops = 2e13;           // of products as small as this model's
constexpr double kGpuPassSeconds = 4e-3;     // some 300 kernel launches that hide nothing
constexpr double kHistorySteps = 2e7;        // environment steps of the explorer
constexpr double kSealBytesPerSecond = 1e8;  // write, read back, compress
// Code and buffers of libtorch, MPI and HDF5 that come into memory as they are used.
constexpr std::uint64_t kFirstUse = std::uint64_t{40} << 20;
constexpr std::uint64_t kCudaContext = std::uint64_t{512} << 20;  // with cuBLAS and NCCL

/// As whole numbers of bytes, of which many can be added up; nobody has as many as 2^60.
std::uint64_t whole_bytes(double bytes) {
  return static_cast<std::uint64_t>(std::min(bytes, 0x1p60));
}

/// The plan of one run, part by part.
class TrainPlan {
public:
  TrainPlan(const Config& config, const PlanMachine& machine) : sizes_(config), machine_(machine) {
    plan_.name = config.text("run.name");
    plan_.device = machine.device;
    plan_.ranks = machine.ranks;
    plan_.machine = machine_text();
    plan_.unit = "ids";
    allowed_ = 1.0 - config.number("devices.memory_margin");
    bucket_bytes_ = config.integer("comm.bucket_mb") << 20;
    disk_bytes_ = train_disk_bytes(config);
  }

  Plan make() {
    add_shares();
    add_memory();
    add_times();
    add_traffic();
    add_limits();
    return std::move(plan_);
  }

private:
  bool on_gpu() const { return machine_.device == DeviceKind::cuda; }
  bool layout() const { return sizes_.settings.train.batch.layout; }
  /// Whether numbers are rounded to 16 bits for each product on the CPU.
  bool is_rounded() const {
    return !on_gpu() && sizes_.settings.model.compute != model::ComputeKind::f32;
  }
  int nodes() const {
    return (machine_.ranks + machine_.ranks_per_node - 1) / machine_.ranks_per_node;
  }

  std::string machine_text() const {
    std::string text = machine_.name;
    if (nodes() > 1) text = std::to_string(nodes()) + " nodes like " + text;
    return machine_.gpu_name.empty() ? text : text + ", " + machine_.gpu_name;
  }

  std::string place(int rank, const char* what) const {
    const int node = rank / machine_.ranks_per_node;
    std::string text = what;
    if (nodes() > 1) text += ", node " + std::to_string(node);
    if (on_gpu()) text += ", GPU " + std::to_string(rank % machine_.ranks_per_node);
    return text;
  }

  void add_chunk_share(int rank, const char* what, std::int64_t samples) {
    const auto chunks = schedule::pending_chunks({what, 0, samples, sizes_.chunk_size}, {});
    const auto mine = schedule::static_share(chunks, rank, machine_.ranks);
    Plan::Share share{"rank " + std::to_string(rank), place(rank, what)};
    if (!mine.empty()) {
      share.first = mine.front().first;
      share.count = mine.back().first + mine.back().count - share.first;
    }
    plan_.shares.push_back(std::move(share));
  }

  void add_shares() {
    for (int rank = 0; rank < machine_.ranks; ++rank) {
      if (sizes_.settings.data.path.empty()) {
        add_chunk_share(rank, "histories", sizes_.num_histories);
      }
      const auto passes = train::plan_passes(sizes_.settings.train.batch, rank, machine_.ranks);
      plan_.shares.push_back({"rank " + std::to_string(rank), place(rank, "batch"),
                              passes.front().offset,
                              passes.back().offset + passes.back().count - passes.front().offset});
      add_chunk_share(rank, "evaluation", sizes_.num_rollouts);
    }
  }

  /// What autograd keeps of a pass, for each token in floats:
  ///   per layer  x, norm1, mixed, middle, norm2: D each; q, k, v: 3 D; up, gelu: I each
  ///   ends       one-hot fields (47 or so: counted as D), final norm: D, logits: A
  /// and the gradients of one layer that are alive at once: 3 D + D + I. 16-bit copies on a GPU
  /// replace float32 ones of twice the size, so this is a bound for them as well. On the CPU the
  /// rounded `mixed` is kept beside it, and a qkv lives three times while it is rounded.
  std::uint64_t activation_bytes(std::int64_t rows) const {
    const auto& m = sizes_.settings.model;
    std::int64_t per_token = m.n_layer * (8 * m.n_embd + 2 * m.n_inner) + 2 * m.n_embd +
                             m.num_actions + 4 * m.n_embd + m.n_inner;
    if (is_rounded()) per_token += (m.n_layer + 6) * m.n_embd;
    // Scores, probabilities, and probabilities after dropout: [B, H, T, T] each.
    if (m.attention == model::AttentionKind::eager)
      per_token += 3 * m.n_layer * m.n_head * sizes_.window;
    const auto tokens = static_cast<double>(rows * sizes_.window);
    return whole_bytes(tokens * static_cast<double>(per_token) * sizeof(float));
  }

  /// Keys and values of a chunk of runs: 2 x layers x rows x (T + 1) x D floats.
  std::uint64_t cache_bytes() const {
    const auto& m = sizes_.settings.model;
    const std::int64_t rows = std::min(sizes_.chunk_size, sizes_.num_rollouts);
    const auto vectors = static_cast<double>(2 * m.n_layer * rows * (m.n_transit + 1));
    return whole_bytes(vectors * static_cast<double>(m.n_embd) * sizeof(float));
  }

  /// Partial sums of lanes (layout mode), and the peer's part of a bucket.
  std::uint64_t buffer_bytes() const {
    const std::int64_t bucket = std::min(bucket_bytes_, sizes_.weight_bytes);
    if (!layout()) return static_cast<std::uint64_t>(bucket);
    const std::int64_t local_lanes =
        std::max<std::int64_t>(1, sizes_.settings.train.batch.lanes / machine_.ranks);
    const auto levels = static_cast<std::int64_t>(std::log2(static_cast<double>(local_lanes)));
    return static_cast<std::uint64_t>(levels * sizes_.weight_bytes + bucket);
  }

  /// Read by one rank, received by all: the columns of the file and the set made of them.
  std::uint64_t history_memory() const {
    if (sizes_.settings.data.path.empty()) {
      return 2 * static_cast<std::uint64_t>(sizes_.history_bytes);
    }
    return 2 * std::filesystem::file_size(sizes_.settings.data.path);
  }

  std::uint64_t program_bytes() const { return machine_.program_bytes + kFirstUse; }

  void add_memory() {
    const auto weights = static_cast<std::uint64_t>(sizes_.weight_bytes);
    plan_.memory = {{"weights", weights},
                    {"gradients", weights},
                    {"optimizer", 2 * weights},
                    {"activations", activation_bytes(sizes_.rows_at_once(machine_.ranks))},
                    {"evaluation cache", cache_bytes()},
                    {"buffers", buffer_bytes()}};
    // Curves, and on a GPU the host's copies of weights and moments for checkpoints.
    host_bytes_ = program_bytes() + history_memory() +
                  static_cast<std::uint64_t>(sizes_.curve_bytes) + (on_gpu() ? 3 * weights : 0);
    if (on_gpu()) {
      plan_.memory.push_back({"CUDA context", kCudaContext});
      plan_.card_bytes = machine_.gpu_bytes;
      return;
    }
    plan_.memory.push_back({"histories", history_memory()});
    plan_.memory.push_back({"program", program_bytes()});
    plan_.card_bytes = machine_.host_bytes / static_cast<std::uint64_t>(machine_.ranks_per_node);
    for (const Plan::Memory& part : plan_.memory)
      device_bytes_ += part.bytes;
  }

  void add_time(const char* what, double seconds, std::string basis) {
    plan_.times.push_back({what, seconds, Plan::Source::guess, std::move(basis)});
  }

  /// How much slower ranks are that have to share the cores of their node.
  double crowding() const {
    if (machine_.cores == 0) return 1.0;
    return std::max(1.0, static_cast<double>(machine_.ranks_per_node) / machine_.cores);
  }

  /// Work that all ranks do at the same time on the CPU; each does `amount` at `rate` a second.
  void add_cpu_time(const char* what, double amount, double rate, const char* unit) {
    std::string basis =
        report::text_of("%.3g %s a rank, about %.0e/s on one core", amount, unit, rate);
    if (crowding() > 1.0)
      basis += report::text_of(", %d ranks on %d cores", machine_.ranks_per_node, machine_.cores);
    add_time(what, amount / rate * crowding(), std::move(basis));
  }

  void add_times() {
    if (sizes_.settings.data.path.empty()) {
      const double steps =
          static_cast<double>(sizes_.num_histories) * static_cast<double>(sizes_.history.steps());
      add_cpu_time("histories", steps / machine_.ranks, kHistorySteps, "environment steps");
    }
    add_training_time();
    add_evaluation_time();
    add_time("results", static_cast<double>(disk_bytes_) / kSealBytesPerSecond,
             report::bytes_text(disk_bytes_) + " written, 100 MB/s assumed");
  }

  void add_training_time() {
    const auto& s = sizes_.settings;
    const auto passes = train::plan_passes(s.train.batch, 0, machine_.ranks);
    const auto steps = static_cast<double>(s.optimizer.schedule.max_steps);
    const auto rows = static_cast<double>(passes.back().offset + passes.back().count -
                                          passes.front().offset);  // rank 0 has the most
    const auto window = static_cast<double>(sizes_.window);
    const double flops = 3.0 * sizes_.forward_flops(rows * window, window);  // backward: twice
    if (!on_gpu()) {
      add_cpu_time("training", steps * flops, is_rounded() ? kCpuRoundedFlops : kCpuFlops, "FLOP");
      return;
    }
    const double launches = kGpuPassSeconds * static_cast<double>(passes.size());
    add_time("training", steps * std::max(flops / kGpuFlops, launches),
             report::text_of("%.3g FLOP a step and rank, %.0e/s assumed, at least 4 ms a pass",
                             flops, kGpuFlops));
  }

  void add_evaluation_time() {
    const auto& s = sizes_.settings;
    const double controls = s.evaluate.with_controls ? 3.0 : 1.0;
    const double per_evaluation = static_cast<double>(sizes_.num_rollouts) / controls;
    const double runs = per_evaluation * static_cast<double>(s.planned_evaluations()) +
                        static_cast<double>(sizes_.num_rollouts);
    const double tokens = runs * s.evaluate.episodes * sizes_.environment->horizon();
    const double flops = sizes_.forward_flops(tokens, static_cast<double>(sizes_.window));
    // Chunks are not cut: the rank with the most of them decides.
    const double chunks = std::ceil(per_evaluation / static_cast<double>(sizes_.chunk_size));
    const double share = std::ceil(chunks / machine_.ranks) / chunks;
    if (on_gpu()) {
      const double launches = share * tokens / static_cast<double>(sizes_.chunk_size);
      add_time("evaluation", launches * kGpuPassSeconds, "4 ms for each step of a chunk assumed");
      return;
    }
    add_cpu_time("evaluation", share * flops, kCpuPlayFlops, "FLOP in single steps");
  }

  /// Sums by ring: each rank sends 2 (R - 1) / R of the gradients. By tree (layout): all of
  /// them once per level, log2 R levels.
  void add_traffic() {
    const double ranks = machine_.ranks;
    if (machine_.ranks == 1) return;
    const double share = layout() ? std::log2(ranks) : 2.0 * (ranks - 1.0) / ranks;
    Plan::Traffic& gradients = plan_.traffic.emplace_back();
    gradients.link = "gradients, sent by each rank";
    gradients.bytes_per_step =
        static_cast<std::uint64_t>(share * static_cast<double>(sizes_.weight_bytes));
  }

  void add_limit(const char* what, std::uint64_t need, std::uint64_t have, const char* key) {
    if (have == 0) return;
    plan_.limits.push_back({what, static_cast<double>(need) / static_cast<double>(have),
                            report::bytes_text(need) + " of " + report::bytes_text(have), key});
  }

  /// A memory of which a share stays free. `copies`: ranks that share it.
  void add_memory_limit(const char* what, std::uint64_t need, std::uint64_t have,
                        std::uint64_t copies) {
    const auto needed_by = [&](std::uint64_t bytes) {
      return whole_bytes(static_cast<double>(copies) * static_cast<double>(bytes));
    };
    add_limit(what, needed_by(need), have, "train.micro_batch_size");
    if (have == 0) return;
    Plan::Limit& limit = plan_.limits.back();
    limit.allowed = allowed_;
    if (limit.used <= allowed_) return;
    const std::int64_t rows = sizes_.rows_at_once(machine_.ranks);
    const std::uint64_t fixed = need - activation_bytes(rows);
    const auto room = static_cast<std::uint64_t>(allowed_ * static_cast<double>(have));
    for (std::int64_t fewer = rows / 2; fewer > 0; fewer /= 2) {
      if (needed_by(fixed + activation_bytes(fewer)) > room) continue;
      limit.fits = "train.micro_batch_size=" + std::to_string(fewer);
      return;
    }
  }

  void add_limits() {
    const auto ranks_here =
        static_cast<std::uint64_t>(std::min(machine_.ranks, machine_.ranks_per_node));
    if (on_gpu()) {
      for (const Plan::Memory& part : plan_.memory)
        device_bytes_ += part.bytes;
      add_memory_limit("GPU memory", device_bytes_, machine_.gpu_bytes, 1);
      add_limit("memory of a node", ranks_here * host_bytes_, machine_.host_bytes, "data.streams");
    } else {
      add_memory_limit("memory of a node", device_bytes_, machine_.host_bytes, ranks_here);
    }
    add_limit("free disk", disk_bytes_, machine_.disk_bytes, "run.output");
  }

  TrainSizes sizes_;
  const PlanMachine& machine_;
  Plan plan_;
  double allowed_ = 1.0;  // share of memory that the plan may use
  std::int64_t bucket_bytes_ = 0;
  std::uint64_t disk_bytes_ = 0;
  std::uint64_t host_bytes_ = 0;    // of a rank that computes on a GPU
  std::uint64_t device_bytes_ = 0;  // of a rank where it computes
};

}  // namespace

std::uint64_t train_disk_bytes(const Config& config) {
  if (trains_language_model(config)) return lm_disk_bytes(config);
  const TrainSizes sizes(config);
  const bool plays = sizes.settings.data.path.empty();
  // Journal and sealed file hold the same rows; the sealed one may not compress at all.
  const std::int64_t tables =
      2 * ((plays ? sizes.history_bytes : 0) + sizes.num_rollouts * sizes.rollout_bytes);
  // Weights and two moments; kept ones, the best, and the one that is being written.
  const double checkpoints = (sizes.settings.checkpoint.keep + 2.0) *
                             static_cast<double>(3 * sizes.weight_bytes + sizes.curve_bytes);
  return whole_bytes(static_cast<double>(tables) + checkpoints);
}

report::Plan plan_train(const Config& config, const PlanMachine& machine) {
  check_train_files(config);
  if (trains_language_model(config)) return plan_lm_training(config, machine);
  return TrainPlan(config, machine).make();
}

}  // namespace mgpu::jobs
