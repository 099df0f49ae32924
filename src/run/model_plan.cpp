#include <algorithm>
#include <set>
#include <utility>

#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/model_plan.hpp>

namespace mgpu::run {
namespace {

using report::Plan;

constexpr ModelPlan::Rates kCoreRates{8e9, 8e10, "one core"};
constexpr ModelPlan::Rates kGpuRates{1.5e12, 2e13, "one GPU"};
constexpr double kShareOfBandwidth = 0.7;  // share of a GPU's memory bandwidth used by decoding

/// Formats "rank 3" or "ranks 4 to 5".
std::string ranks_text(int first, int count) {
  if (count == 1) return "rank " + std::to_string(first);
  return "ranks " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace

std::int64_t num_parameters(const std::vector<tensor::ParameterSpec>& specs) {
  std::int64_t sum = 0;
  for (const tensor::ParameterSpec& spec : specs) {
    std::int64_t count = 1;
    for (const std::int64_t size : spec.shape)
      count *= size;
    sum += count;
  }
  return sum;
}

std::int64_t num_parameters(const lm::LmConfig& config) {
  return num_parameters(lm::weight_specs(config));
}

ModelPlan::ModelPlan(const Config& config, const JobKeys& keys, const ModelKeys& model,
                     const PlanMachine& machine, Work work)
    : keys_(keys),
      model_(model),
      machine_(machine),
      work_(std::move(work)),
      memory_(memory_of_ranks(config, machine, work_.names.key)),
      plan_(begin_plan(config, machine, work_.unit)) {
  work_.demand.device = machine.device;
  work_.demand.matrices = model.matrices;
}

ModelPlan::Rates ModelPlan::rates() const {
  if (machine_.device != DeviceKind::cuda) return kCoreRates;
  if (machine_.gpu_bytes_per_s == 0.0) return kGpuRates;
  const bool is_16_bit = model_.matrices != lm::MatrixType::f32;
  return {kShareOfBandwidth * machine_.gpu_bytes_per_s,
          kShareOfPeak * (is_16_bit ? machine_.gpu_flops_16 : machine_.gpu_flops_32), "one GPU"};
}

void ModelPlan::add_shares() {
  const ChunkPhase phase = this->phase();
  const std::vector<int> groups = cluster::group_of_each_rank(machine_.ranks, model_.group_sizes);
  const int num_groups = groups.back() + 1;
  for (int group = 0; group < num_groups; ++group) {
    const auto [first, last] = std::ranges::equal_range(groups, group);
    Plan::Share share = chunk_share(phase, group, num_groups);
    share.who =
        ranks_text(static_cast<int>(first - groups.begin()), static_cast<int>(last - first));
    share.where = machine_.name;
    plan_.shares.push_back(std::move(share));
  }
  const auto chunks = std::ssize(pending_chunks(phase, {}));
  if (const auto idle = idle_note(phase, chunks, num_groups, machine_.ranks, work_.unit))
    plan_.notes.push_back(idle->sentence());
  if (num_groups > 1 && keys_.is_dynamic)
    plan_.notes.emplace_back("who is free claims the next chunk: equal shares at equal speed");
  if (!keys_.is_part_of_run()) return;
  const std::string done = report::grouped(samples_of_part(phase));
  const std::string all = report::grouped(work_.samples);
  plan_.notes.push_back(report::text_of("this run does %s: %s of %s %s",
                                        part_text(phase.part).c_str(), done.c_str(), all.c_str(),
                                        work_.unit.c_str()));
}

ChunkPhase ModelPlan::phase() const {
  return {"", 0, work_.samples, keys_.chunk_size, keys_.part};
}

/// Returns how many bytes of a rank's memory remain after the program, the other models and the
/// other data of the job. Returns a very large number if the memory of the machine is unknown.
std::int64_t ModelPlan::headroom() const {
  constexpr std::int64_t kUnknown = std::int64_t{1} << 60;
  if (memory_.have == 0) return kUnknown;
  std::uint64_t others = work_.other_bytes;
  for (const Plan::Memory& model : work_.other_models)
    others += model.bytes;
  return static_cast<std::int64_t>(memory_.headroom()) -
         static_cast<std::int64_t>(others + program_bytes(machine_));
}

void ModelPlan::find_batch(bool is_auto) {
  lm::MemoryDemand& demand = work_.demand;
  fit_ = lm::fit_memory(work_.model, model_.plan, demand, headroom(), machine_.ranks);
  if (!is_auto) return;
  for (const int size : model_.group_sizes) {
    for (const lm::Shard& shard : lm::shards_of(work_.model, model_.plan, size)) {
      const auto weights = lm::memory_of(work_.model, shard, demand, size).weights;
      demand.batch_size = std::max<std::int64_t>(
          1, lm::largest_batch(work_.model, shard, demand, size, headroom() - weights));
    }
  }
  plan_.notes.push_back(std::string(work_.names.key) +
                        "=auto: " + std::to_string(demand.batch_size) +
                        " with all of this memory; a run goes by what is free");
}

/// Returns arguments with which one tree fits into the memory of each rank. Returns "" if the job
/// has no trees, or if not even a tree with one path fits.
std::string ModelPlan::fewer_paths() const {
  std::int64_t paths = work_.demand.tree_paths;
  for (const int size : model_.group_sizes)
    for (const lm::Shard& shard : lm::shards_of(work_.model, model_.plan, size)) {
      const auto weights = lm::memory_of(work_.model, shard, work_.demand, size).weights;
      paths = std::min(
          paths, lm::largest_tree(work_.model, shard, work_.demand, size, headroom() - weights));
    }
  return paths == 0 ? "" : paths_text(paths, work_.names);
}

void ModelPlan::add_memory() {
  lm::MemoryUse fullest;
  for (const int size : std::set<int>(model_.group_sizes.begin(), model_.group_sizes.end())) {
    const auto shards = lm::shards_of(work_.model, model_.plan, size);
    for (std::size_t r = 0; r < shards.size(); ++r) {
      const auto use = lm::memory_of(work_.model, shards[r], work_.demand, size);
      if (use.total() > fullest.total()) fullest = use;
      if (model_.group_sizes == std::vector<int>{1}) continue;
      plan_.notes.push_back("rank " + std::to_string(r) + " of a group of " + std::to_string(size) +
                            ": " + use_text(use));
    }
  }
  plan_.notes.push_back(
      fit_ ? "smallest group and largest batch that fit: " + fit_text(model_, fit_, work_.names)
           : std::string("no group of these ranks has room for the model and one ") +
                 work_.names.one);
  const auto bytes = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  plan_.memory = {
      {"weights", bytes(fullest.weights)},         {"cache", bytes(fullest.cache)},
      {"activations", bytes(fullest.activations)}, {"buffers", bytes(fullest.buffers)},
      {work_.other_name, work_.other_bytes},       {"program", program_bytes(machine_)}};
  if (fullest.others > 0)
    plan_.memory.push_back({"caches and passes of other models", bytes(fullest.others)});
  for (const Plan::Memory& model : work_.other_models)
    if (model.bytes > 0) plan_.memory.push_back(model);
}

void ModelPlan::add_time(const char* what, double seconds, std::string basis) {
  const double part = static_cast<double>(samples_of_part(phase())) /
                      static_cast<double>(std::max<std::int64_t>(work_.samples, 1));
  plan_.times.push_back({what, part * seconds, std::move(basis)});
}

void ModelPlan::add_seal_time() {
  add_time("seal", static_cast<double>(work_.disk) / kSealBytesPerSecond,
           report::bytes_text(work_.disk) + " written, 100 MB/s assumed");
}

void ModelPlan::add_limits() {
  add_memory_limit(plan_, memory_, planned_bytes(plan_),
                   [&] { return fit_ ? fit_text(model_, fit_, work_.names) : fewer_paths(); });
  add_limit(plan_, "free disk", work_.disk, machine_.disk_bytes, "run.output");
}

}  // namespace mgpu::run
