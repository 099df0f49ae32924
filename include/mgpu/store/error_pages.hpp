#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::store {

/// Error codes of run directories, results and checkpoints.
inline constexpr auto kStoreErrors = std::to_array<ErrorPage>({
    {"E604", "stored data is damaged", "A checksum of the journal or of a table does not match.",
     "Start the same command again: it recomputes the damaged data. If the error returns, suspect "
     "the disk."},
    {"E605", "data of another version",
     "The file was written in another version's format, or by another program.",
     "Finish with the version that started the run, or start over with --resume=never. data.path "
     "must name a file of this program."},
    {"E606", "file that differs from what was written",
     "The program read a file again that it had just written, and got other bytes.",
     "Check the disk, then start the same command again: nothing finished is lost."},
    {"E607", "run directory in use", "Another process holds the lock of the run directory.",
     "Wait for it, stop it, or start a second run with --resume=never."},
    {"E608", "run of another configuration",
     "The run directory belongs to a configuration that differs in keys that determine the "
     "results, or the file of data.path has changed since its training began.",
     "Compare the keys that are shown, restore the old file, or start over with --resume=never."},
    {"E609", "not a run directory", "The folder has no run.json.",
     "Name a folder such as outputs/NAME/STAMP."},
    {"E610", "runs that do not make a whole",
     "--merge DIR DIR ... joins the runs of all parts of --only. A part is missing or unfinished, "
     "or a run has another configuration, other data or another model.",
     "Run the named part with the command that is shown, then merge again."},
    {"E611", "damaged checkpoint",
     "A checkpoint's checksums do not match; the program uses an older intact one.",
     "If no checkpoint is intact, start over with --resume=never."},
    {"E612", "checkpoint of another model",
     "Shapes or names in the checkpoint differ from those of the model.",
     "Restore the model keys, or start over with --resume=never."},
    {"E613", "checkpoint of another version", "The checkpoint's format is newer than this program.",
     "Use the version that wrote it."},
    {"W611", "damaged checkpoint that was skipped",
     "A checkpoint's checksums do not match. It was renamed to .bad, and the run continues from "
     "the newest intact one before it.",
     "No action is needed; the steps in between are repeated. If the warning returns, suspect the "
     "disk. The .bad folder may be deleted."},
});

}  // namespace mgpu::store
