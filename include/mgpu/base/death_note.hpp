#pragma once

#include <optional>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Which rank of an attempt died first by itself, and of what: attempts/NNNN.died, a line
/// "RANK WITNESS CAUSE" that the first who knows writes. What follows from that death, in other
/// ranks, finds the file there and changes nothing.
///
/// Witnesses: `self`, the handler of a fatal signal; `watchdog`, of a rank that outlived it;
/// `launcher` (launch/supervise.sh), which also tells the signal where the watchdog could not.
struct DeathNote {
  int rank = 0;
  std::string witness;
  std::string cause;  // "SIGSEGV", "hang", or "unknown"
};

/// Where write_death_note() writes, and for whom write_own_death_note() does. Until the next call;
/// an empty path: nowhere.
void prepare_death_note(const fs::path& file, int own_rank);

/// Writes the file, if nobody has. Async-signal-safe; what fails is not told, because the process
/// is about to end.
void write_death_note(int rank, const char* witness, const char* cause) noexcept;

/// The same for this rank, from the handler of the signal that ends it.
void write_own_death_note(int signal) noexcept;

/// Nothing where there is no such file, or not a whole line.
std::optional<DeathNote> read_death_note(const fs::path& file);

}  // namespace mgpu
