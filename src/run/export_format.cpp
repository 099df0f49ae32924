#include <fstream>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/store/results/export_lines.hpp>

namespace mgpu::run {
namespace {

namespace fs = std::filesystem;

std::int64_t write_json_lines(const ExportRequest& request) {
  std::ofstream file(request.out, std::ios::binary);
  const std::int64_t rows = store::export_json_lines(request.results, "samples", file);
  file.close();
  if (file) return rows;
  throw Failure(
      {"E602", ExitCode::io, "cannot write the lines", {"  --> " + request.out.string()}, ""});
}

}  // namespace

const ExportFormat kJsonLines{"jsonl", "", "", write_json_lines};

fs::path export_path(const ExportFormat& format, const fs::path& results) {
  return format.file_name.empty() ? fs::path(results).replace_extension(std::string(format.name))
                                  : results.parent_path() / format.file_name;
}

std::int64_t write_export(const ExportFormat& format, const Config& config,
                          const fs::path& results) {
  const fs::path path = export_path(format, results);
  const fs::path temporary = path.string() + ".part";
  try {
    const std::int64_t rows = format.write({config, results, temporary});
    if (fs::is_directory(path)) fs::remove_all(path);  // because rename() cannot replace a folder
    fs::rename(temporary, path);
    return rows;
  } catch (...) {
    std::error_code is_gone;
    fs::remove_all(temporary, is_gone);
    throw;
  }
}

}  // namespace mgpu::run
