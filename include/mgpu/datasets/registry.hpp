#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/datasets/dataset.hpp>
#include <mgpu/input/generated_rows.hpp>

namespace mgpu::datasets {

/// One line of the registry. A data set is a file NAME.cpp with a function NAME_dataset() that
/// returns its entry, and its name in MGPU_DATASETS of registry.cpp.
struct DatasetEntry {
  std::string_view name;     // "synthetic_texts"
  std::string_view summary;  // for the help of data.dataset

  /// Adds the keys of the data set; nullptr: the data set has no keys.
  AddKeys add_keys = nullptr;

  /// Returns whether its keys choose it if data.dataset is `none`; nullptr: they never do.
  bool (*is_chosen)(const Config& config) = nullptr;

  /// Errors: Failure (exit 78) if its keys contradict each other.
  std::unique_ptr<Dataset> (*make)(const Config& config) = nullptr;
};

/// Returns all data sets, in the order of the registry.
std::span<const DatasetEntry> datasets();

/// Adds data.dataset, data.split and the keys of all data sets.
void add_dataset_keys(KeyTable& table);

/// Returns the data set that the configuration chooses; nullptr if it chooses none.
const DatasetEntry* dataset_of(const Config& config);

/// Returns the split that data.split names, or `otherwise` if it is `auto`.
Split read_split(const Config& config, Split otherwise);

/// Returns the name of a split, as data.split has it.
std::string_view name_of(Split split);

/// Returns the rows of a split for the readers of data files.
/// Errors: Failure E124 (exit 78) if the data set does not have the split.
std::shared_ptr<const input::GeneratedRows> generated_rows(const Config& config,
                                                           const DatasetEntry& entry,
                                                           std::shared_ptr<const Dataset> dataset,
                                                           Split split);

}  // namespace mgpu::datasets
