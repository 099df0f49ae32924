#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/datasets/dataset.hpp>
#include <mgpu/input/generated_rows.hpp>

namespace mgpu::datasets {

/// The entry of one data set in the registry. The source file NAME.cpp has a function
/// NAME_dataset() that returns the entry, and MGPU_DATASETS in registry.cpp lists NAME.
struct DatasetEntry {
  std::string_view name;     // "synthetic_texts"
  std::string_view summary;  // what the help of data.dataset shows

  /// Adds the keys of the data set to the table; nullptr: it has no keys.
  AddKeys add_keys = nullptr;

  /// The name of an integer key of the data set. If its value is above 0 and data.dataset is
  /// `none`, this data set is chosen. "": only data.dataset can choose the data set.
  const char* chosen_by = "";

  bool has_prompts = true;  // true: every row has a prompt and a completion, as texts or token ids

  /// Returns whether rows have texts. If not, rows have only token ids, and no tokenizer is needed.
  /// nullptr: rows always have texts.
  bool (*has_texts)(const Config& config) = nullptr;

  /// Makes the data set.
  /// Errors: Failure E107 or E124 (exit 78) if a key is missing, has an invalid value, or
  ///         contradicts another key; failures of reading the files of the data set.
  std::unique_ptr<Dataset> (*make)(const Config& config) = nullptr;
};

/// Returns all data sets, in the order of the registry.
std::span<const DatasetEntry> datasets();

/// Adds data.dataset, data.split and the keys of all data sets to `table`.
void add_dataset_keys(KeyTable& table);

/// Returns the entry of the data set that the configuration chooses; nullptr if it chooses none.
const DatasetEntry* dataset_of(const Config& config);

/// Returns the name of the key that chooses the data set: data.dataset, or DatasetEntry::chosen_by.
/// Call it only if the configuration chooses a data set.
std::string key_of_dataset(const Config& config);

/// One split of the data set that a configuration has chosen.
struct DatasetRows {
  std::shared_ptr<const Dataset> dataset;
  Split split = Split::train;
  std::shared_ptr<const input::GeneratedRows> rows;  // rows of `split`, for input::open_rows()
};

/// Reads data.dataset, data.split and the keys of the chosen data set, and makes the data set.
/// `otherwise` is the split if data.split is `auto`. Returns nullopt if the configuration chooses
/// no data set.
/// Errors: Failure E124 (exit 78) if the data set lacks the split, or if data.split is not `auto`
///         and no data set is chosen. E124 also if a key of another data set does not have its
///         default value. Also the errors of DatasetEntry::make.
std::optional<DatasetRows> read_dataset(const Config& config, Split otherwise);

/// Returns the rows of split `split` of `chosen.dataset`; nullptr if the data set lacks that split.
std::shared_ptr<const input::GeneratedRows> rows_of(const DatasetRows& chosen, Split split);

}  // namespace mgpu::datasets
