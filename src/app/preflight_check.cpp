#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include <mgpu/app/commands.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/cluster/gpu_cards.hpp>
#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "check_folder.hpp"
#include "check_list.hpp"
#include "check_probes.hpp"
#include "inspect_machine.hpp"
#include "run_keys.hpp"

namespace mgpu::app {
namespace {

using report::Verdict;

/// Returns the options. If the options have neither a configuration nor the key `job`, sets `job`
/// to the first job, because `job` is the only key without a default. Without a configuration,
/// --check tests only the installation, and the tests do not depend on the job.
Options with_job(Options options) {
  const bool has_job = !options.config.empty() ||
                       std::any_of(options.overrides.begin(), options.overrides.end(),
                                   [](const Override& given) { return given.key == "job"; });
  const std::string first(jobs::jobs().front().name);
  if (!has_job) options.overrides.push_back({"job", first, "--check", "job=" + first, 5});
  return options;
}

/// All checks of --check, in order. Later checks use the results of earlier ones.
class RunChecks {
public:
  RunChecks(const cluster::Group& world, const Options& options, std::ostream& out)
      : world_(world),
        options_(with_job(options)),
        has_config_(!options.config.empty()),
        list_(world, options, out) {}

  ExitCode run() {
    if (!check_config()) return list_.finish();
    if (has_config_) check_files();
    check_output();
    check_ranks();
    if (has_config_) check_memory();
    check_all_reduce();
    check_store();
    return list_.finish();
  }

private:
  bool check_config() {
    const auto check = [&] {
      const auto rules = [&](const Config& config) {
        keys_ = read_run_keys(config, [&](const cluster::ClusterConfig& cluster) {
          return has_config_ ? ranks_of(cluster) : 1;
        });
      };
      config_.emplace(load_config(options_, program_keys(), cluster::shared_files(world_), rules));
      return Finding{config_detail()};
    };
    const std::string what = has_config_ ? options_.config : "none: the installation";
    if (!list_.run("config", what, check)) return false;
    if (has_config_) {
      config_ = jobs::with_chunk_size(world_, *config_);
      job_ = jobs::read_job(world_, *config_);
    }
    for (const std::string& note : jobs::notes_for_job(*config_))
      list_.run("config", "note", [&] { return Finding{note}; });
    return true;
  }

  /// Returns the number of ranks of the run that is checked:
  /// - the number of ranks of this --check, if --check was started with several ranks
  /// - otherwise planned_ranks(), the number that --plan assumes
  int ranks_of(const cluster::ClusterConfig& cluster) const {
    return world_.size() > 1 ? world_.size() : planned_ranks(cluster);
  }

  /// Returns whether the run that is checked will have more ranks than this --check has.
  bool is_for_more_ranks() const { return has_config_ && ranks_of(keys_.cluster) > world_.size(); }

  std::string config_detail() const {
    if (!has_config_) return "";
    const auto& keys = config_->table().keys();
    const auto given = std::count_if(
        keys.begin(), keys.end(), [&](const KeySpec& key) { return config_->is_given(key.name); });
    return std::to_string(given) + " keys, " + std::to_string(config_->not_default().size()) +
           " not default";
  }

  void check_files() {
    for (const run::FileCheck& check : job_->file_checks())
      list_.run("files", check.what, [&] { return Finding{check.look(world_)}; });
  }

  void check_output() {
    list_.run("files", keys_.store.output_folder.string(), [&] {
      folder_ = std::make_unique<CheckFolder>(world_, keys_.store.output_folder);
      return Finding{"writable, " + cluster::on_rank_0(world_, [&] { return space_text(); })};
    });
  }

  std::string space_text() const {
    const std::uint64_t needed = has_config_ ? job_->disk_bytes() : 0;
    store::require_free_space(keys_.store.output_folder, needed);
    const std::string free = report::bytes_text(free_bytes(keys_.store.output_folder)) + " free";
    return needed == 0 ? free : free + ", at most " + report::bytes_text(needed) + " needed";
  }

  void check_ranks() {
    const std::string what =
        std::to_string(world_.size()) + (world_.size() == 1 ? " rank" : " ranks");
    const bool found = list_.run("ranks", what, [&] {
      const std::vector<int> groups =
          is_for_more_ranks() ? std::vector{1} : keys_.cluster.group_sizes();
      topology_ = std::make_unique<cluster::Topology>(world_, groups);
      choice_ = cluster::choose_device(*topology_, keys_.cluster);
      return judge_ranks();
    });
    if (!found) choice_.reset();
    list_.run("gpu", "device of rank 0", [&] { return judge_device(); });
  }

  /// Returns the largest number of ranks on a node.
  int ranks_per_node() const {
    return world_.all_reduce(std::int32_t{topology_->node().size()}, cluster::ReduceOp::max);
  }

  Finding judge_ranks() const {
    const int nodes = topology_->num_nodes();
    std::string text = std::to_string(nodes) + (nodes == 1 ? " node, " : " nodes, ") +
                       std::string(cluster::name_of(choice_->plan.backend)) + ": " +
                       choice_->plan.note;
    if (is_for_more_ranks())
      text +=
          "; keys and memory are checked for " + std::to_string(ranks_of(keys_.cluster)) + " ranks";
    const int threads = ranks_per_node() * keys_.cluster.threads;
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    if (cores == 0 || threads <= cores) return {text};
    return {std::to_string(threads) + " compute threads on " + std::to_string(cores) +
                " cores wait for each other; " + text,
            Verdict::warn};
  }

