#include <mgpu/app/commands.hpp>
#include <mgpu/app/print_info.hpp>
#include <mgpu/app/program_errors.hpp>
#include <mgpu/app/program_keys.hpp>

namespace mgpu::app {

std::optional<ExitCode> answer_without_mpi(const Options& options, std::ostream& out) {
  const FileProvider files = FileProvider::alone();
  std::ostream first(is_later_rank() ? nullptr : out.rdbuf());
  if (const auto code = print_info(options, program_keys(), program_errors(), files, first))
    return code;
  if (options.action == Action::plan) return print_plan(options, files, out);
  if (options.action == Action::export_rows)
    return is_later_rank() ? ExitCode::done : export_run(options, out);
  if (options.action == Action::compare)
    return is_later_rank() ? ExitCode::done : compare_runs(options, out);
  return std::nullopt;
}

}  // namespace mgpu::app
