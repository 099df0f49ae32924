#include <algorithm>
#include <filesystem>
#include <string>

#include <mgpu/app/commands.hpp>
#include <mgpu/jobs/job.hpp>

#include "stored_results.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_jobs(const std::string& sentence, const std::string& help) {
  throw Failure({"E145", ExitCode::data, sentence, {}, help});
}

/// Returns the names of the jobs whose runs can be compared.
std::string jobs_that_compare() {
  std::string names;
  for (const jobs::JobSpec& job : jobs::jobs())
    if (job.compare != nullptr) names += (names.empty() ? "" : ", ") + std::string(job.name);
  return names;
}

/// Returns the name of the run in directory `folder`: "NAME/STAMP".
std::string name_of(const fs::path& folder) {
  const fs::path path = fs::canonical(folder);
  return (path.parent_path().filename() / path.filename()).string();
}

}  // namespace

ExitCode compare_runs(const Options& options, std::ostream& out) {
  const fs::path before = options.detail;
  const fs::path after = options.config;
  const Config config = config_in(before);
  const Config other = config_in(after);
  const jobs::JobSpec& job = jobs::job_of(config);
  if (job.name != jobs::job_of(other).name)
    refuse_jobs("the runs are of job " + std::string(job.name) + " and job " +
                    std::string(jobs::job_of(other).name),
                "two runs of job " + std::string(job.name));
  if (job.compare == nullptr)
    refuse_jobs("runs of job " + std::string(job.name) + " have no values per prompt",
                "two runs of one of these jobs: " + jobs_that_compare());
  run::CompareRequest request{{name_of(before), results_in(before, config)},
                              {name_of(after), results_in(after, other)},
                              {},
                              {}};
  std::string file = "comparison_" + request.before.name;
  std::ranges::replace(file, '/', '_');
  request.numbers = after / (file + ".json");
  request.page = after / (file + ".html");
  out << job.compare(request);
  out << "wrote " << request.numbers.string() << "\nwrote " << request.page.string() << "\n"
      << std::flush;
  return ExitCode::done;
}

}  // namespace mgpu::app
