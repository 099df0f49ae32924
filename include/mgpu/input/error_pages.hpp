#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::input {

/// Error codes of data files, with the texts that --explain prints.
inline constexpr auto kInputErrors = std::to_array<ErrorPage>({
    {"E531", "rows of a data file that cannot be used",
     "Rows violate their format (one JSON object per line, as many cells as columns), or lack "
     "fields that the job needs. The first five are shown; no row is skipped.",
     "Repair or remove those rows, or set data.on_bad_row=mark. A row has at most 16 MiB of UTF-8, "
     "and its JSON at most 32 levels."},
    {"E532", "data file that is not of its format",
     "The file cannot be read in the format of its name or data.format, or it has no rows.",
     "data.format names the format: jsonl, csv, tsv or parquet. data.header=false and "
     "data.quotes=false read tables without names or quotes."},
    {"E533", "column that a data file does not have",
     "A column that data.columns names, or that the job needs, is not in the file. The message "
     "lists the file's columns.",
     "Use data.columns.NAME=COLUMN to give the file's name of the column that is called NAME "
     "here."},
    {"E534", "data file that changes",
     "The size or time of a data file changed during the run, or differs between hosts. The "
     "results would not belong to any one version of the file.",
     "Put the file where all hosts see the same copy, and start again when nothing writes to it."},
    {"E535", "Parquet is not in this build",
     "Arrow, which reads Parquet, was not found when the program was built.",
     "Start launch/run.sh on a machine that can reach PyPI, or write the file as JSON Lines."},
});

}  // namespace mgpu::input
