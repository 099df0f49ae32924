#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/plan_parts.hpp>

#include "recipe.hpp"
#include "sizes.hpp"

namespace mgpu::recipes {
namespace {

using report::Plan;

// Assumed speeds of one rank that has a core or a GPU to itself. Unless noted, they are in
// floating-point operations per second, counted as in TrainSizes::forward_flops(). The CPU speeds
// are accurate within a factor of 1.5 for one core of a server with AVX-512 and a small model.
constexpr double kCpuFlops = 4e10;         // of forward and backward passes
constexpr double kCpuRoundedFlops = 3e10;  // of passes with operands rounded to 16 bits
constexpr double kCpuPlayFlops = 4e9;      // of rollouts, which multiply matrices by vectors
constexpr double kGpuFlops = 2e13;         // of matrix products as small as this model's
constexpr double kGpuPassSeconds = 4e-3;   // least seconds of a pass, for about 300 kernel launches
constexpr double kHistorySteps = 2e7;      // environment steps per second of data.source=explorer

/// Builds the estimate that --plan prints for one run.
class TrainPlan {
public:
  TrainPlan(const Config& config, const run::PlanMachine& machine, const AdSettings& settings,
            std::uint64_t disk_bytes)
      : sizes_(settings),
        machine_(machine),
        plan_(run::begin_plan(config, machine, "ids")),
        memory_(run::memory_of_ranks(config, machine, "train.micro_batch_size")),
        bucket_bytes_(static_cast<std::uint64_t>(cluster::read_cluster_config(config).bucket_mb)
                      << 20),
        disk_bytes_(disk_bytes) {}

  Plan make() {
    add_shares();
    add_memory();
    add_times();
    run::add_gradient_traffic(plan_, batch(), weight_bytes());
    add_limits();
    return std::move(plan_);
  }

private:
  bool on_gpu() const { return machine_.device == DeviceKind::cuda; }
  const train::BatchShape& batch() const { return sizes_.settings.loop.train.batch; }
  std::uint64_t weight_bytes() const { return static_cast<std::uint64_t>(sizes_.weight_bytes); }
  /// Returns whether the model runs on a CPU that rounds the operands of each matrix product to 16
  /// bits.
  bool is_rounded() const {
    return !on_gpu() && sizes_.settings.model.compute != tensor::ComputeKind::f32;
  }

  std::string place(int rank, const char* what) const {
    const int node = rank / machine_.ranks_per_node;
    std::string text = what;
    if (run::nodes_of(machine_) > 1) text += ", node " + std::to_string(node);
    if (on_gpu()) text += ", GPU " + std::to_string(rank % machine_.ranks_per_node);
    return text;
  }

  void add_chunk_share(int rank, const char* what, std::int64_t samples) {
    Plan::Share share =
        run::chunk_share({"", 0, samples, sizes_.settings.loop.chunk_size}, rank, machine_.ranks);
    share.who = "rank " + std::to_string(rank);
    share.where = place(rank, what);
    plan_.shares.push_back(std::move(share));
  }

  void add_shares() {
    for (int rank = 0; rank < machine_.ranks; ++rank) {
      if (sizes_.settings.data.path.empty()) {
        add_chunk_share(rank, "histories", sizes_.num_histories);
      }
      const auto passes = train::plan_micro_batches(batch(), rank, machine_.ranks, machine_.device);
      plan_.shares.push_back({"rank " + std::to_string(rank), place(rank, "batch"),
                              passes.front().offset,
                              passes.back().offset + passes.back().count - passes.front().offset});
      add_chunk_share(rank, "evaluation", sizes_.num_rollouts);
    }
  }

