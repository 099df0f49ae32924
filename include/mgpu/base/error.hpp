#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

/// A file and line of the source code. As a default argument, here() names the caller's line.
///
/// Replaces std::source_location, which clang 14 cannot read from libstdc++ 12. Subclasses of Error
/// do not inherit constructors, because nvcc 13.0 crashes on `using Base::Base` if a constructor
/// has here() as a default argument.
struct Where {
  const char* file;
  int line;

  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// How the program ends; the value is the process's exit code on every rank.
/// Source: sysexits.h for 64 to 78, except 76 and 77; codes above 78 are this program's own.
enum class ExitCode : int {
  done = 0,
  incomplete = 1,    // more samples failed than allowed, or a part of the job failed
  usage = 64,        // wrong command line
  data = 65,         // input is malformed
  no_input = 66,     // input is missing
  unavailable = 69,  // GPUs, NCCL or MPI do not meet the needs of the run
  internal = 70,     // a bug of this program
  out_of_memory = 71,
  cannot_create = 73,  // output cannot be created, or belongs to another configuration
  io = 74,             // I/O error, disk full
  stopped = 75,        // stopped on request, state saved, the same command resumes
  ranks_lost = 76,     // a rank died or hung
  skipped = 77,        // a test lacks a requirement, such as a GPU
  config = 78,         // invalid configuration
  numeric = 79,        // NaN or infinity, for example in logits or gradients
  corrupt = 80,        // stored bytes differ from what was written
  in_use = 81,         // the output belongs to another running process
};

/// Base class of every error that this program reports on purpose.
///
/// The text of what() is "file:line: message". Subclasses store their facts in fields, so that
/// tests can compare fields instead of messages.
class Error : public std::runtime_error {
public:
  explicit Error(std::string_view message, Where where = Where::here());

  /// Returns the exit code with which all ranks end if nothing handles the error; `internal` unless
  /// overridden.
  virtual ExitCode exit_code() const noexcept { return ExitCode::internal; }
};

/// Thrown when a C library returned an error code.
class LibraryError : public Error {
public:
  LibraryError(std::string_view library, int code, std::string_view text, Where where);

  int code() const noexcept { return code_; }

private:
  int code_;
};

/// Thrown by a function whose implementation (CUDA, NCCL) this build lacks.
class NotBuiltError : public Error {
public:
  explicit NotBuiltError(std::string_view feature, Where where = Where::here());
  ExitCode exit_code() const noexcept override { return ExitCode::unavailable; }
};

/// Thrown when two sizes that must agree differ.
class ShapeError : public Error {
public:
  explicit ShapeError(std::string_view message, Where where = Where::here());
};

/// The parts of an error message for the user.
struct ErrorReport {
  std::string code;  // "E101"; E1 config, E2 launch, E3 memory, E4 ranks, E5 data, E6 files,
                     // E7 model, E9 bugs; "": no error, the run was already finished
  ExitCode exit = ExitCode::internal;
  std::string sentence;            // one sentence, no final period
  std::vector<std::string> lines;  // location and evidence, verbatim below `sentence`
  std::string help;                // what to do, such as a line to type; "": no help line
};

/// Formats "error[E101]: sentence", the lines, then "  = help: ..."; without a final newline.
std::string render(const ErrorReport& report);

/// A failure that the user can act on. The message in what() is the rendered report.
class Failure : public Error {
public:
  explicit Failure(ErrorReport report, Where where = Where::here());

  const ErrorReport& report() const noexcept { return report_; }
  ExitCode exit_code() const noexcept override { return report_.exit; }

private:
  ErrorReport report_;
};

/// Returns the report of any exception:
///
/// - the report() of a Failure
/// - E301 if host or GPU memory ran out
/// - E603 with the path for an error of std::filesystem
/// - E901 with what() for any other exception. Its exit code is exit_code() if the exception is an
///   Error, and `internal` otherwise.
ErrorReport report_of(const std::exception& error);
ErrorReport report_of(const std::exception_ptr& failure);

}  // namespace mgpu
