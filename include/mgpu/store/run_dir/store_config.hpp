#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config.hpp>

namespace mgpu::store {

/// The values of the keys run.name, run.output, run.resume, output.file, output.compression,
/// output.text, output.max_failed and ledger.sync_s.
struct StoreConfig {
  std::string run_name;                    // run.name
  std::filesystem::path output_folder;     // run.output
  std::string resume = "auto";             // run.resume: auto, never, or a run directory
  std::string result_file = "results.h5";  // output.file
  int gzip = 4;                            // output.compression: level of gzip, 1 to 9; 0: none
  bool text = true;                        // output.text: true: the result file has text columns
  double max_failed = 0.0;                 // output.max_failed: share of samples that may fail
  double sync_s = 1.0;                     // ledger.sync_s
};

/// Adds the keys of StoreConfig to the program's table of keys.
void add_store_keys(KeyTable& table);

/// Reads the keys of StoreConfig from `config`. Errors: those of Config's getters.
StoreConfig read_store_config(const Config& config);

/// Refuses a configuration whose result file (output.file) has one of the names `taken`, which are
/// names of other files that the run writes.
/// Errors: Failure E107 (exit 78).
void refuse_result_file(const Config& config, std::span<const std::string_view> taken);

/// Returns the keys that identify a run, with their values as text, for RunRequest::keys.
std::map<std::string, std::string> identity_keys(const Config& config);

/// The words with which messages distinguish two sets of values, such as "there" and "here".
struct PlaceNames {
  const char* first;
  const char* second;
};

/// Returns "  train.lr: 0.1 there, 0.2 here" for each key whose values in `first` and `second`
/// differ. A missing value is "(none)".
std::vector<std::string> differences(const std::map<std::string, std::string>& first,
                                     const std::map<std::string, std::string>& second,
                                     const PlaceNames& names);

}  // namespace mgpu::store
