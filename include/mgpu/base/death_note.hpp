#pragma once

#include <optional>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// The world rank that died first in an attempt (one start of the program), and the cause of its
/// death.
/// The file attempts/NNNN.died contains one line "RANK WITNESS CAUSE", written by the first process
/// that notices a death. Ranks that die as a consequence find the file and leave it unchanged.
///
/// The witness is the writer: `self` (the handler of a fatal signal), `watchdog` (of a surviving
/// rank) or `launcher` (launch/supervise.sh). The launcher replaces the cause `unknown` of a
/// watchdog if it knows the signal.
struct DeathNote {
  int rank = 0;
  std::string witness;
  std::string cause;  // a signal such as "SIGSEGV", "hang", or "unknown"
};

/// Sets the path of this process's death note (Activity::death_note), and its world rank, for
/// write_own_death_note(). A later call replaces both. With a path that is empty or longer than
/// 1,023 bytes, no death note is written.
void prepare_death_note(const fs::path& file, int own_rank);

/// Writes the death note of world rank `rank` unless the file exists. Does nothing if `file` is "".
/// Async-signal-safe; errors are ignored, because the process is about to end.
void write_death_note(const char* file, int rank, const char* witness, const char* cause) noexcept;

/// Writes a death note for this rank, with the witness `self` and the name of `signal` as the
/// cause. Called in the handler of the signal that ends the process.
void write_own_death_note(int signal) noexcept;

/// Reads a death note. Returns nullopt if the file is missing, or if its line is incomplete or
/// malformed.
std::optional<DeathNote> read_death_note(const fs::path& file);

}  // namespace mgpu
