#pragma once

#include <filesystem>
#include <string>

namespace mgpu::run {

/// One of two finished runs that --compare compares.
struct ComparedRun {
  std::string name;               // "NAME/STAMP" of the run directory
  std::filesystem::path results;  // its result file
};

/// Input and output of a comparison.
struct CompareRequest {
  ComparedRun before;
  ComparedRun after;
  std::filesystem::path numbers;  // the JSON file to write
  std::filesystem::path page;     // the HTML page to write
};

/// Compares the results of two runs of a job, writes both files of the request, and returns a table
/// for people. Any rank may call it alone.
/// Errors: Failure E145 (exit 65) for runs that cannot be compared; those of reading the results;
///         E601 or E602 if a file cannot be written.
using CompareRuns = std::string (*)(const CompareRequest& request);

}  // namespace mgpu::run
