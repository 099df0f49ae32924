#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include <mgpu/base/error.hpp>

namespace mgpu {
namespace {

std::string placed(Where where, std::string_view message) {
  return std::string(where.file) + ":" + std::to_string(where.line) + ": " + std::string(message);
}

/// Returns whether `error` means that host memory ran out. Errors of libtorch's host allocator are
/// recognized by their text, because they have no special type.
bool is_out_of_host_memory(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         std::strstr(error.what(), "DefaultCPUAllocator: can't allocate memory") != nullptr;
}

/// Returns whether `error` means that GPU memory ran out: CUDA error 2 in a LibraryError, or a text
/// of libtorch's CUDA allocator. Module `base` does not know the type of that allocator's errors.
bool is_out_of_device_memory(const std::exception& error) {
  return std::strstr(error.what(), "CUDA out of memory") != nullptr ||
         std::strstr(error.what(), "CUDA error 2: ") != nullptr;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

ErrorReport out_of_memory(const std::string& which, const std::string& detail) {
  ErrorReport report{"E301",
                     ExitCode::out_of_memory,
                     "out of " + which + " memory",
                     {},
                     "--plan shows what is needed, and the key that lowers it"};
  if (!detail.empty()) report.lines.push_back("  " + detail);
  return report;
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

std::string render(const ErrorReport& report) {
  std::string text = "error[" + report.code + "]: " + report.sentence;
  for (const std::string& line : report.lines)
    text += "\n" + line;
  if (!report.help.empty()) text += "\n  = help: " + report.help;
  return text;
}

Failure::Failure(ErrorReport report, Where where)
    : Error(render(report), where), report_(std::move(report)) {}

ErrorReport report_of(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) return failure->report();
  if (is_out_of_host_memory(error)) return out_of_memory("host", "");
  if (is_out_of_device_memory(error)) return out_of_memory("GPU", first_line(error.what()));
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return {"E603",
            ExitCode::no_input,
            "cannot use a file: " + file->code().message(),
            {"  --> " + file->path1().string()},
            ""};
  const auto* ours = dynamic_cast<const Error*>(&error);
  return {"E901",
          ours != nullptr ? ours->exit_code() : ExitCode::internal,
          std::string("internal error, please report: ") + error.what(),
          {},
          ""};
}

ErrorReport report_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return report_of(error);
  } catch (...) {
    return report_of(Error("something that is not a std::exception"));
  }
}

}  // namespace mgpu