  /// Returns the memory that autograd keeps for a pass of `rows` rows. The estimate counts these
  /// floats for each token, with D = n_embd, I = n_inner, A = actions:
  ///   per layer  x, norm1, attention_out, residual, norm2: D each; q, k, v: 3 D; up, gelu: I each
  ///   once       one-hot fields (about 47, counted as D), final norm: D, logits: A
  /// The estimate also counts 3 D + D + I floats for gradients of one layer, because no more than
  /// these exist at the same time. On a GPU, the estimate is an upper bound, because some tensors
  /// have 16-bit elements. A CPU that rounds also keeps the rounded `attention_out`, and needs
  /// three copies of q, k and v while it rounds them.
  std::uint64_t activation_bytes(std::int64_t rows) const {
    const auto& m = sizes_.settings.model;
    std::int64_t per_token = m.n_layer * (8 * m.n_embd + 2 * m.n_inner) + 2 * m.n_embd +
                             m.num_actions + 4 * m.n_embd + m.n_inner;
    if (is_rounded()) per_token += (m.n_layer + 6) * m.n_embd;
    // Counts three tensors: attention scores, probabilities, and probabilities after dropout. Each
    // tensor has n_head x `window` floats per layer and token.
    if (m.attention == ad::AttentionKind::eager)
      per_token += 3 * m.n_layer * m.n_head * sizes_.window;
    const auto tokens = static_cast<double>(rows * sizes_.window);
    return run::whole_bytes(tokens * static_cast<double>(per_token) * sizeof(float));
  }

  /// Returns the bytes of the attention keys and values of a chunk of rollouts: 2 x layers x
  /// rollouts x (T + 1) x D floats. T is n_transit, and D is n_embd. The position after the T
  /// tokens is for padding.
  std::uint64_t cache_bytes() const {
    const auto& m = sizes_.settings.model;
    const std::int64_t rows = std::min(sizes_.settings.loop.chunk_size, sizes_.num_rollouts);
    const auto vectors = static_cast<double>(2 * m.n_layer * rows * (m.n_transit + 1));
    return run::whole_bytes(vectors * static_cast<double>(m.n_embd) * sizeof(float));
  }

  /// Returns the memory of the histories on each rank. It counts the columns of the file, which
  /// every rank receives, and the HistorySet that is built from them.
  std::uint64_t history_memory() const {
    if (sizes_.settings.data.path.empty()) {
      return 2 * static_cast<std::uint64_t>(sizes_.history_bytes);
    }
    return 2 * std::filesystem::file_size(sizes_.settings.data.path);
  }

  void add_memory() {
    const std::uint64_t weights = weight_bytes();
    plan_.memory = {
        {"weights", weights},
        {"gradients", weights},
        {"optimizer", 2 * weights},
        {"activations", activation_bytes(sizes_.rows_at_once(machine_.ranks, machine_.device))},
        {"evaluation cache", cache_bytes()},
        {"buffers", run::gradient_buffer_bytes(batch(), weights, bucket_bytes_, machine_.ranks)}};
    // The host memory includes the curves, and with a GPU also copies of weights and moments for
    // checkpoints.
    host_bytes_ = run::program_bytes(machine_) + history_memory() +
                  static_cast<std::uint64_t>(sizes_.curve_bytes) + (on_gpu() ? 3 * weights : 0);
    if (on_gpu()) {
      plan_.memory.push_back({"CUDA context", run::kCudaContext});
      return;
    }
    plan_.memory.push_back({"histories", history_memory()});
    plan_.memory.push_back({"program", run::program_bytes(machine_)});
  }

  void add_time(const char* what, double seconds, std::string basis) {
    plan_.times.push_back({what, seconds, std::move(basis)});
  }

  /// Returns how many times slower a rank is when ranks share the cores of their node.
  double crowding() const {
    if (machine_.cores == 0) return 1.0;
    return std::max(1.0, static_cast<double>(machine_.ranks_per_node) / machine_.cores);
  }

  /// Adds the time of work that all ranks do simultaneously on the CPU. Each rank does `amount`
  /// units of work at `rate` units per second.
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
    add_time("results", static_cast<double>(disk_bytes_) / run::kSealBytesPerSecond,
             report::bytes_text(disk_bytes_) + " written, 100 MB/s assumed");
  }

