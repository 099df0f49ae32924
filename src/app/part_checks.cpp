#include "part_checks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <mgpu/jobs/job.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::app {
namespace {

using ValuesByName = std::map<std::string, std::string>;

constexpr store::PlaceNames kRuns{"in the first", "in the other"};

std::string command_of(const PartRun& run) {
  const std::filesystem::path config = run.folder / "repro" / "config.resolved.yaml";
  return "mpirun -np 2 ./mgpu_spmd " + store::shell_word(config.string());
}

/// Returns the keys on which the results of a run depend, with their values.
ValuesByName identifying(const PartRun& run) {
  ValuesByName keys = store::identity_keys(run.config);
  keys.insert(run.device_keys.begin(), run.device_keys.end());
  return keys;
}

/// Returns the command that computes this run's part again.
std::string command_again(const PartRun& run) {
  const bool is_part = run.part.count > 1;
  return command_of(run) + " run.resume=never" +
         (is_part
              ? " --only " + std::to_string(run.part.index) + "/" + std::to_string(run.part.count)
              : "");
}

/// Returns advice for a failed merge: how to run the part of `other` again with the batch sizes
/// that `first` used on its GPUs. If only one of the two runs used GPUs, the advice is to use one
/// kind of device for all parts.
std::string help_for_sizes(const PartRun& first, const PartRun& other) {
  if (first.device_keys.empty() != other.device_keys.empty())
    return "make all parts on GPUs, or all on CPUs";
  std::string command = command_again(other);
  for (const auto& [key, value] : first.device_keys)
    if (key.ends_with(".batch_size")) command += " " + key + "=" + value;
  return "make the part with the sizes of the first: " + command;
}

void check_identities(const std::vector<PartRun>& runs) {
  const PartRun& first = runs.front();
  for (const PartRun& run : runs) {
    if (run.config.identity() == first.config.identity() && run.device_keys == first.device_keys)
      continue;
    std::vector<std::string> lines = {"  --> " + first.folder.string(),
                                      "  --> " + run.folder.string()};
    const auto different = store::differences(identifying(first), identifying(run), kRuns);
    lines.insert(lines.end(), different.begin(), different.end());
    const bool has_same_keys = run.config.identity() == first.config.identity();
    throw do_not_fit(
        "these runs have different configurations", std::move(lines),
        has_same_keys ? help_for_sizes(first, run) : "merge runs that differ in --only alone");
  }
}

/// Returns the checksums of a run's inputs by name. If the name of an input is a key, such as
/// data.path, the value of this key is appended to the name.
ValuesByName named_inputs(const PartRun& run) {
  ValuesByName named;
  for (const auto& [key, value] : run.inputs) {
    const bool is_key = std::ranges::any_of(run.config.keys(),
                                            [&](const KeySpec* spec) { return spec->name == key; });
    named[is_key ? key + " " + run.config.shown(key) : key] = value;
  }
  return named;
}

/// Throws if the inputs of two runs differ in their names or checksums. Runs without recorded
/// inputs are not checked: earlier versions of the program did not record them.
void check_inputs(const std::vector<PartRun>& runs) {
  const auto has_inputs = [](const PartRun& run) { return !run.inputs.empty(); };
  const auto first = std::ranges::find_if(runs, has_inputs);
  for (auto run = first; run != runs.end(); ++run) {
    if (!has_inputs(*run) || run->inputs == first->inputs) continue;
    std::vector<std::string> lines = {"  --> " + first->folder.string(),
                                      "  --> " + run->folder.string()};
    const std::vector<std::string> different =
        store::differences(named_inputs(*first), named_inputs(*run), kRuns);
    lines.insert(lines.end(), different.begin(), different.end());
    const bool is_older = first->folder.filename() < run->folder.filename();
    throw do_not_fit("these runs read inputs with different checksums", std::move(lines),
                     "make the older part again with the inputs of the other:\n  " +
                         command_again(is_older ? *first : *run));
  }
}

/// Throws if the runs have different formats. The chunks of one journal must have one format.
void check_formats(const std::vector<PartRun>& runs) {
  std::vector<std::string> lines;
  bool is_mixed = false;
  for (const PartRun& run : runs) {
    lines.push_back("  --> " + run.folder.string() + ": format " + std::to_string(run.format));
    is_mixed = is_mixed || run.format != runs.front().format;
  }
  if (!is_mixed) return;
  throw do_not_fit("these runs were written by versions with different formats", std::move(lines),
                   "run the parts of the older format again, then merge");
}

void check_that_job_has_parts(const PartRun& run) {
  const jobs::JobSpec& job = jobs::job_of(run.config);
  if (job.has_parts) return;
  throw do_not_fit("job " + std::string(job.name) + " has no parts that could be merged",
                   {"  --> " + run.folder.string()}, "give --merge one run directory of this job");
}

void check_finished(const std::vector<PartRun>& runs) {
  std::vector<std::string> lines;
  std::string help;
  for (const PartRun& run : runs) {
    if (run.is_finished) continue;
    lines.push_back("  --> " + run.folder.string() + ": " + run::part_text(run.part));
    if (help.empty()) help = command_of(run) + " " + store::path_argument("--resume", run.folder);
  }
  if (lines.empty()) return;
  throw do_not_fit("a run to merge is not finished", std::move(lines), std::move(help));
}

/// Returns the runs by the index I of their part I/N (--only). Returns an empty map if the number N
/// of parts is not the same for all runs.
std::map<int, std::vector<const PartRun*>> by_part(const std::vector<PartRun>& runs) {
  std::map<int, std::vector<const PartRun*>> parts;
  for (const PartRun& run : runs) {
    if (run.part.count != runs.front().part.count) return {};
    parts[run.part.index].push_back(&run);
  }
  return parts;
}

void check_parts(const std::vector<PartRun>& runs) {
  const auto parts = by_part(runs);
  if (parts.empty()) return;  // the runs differ in N; Job::merge() counts what is missing
  std::vector<std::string> missing;
  std::string help;
  const int count = runs.front().part.count;
  for (int part = 0; part < count; ++part) {
    if (parts.contains(part)) continue;
    missing.push_back("  " + run::part_text({part, count}));
    if (help.empty())
      help = command_of(runs.front()) + " --only " + std::to_string(part) + "/" +
             std::to_string(count);
  }
  if (missing.empty()) return;
  throw do_not_fit("parts of the run are missing", std::move(missing), std::move(help));
}

}  // namespace

Failure do_not_fit(std::string sentence, std::vector<std::string> lines, std::string help) {
  return Failure({"E610", ExitCode::data, std::move(sentence), std::move(lines), std::move(help)});
}

void check_part_runs(const std::vector<PartRun>& runs) {
  check_formats(runs);
  check_identities(runs);
  check_inputs(runs);
  check_that_job_has_parts(runs.front());
  check_finished(runs);
  check_parts(runs);
}

std::vector<std::string> doubled_parts(const std::vector<PartRun>& runs) {
  std::vector<std::string> notes;
  for (const auto& [part, same] : by_part(runs)) {
    if (same.size() == 1) continue;
    std::string note = run::part_text({part, runs.front().part.count}) + " is given " +
                       std::to_string(same.size()) + " times and taken once:";
    for (const PartRun* run : same)
      note += "\n  " + run->folder.string();
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace mgpu::app
