#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace mgpu::store {

/// The byte that an inspecting process writes as a sign of progress.
inline constexpr char kProgress = '\0';

/// Reads all groups of an HDF5 file, their numeric attributes, and the HDF5 data sets that this
/// program can read. Compares the data with the checksums in the file. Calls after_piece(bytes)
/// after each piece of data, with the size of the piece.
/// Ranks:  local.
/// Errors: Failure E603 (missing, exit 66), E604 (damaged, exit 80), E605 (unsupported, exit 65).
void walk_file(const std::filesystem::path& path,
               const std::function<void(std::uint64_t)>& after_piece);

/// Inspects a file that only this rank opens. Skips the inspection if this process has inspected or
/// written the file before, and the file has not changed since. Callers add the path to a Failure
/// with name_failures(), because most failures do not name the path.
/// Ranks:  local.
/// Errors: those of walk_file(); Failure E301 (exit 71) if no process can be started.
void require_inspected(const std::filesystem::path& path);

}  // namespace mgpu::store
