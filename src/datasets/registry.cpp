#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/datasets/registry.hpp>

#ifndef MGPU_MORE_DATASETS
#define MGPU_MORE_DATASETS(line)
#endif

// MGPU_DATASETS lists the names of all data sets. For each NAME in the list, a source file NAME.cpp
// defines the function NAME_dataset().
#define MGPU_DATASETS(line)                                                        \
  line(synthetic_texts) line(star_graph) line(arithmetic) line(choice) line(gsm8k) \
      MGPU_MORE_DATASETS(line)

namespace mgpu::datasets {

#define MGPU_DECLARE(name) DatasetEntry name##_dataset();
MGPU_DATASETS(MGPU_DECLARE)

namespace {

constexpr std::array kSplitNames = {std::string_view("train"), std::string_view("validation"),
                                    std::string_view("test")};

std::string_view name_of(Split split) {
  return kSplitNames.at(static_cast<std::size_t>(split));
}

class SplitRows final : public input::GeneratedRows {
public:
  SplitRows(std::shared_ptr<const Dataset> dataset, std::string name, Split split)
      : dataset_(std::move(dataset)), name_(std::move(name)), split_(split) {}

  std::string name() const override {
    return "data set " + name_ + ", split " + std::string(name_of(split_));
  }
  std::int64_t rows() const override { return dataset_->rows(split_); }
  std::string row(std::int64_t index) const override { return dataset_->row(split_, index); }

  const std::string& dataset_name() const { return name_; }

private:
  std::shared_ptr<const Dataset> dataset_;
  std::string name_;
  Split split_;
};

bool is_chosen(const Config& config, const DatasetEntry& entry) {
  return *entry.chosen_by != '\0' && config.integer(entry.chosen_by) > 0;
}

/// Throws Failure E124 if a key of a data set other than `chosen` has a value other than its
/// default.
void refuse_keys_of_others(const Config& config, const DatasetEntry* chosen) {
  const std::vector<std::string> given = config.not_default();
  for (const DatasetEntry& other : datasets()) {
    if (&other == chosen || other.add_keys == nullptr) continue;
    KeyTable keys;
    other.add_keys(keys);
    for (const std::string& name : given)
      if (keys.find(name) != nullptr)
        throw config.problem(
            "E124", name,
            "`" + name + "` has no meaning without data set " + std::string(other.name),
            "remove it, or data.dataset=" + std::string(other.name));
  }
}

Split read_split(const Config& config, Split otherwise) {
  for (std::size_t i = 0; i < kSplitNames.size(); ++i)
    if (config.is("data.split", kSplitNames[i])) return static_cast<Split>(i);
  return otherwise;
}

/// Formats "generate rows instead of reading data.path; NAME: SUMMARY; ..."
std::string help_of_datasets() {
  std::string text = "generate rows instead of reading data.path";
  for (const DatasetEntry& entry : datasets())
    text.append("; ").append(entry.name).append(": ").append(entry.summary);
  return text;
}

}  // namespace

std::span<const DatasetEntry> datasets() {
#define MGPU_ENTRY(name) name##_dataset(),
  static const std::array kDatasets = {MGPU_DATASETS(MGPU_ENTRY)};
  return kDatasets;
}

void add_dataset_keys(KeyTable& table) {
  KeySpec spec{.name = "data.dataset",
               .type = KeyType::choice,
               .default_value = "none",
               .summary = help_of_datasets(),
               .choices = {"none"}};
  for (const DatasetEntry& entry : datasets())
    spec.choices.emplace_back(entry.name);
  table.add(std::move(spec));
  table.add({.name = "data.split",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "the part of the data set; auto: train for training, test otherwise",
             .choices = {"auto", "train", "validation", "test"}});
  for (const DatasetEntry& entry : datasets())
    if (entry.add_keys != nullptr) entry.add_keys(table);
}

const DatasetEntry* dataset_of(const Config& config) {
  for (const DatasetEntry& entry : datasets())
    if (config.is("data.dataset", entry.name)) return &entry;
  const auto found = std::ranges::find_if(
      datasets(), [&](const DatasetEntry& entry) { return is_chosen(config, entry); });
  return found == datasets().end() ? nullptr : &*found;
}

std::string key_of_dataset(const Config& config) {
  return config.is("data.dataset", "none") ? dataset_of(config)->chosen_by : "data.dataset";
}

std::optional<DatasetRows> read_dataset(const Config& config, Split otherwise) {
  const DatasetEntry* entry = dataset_of(config);
  refuse_keys_of_others(config, entry);
  if (entry == nullptr && !config.is("data.split", "auto"))
    throw config.problem("E124", "data.split", "`data.split` has no meaning without a data set",
                         "remove it, or data.dataset=NAME");
  if (entry == nullptr) return std::nullopt;
  DatasetRows chosen{entry->make(config), read_split(config, otherwise), nullptr};
  if (chosen.dataset->rows(chosen.split) == 0)
    throw config.problem("E124", "data.split",
                         "data set " + std::string(entry->name) + " has no split " +
                             std::string(name_of(chosen.split)),
                         "data.split=train");
  chosen.rows = std::make_shared<SplitRows>(chosen.dataset, std::string(entry->name), chosen.split);
  return chosen;
}

std::shared_ptr<const input::GeneratedRows> rows_of(const DatasetRows& chosen, Split split) {
  if (chosen.dataset->rows(split) == 0) return nullptr;
  const auto& rows = dynamic_cast<const SplitRows&>(*chosen.rows);
  return std::make_shared<SplitRows>(chosen.dataset, rows.dataset_name(), split);
}

}  // namespace mgpu::datasets
