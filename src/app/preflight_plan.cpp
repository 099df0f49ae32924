#include <cstdlib>
#include <string_view>

#include <mgpu/app/commands.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/report/terminal.hpp>

#include "inspect_machine.hpp"
#include "run_keys.hpp"

namespace mgpu::app {

bool is_later_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return std::string_view(rank) != "0";
  }
  return false;
}

ExitCode print_plan(const Options& options, const FileProvider& files, std::ostream& out) {
  RunKeys keys;
  const Config given = load_config(options, program_keys(), files, [&](const Config& read) {
    keys = read_run_keys(read, planned_ranks);
  });
  if (is_later_rank()) return ExitCode::done;
  const Config config = jobs::with_chunk_size(given);
  const run::PlanMachine machine = inspect_machine(keys.cluster, keys.store.output_folder);
  report::Plan plan = jobs::read_job(config)->plan(machine);
  const std::vector<std::string> notes = jobs::notes_for_job(config);
  plan.notes.insert(plan.notes.begin(), notes.begin(), notes.end());
  const report::Terminal terminal = report::probe_terminal(report::color_mode_of(options.color));
  const bool as_json = options.json || options.detail == "json";
  out << (as_json ? report::plan_json(plan)
                  : report::plan_text(plan, terminal.utf8 && terminal.stdout_is_screen));
  return ExitCode::done;
}

}  // namespace mgpu::app