  Finding judge_device() const {
    if (!choice_) return {"no devices were chosen", Verdict::skip};
    if (choice_->device.kind == DeviceKind::cpu) return {choice_->plan.note, Verdict::skip};
    return {choice_->gpu.name + ", " + report::bytes_text(choice_->gpu.memory_bytes)};
  }

  void check_memory() {
    list_.run("memory", "plan against " + machine_text(), [&] {
      const run::PlanMachine machine = is_for_more_ranks() || keys_.cluster.card != nullptr
                                           ? planned_machine()
                                           : launched_machine();
      Finding finding;
      cluster::run_together(world_, [&] { finding = judge(job_->plan(machine)); });
      return finding;
    });
  }

  /// Returns "the machine", or "4 x NVIDIA A10" if devices.gpu names the GPUs of another machine.
  std::string machine_text() const {
    if (keys_.cluster.card == nullptr) return "the machine";
    return std::to_string(ranks_of(keys_.cluster)) + " x " + std::string(keys_.cluster.card->name);
  }

  /// Returns a machine with ranks_of() ranks and the GPUs that devices.gpu names. If devices.gpu is
  /// not set, the returned machine has the hardware of this machine.
  run::PlanMachine planned_machine() const {
    cluster::ClusterConfig planned = keys_.cluster;
    planned.world = ranks_of(keys_.cluster);
    return inspect_machine(planned, keys_.store.output_folder);
  }

  /// Returns this machine with the ranks and the GPU of this --check.
  run::PlanMachine launched_machine() const {
    run::PlanMachine machine = run::inspect_host(keys_.store.output_folder);
    machine.ranks = world_.size();
    machine.ranks_per_node = topology_ ? ranks_per_node() : world_.size();
    if (choice_ && choice_->device.kind == DeviceKind::cuda) {
      machine.device = DeviceKind::cuda;
      machine.gpu_name = choice_->gpu.name;
      machine.gpu_bytes = choice_->gpu.memory_bytes;
    }
    return machine;
  }

  /// Returns a finding about the fullest limit of the plan, which has the largest share in use
  /// (Limit::used). The limit of the disk is left out, because check_output() covers the disk. The
  /// finding is a warning in two cases:
  /// - Limit::used of the fullest limit is larger than its Limit::allowed.
  /// - The plan has no limit except the limit of the disk.
  ///
  /// Errors: Failure E301 if a limit is exceeded.
  Finding judge(const report::Plan& plan) const {
    Finding finding{"no sizes known", Verdict::warn};
    double fullest = -1.0;
    for (const report::Plan::Limit& limit : plan.limits) {
      if (limit.key == "run.output" || limit.used <= fullest) continue;
      fullest = limit.used;
      finding = {limit.what + ": " + limit.detail};
      if (limit.used > limit.allowed) finding.verdict = Verdict::warn;
      if (limit.used <= 1.0) continue;
      throw Failure({"E301",
                     ExitCode::out_of_memory,
                     "the plan does not fit: " + limit.what + ", " + limit.detail,
                     {},
                     (limit.fits.empty() ? "smaller " + limit.key : limit.fits + " fits") +
                         "; --plan shows what needs how much"});
    }
    return finding;
  }

  void check_all_reduce() {
    const std::string area =
        choice_ ? std::string(cluster::name_of(choice_->plan.backend)) : "comm";
    list_.run(area, "allreduce 16 MiB", [&]() -> Finding {
      if (!choice_) return {"no devices were chosen", Verdict::skip};
      if (world_.size() == 1) return {"one rank", Verdict::skip};
      constexpr double kPatience = 30.0;  // seconds; a longer wait means a hang
      return probe_all_reduce(*topology_, *choice_, std::min(keys_.cluster.timeout_s, kPatience));
    });
  }

  void check_store() {
    const auto in_folder =
        [&](Finding (*probe)(const cluster::Group&, const std::filesystem::path&)) {
          if (!folder_) return Finding{"no folder to write to", Verdict::skip};
          return probe(world_, folder_->path());
        };
    list_.run("mpi", "gather, parallel HDF5 write and read back",
              [&] { return in_folder(probe_files); });
    list_.run("restart", "save, load, same bits", [&] { return in_folder(probe_restart); });
  }

  const cluster::Group& world_;
  Options options_;
  bool has_config_;
  CheckList list_;
  std::optional<Config> config_;
  std::unique_ptr<jobs::Job> job_;  // nullptr without a configuration
  RunKeys keys_;
  std::unique_ptr<CheckFolder> folder_;
  std::unique_ptr<cluster::Topology> topology_;
  std::optional<cluster::DeviceChoice> choice_;
};

}  // namespace

ExitCode run_checks(const cluster::Group& world, const Options& options, std::ostream& out) {
  return RunChecks(world, options, out).run();
}

}  // namespace mgpu::app