  void add_training_time() {
    const auto& s = sizes_.settings;
    const auto passes =
        train::plan_micro_batches(s.loop.train.batch, 0, machine_.ranks, machine_.device);
    const auto steps = static_cast<double>(s.loop.optimizer.schedule.max_steps);
    const auto rows = static_cast<double>(passes.back().offset + passes.back().count -
                                          passes.front().offset);  // rank 0 has the largest share
    const auto window = static_cast<double>(sizes_.window);
    // The backward pass costs twice as much as the forward pass.
    const double flops = 3.0 * sizes_.forward_flops(rows * window, window);
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
    const double runs = per_evaluation * static_cast<double>(s.loop.planned_evaluations()) +
                        static_cast<double>(sizes_.num_rollouts);
    const double tokens = runs * s.evaluate.episodes * sizes_.environment->horizon();
    const double flops = sizes_.forward_flops(tokens, static_cast<double>(sizes_.window));
    // Chunks are not split, so the rank with the most chunks determines the time.
    const double chunks =
        std::ceil(per_evaluation / static_cast<double>(sizes_.settings.loop.chunk_size));
    const double most = std::ceil(chunks / machine_.ranks);
    if (on_gpu()) {
      const double passes =
          most * runs / per_evaluation * s.evaluate.episodes * sizes_.environment->horizon();
      add_time("evaluation", passes * kGpuPassSeconds, "4 ms for each step of a chunk assumed");
      return;
    }
    add_cpu_time("evaluation", most / chunks * flops, kCpuPlayFlops, "FLOP in single steps");
  }

  /// Returns the memory that a rank needs on its device, with `rows` rows in a pass.
  std::uint64_t bytes_with(std::int64_t rows) const {
    const std::int64_t now = sizes_.rows_at_once(machine_.ranks, machine_.device);
    return run::planned_bytes(plan_) - activation_bytes(now) + activation_bytes(rows);
  }

  void add_limits() {
    const std::int64_t rows = sizes_.rows_at_once(machine_.ranks, machine_.device);
    run::add_memory_limit(plan_, memory_, run::planned_bytes(plan_), [&] {
      return run::fitting_rows(memory_, rows,
                               [&](std::int64_t fewer) { return bytes_with(fewer); });
    });
    if (on_gpu()) {
      const auto ranks_here =
          static_cast<std::uint64_t>(std::min(machine_.ranks, machine_.ranks_per_node));
      run::add_limit(plan_, "memory of a node", ranks_here * host_bytes_, machine_.host_bytes,
                     "data.streams");
    }
    run::add_limit(plan_, "free disk", disk_bytes_, machine_.disk_bytes, "run.output");
  }

  TrainSizes sizes_;
  const run::PlanMachine& machine_;
  Plan plan_;
  run::SharedMemory memory_;
  std::uint64_t bucket_bytes_ = 0;
  std::uint64_t disk_bytes_ = 0;
  std::uint64_t host_bytes_ = 0;  // host memory of a rank that computes on a GPU
};

}  // namespace

std::uint64_t AdRecipe::disk_bytes() const {
  const TrainSizes sizes(settings_);
  const bool plays = sizes.settings.data.path.empty();
  // The journal and the sealed file hold the same rows. In the worst case, compression does not
  // make the sealed file smaller.
  const std::int64_t tables =
      2 * ((plays ? sizes.history_bytes : 0) + sizes.num_rollouts * sizes.rollout_bytes);
  // A checkpoint holds weights and two moments. Disk space is needed for the kept checkpoints, the
  // best one and the one that is being written.
  const double checkpoints = (sizes.settings.loop.checkpoint.keep + 2.0) *
                             static_cast<double>(3 * sizes.weight_bytes + sizes.curve_bytes);
  return run::whole_bytes(static_cast<double>(tables) + checkpoints);
}

report::Plan AdRecipe::plan(const run::PlanMachine& machine) const {
  return TrainPlan(config_, machine, settings_, disk_bytes()).make();
}

}  // namespace mgpu::recipes
