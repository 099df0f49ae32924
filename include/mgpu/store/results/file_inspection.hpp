#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

// HDF5 1.10 trusts the lengths and addresses in a file. A damaged file can crash the library, or
// make it loop forever. So another process reads each file completely before this process opens it.
namespace mgpu::store {

/// Sets the command of the process that inspects files; the path of a file is appended. Call it
/// before any file is read. If no command is set, this process itself reads the file completely.
void set_inspector(std::vector<std::string> command);

/// Limits of an inspecting process.
struct InspectionLimits {
  /// Limit on CPU time, in seconds. It rises by one second for every 100 MB that are read. Waiting
  /// for a slow disk takes no CPU time.
  std::uint64_t processor_s = 30;
  /// Bytes of address space that the process may use in addition to what it has at its start.
  std::uint64_t memory_bytes = std::uint64_t{512} << 20;
};

/// Reads a whole HDF5 file: all groups, and the numeric attributes and data sets that this program
/// can read, with their checksums. This is the main function of an inspecting process, so it limits
/// the resources of the process. It writes signs of progress to stdout, and the failure if reading
/// fails. Returns the exit code, 0 if the file is sound.
int inspect_file_as_process(const std::filesystem::path& path, const InspectionLimits& limits = {});

/// Makes rank 0 inspect a file in a separate process (see set_inspector()). Skips the inspection if
/// the process of rank 0 has inspected or written the file before, and the file has not changed
/// since. All ranks may open the file afterwards. The functions of this module that open a file on
/// one rank inspect the file themselves.
///
/// Memory: the inspecting process takes at most 512 MiB in addition to its code.
/// Ranks:  collective over `group`.
/// Errors: the same Failure on all ranks: E603 (exit 66, no such file); E604 (exit 80): a checksum
///         does not fit, or the inspecting process crashed or exceeded its limits; E605 (exit 65):
///         not an HDF5 file, or one that HDF5 or this program refuses to read; E301 (exit 71): no
///         process can be started.
void require_inspected(const cluster::Group& group, const std::filesystem::path& path);

/// Inspects a file that only this rank reads, in the same way as require_inspected().
/// Ranks:  local.
/// Errors: those of require_inspected(), on this rank.
void require_sound(const std::filesystem::path& path);

/// Records that this process wrote the file, so that the file needs no inspection. Any rank may
/// call it alone.
void note_own_file(const std::filesystem::path& path);

}  // namespace mgpu::store
