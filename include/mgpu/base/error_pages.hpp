#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu {

/// Error codes of files, memory and bugs.
inline constexpr auto kBaseErrors = std::to_array<ErrorPage>({
    {"E301", "out of memory", "Host or GPU memory did not suffice.",
     "Make the batches smaller. --plan shows the memory of each part, and the key that lowers it."},
    {"E601", "file cannot be created", "The output folder is missing, read-only, or not yours.",
     "Choose another folder with --output DIR."},
    {"E602", "write failed",
     "The disk is full, a quota is reached, or the device reported an error. Nothing half-written "
     "was published.",
     "Make room and start the same command again: it continues."},
    {"E603", "file cannot be read",
     "A file is missing, unreadable or too large, or a pattern matches no file.",
     "Check the path that is shown. Paths in a configuration are relative to its folder, those on "
     "the command line to the current folder."},
    {"E901", "internal error", "The program violated an internal rule. This is a bug.",
     "Please report it, with the message and the output of --env."},
});

}  // namespace mgpu
