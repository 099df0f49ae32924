#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

/// A place in the source. As a default argument, here() names the caller's line, not this one.
///
/// Stands in for std::source_location, which clang 14 cannot read from libstdc++ 12.
/// Subclasses spell their constructors out: nvcc 13.0 crashes on `using Base::Base` with this
/// kind of default argument.
struct Where {
  const char* file;
  int line;

  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// How the program ends; the value is the process's exit code on every rank.
/// Source: sysexits.h for 64-78, timeout-style extensions above.
enum class ExitCode : int {
  done = 0,
  incomplete = 1,      // more samples or jobs failed than may
  usage = 64,          // command line
  data = 65,           // input is malformed
  no_input = 66,       // input is missing
  unavailable = 69,    // GPUs, NCCL or MPI are not as needed
  internal = 70,       // our bug
  out_of_memory = 71,  //
  cannot_create = 73,  // output cannot be created, or belongs to another config
  io = 74,             // I/O error, disk full
  stopped = 75,        // stopped softly, state saved, the same command continues
  ranks_lost = 76,     // a rank died or hung
  skipped = 77,        // no GPU here
  config = 78,         // configuration
  numeric = 79,        // the numeric guard gave up
  corrupt = 80,        // stored bytes are not what was written
  in_use = 81,         // the output belongs to another running process
};

/// Root of every failure this program reports on purpose.
///
/// what() reads "file:line: message". Subclasses keep their facts as fields, so that a test
/// compares the field and a person reads the sentence.
class Error : public std::runtime_error {
public:
  explicit Error(std::string_view message, Where where = Where::here());

  /// The code all ranks leave with if nobody handles this; `internal` unless overridden.
  virtual ExitCode exit_code() const noexcept { return ExitCode::internal; }
};

/// A C library answered with something other than success.
class LibraryError : public Error {
public:
  LibraryError(std::string_view library, int code, std::string_view text, Where where);

  int code() const noexcept { return code_; }

private:
  int code_;
};

/// The function exists, but the part that does it (CUDA, NCCL) was left out of this build.
class NotBuiltError : public Error {
public:
  explicit NotBuiltError(std::string_view feature, Where where = Where::here());
  ExitCode exit_code() const noexcept override { return ExitCode::unavailable; }
};

/// Two sizes that have to agree do not.
class ShapeError : public Error {
public:
  explicit ShapeError(std::string_view message, Where where = Where::here());
};

/// What a user gets to read about a failure.
struct Report {
  std::string code;  // "E101"; E1 config, E2 launch, E3 memory, E4 ranks, E5 data,
                     // E6 files and checkpoints, E7 model, E9 our bug
  ExitCode exit = ExitCode::internal;
  std::string sentence;            // one sentence, no final period
  std::vector<std::string> lines;  // place and evidence, printed below as they are
  std::string help;                // something to type; "" for none
};

/// "error[E101]: sentence", the lines, then "  = help: ..."; ends without a newline.
std::string render(const Report& report);

/// A failure that the user can act on. what() is the rendered report.
class Failure : public Error {
public:
  explicit Failure(Report report, Where where = Where::here());

  const Report& report() const noexcept { return report_; }
  ExitCode exit_code() const noexcept override { return report_.exit; }

private:
  Report report_;
};

/// The report of any exception: a Failure's own; E301 where host or GPU memory did not suffice;
/// otherwise E901 with what().
Report report_of(const std::exception& error);

}  // namespace mgpu
