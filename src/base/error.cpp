#include <cstring>
#include <new>
#include <utility>

#include <mgpu/base/error.hpp>

namespace mgpu {
namespace {

std::string placed(Where where, std::string_view message) {
  return std::string(where.file) + ":" + std::to_string(where.line) + ": " + std::string(message);
}

}  // namespace

Error::Error(std::string_view message, Where where) : std::runtime_error(placed(where, message)) {}

LibraryError::LibraryError(std::string_view library, int code, std::string_view text, Where where)
    : Error(std::string(library) + " error " + std::to_string(code) + ": " + std::string(text),
            where),
      code_(code) {}

NotBuiltError::NotBuiltError(std::string_view feature, Where where)
    : Error(std::string(feature) + " is not part of this build", where) {}

ShapeError::ShapeError(std::string_view message, Where where) : Error(message, where) {}

std::string render(const Report& report) {
  std::string text = "error[" + report.code + "]: " + report.sentence;
  for (const std::string& line : report.lines)
    text += "\n" + line;
  if (!report.help.empty()) text += "\n  = help: " + report.help;
  return text;
}

Failure::Failure(Report report, Where where)
    : Error(render(report), where), report_(std::move(report)) {}

Report report_of(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) return failure->report();
  // libtorch's host allocator has no exception type of its own.
  const bool is_torch =
      std::strstr(error.what(), "DefaultCPUAllocator: can't allocate memory") != nullptr;
  if (is_torch || dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {"E301", ExitCode::out_of_memory, "out of host memory", {}, ""};
  }
  const auto* ours = dynamic_cast<const Error*>(&error);
  return {"E901",
          ours != nullptr ? ours->exit_code() : ExitCode::internal,
          std::string("internal error, please report: ") + error.what(),
          {},
          ""};
}

}  // namespace mgpu
