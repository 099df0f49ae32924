#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::recipes {

/// A way to train: the model, its data and its objective. A recipe is a folder in src/recipes with
/// a function NAME_recipe(); MGPU_RECIPES in registry.cpp lists its name.
struct Recipe {
  std::string_view name;       // "sft"
  std::string_view summary;    // "Algorithm Distillation", for messages
  std::string_view chosen_by;  // the keys that select it: "model.path=FOLDER"

  /// The rows of keys that it reads in addition to those of every recipe. Recipes may share them.
  std::vector<AddKeys> keys;

  /// Whether the keys that it needs are given. With train.recipe=auto the last recipe of the
  /// registry for which this is true is chosen.
  bool (*is_chosen)(const Config& config);

  /// Checks rules between its keys. Local.
  /// Errors: Failure (exit 78) that lists everything this number of ranks cannot do.
  void (*check)(const Config& config, int ranks);

  /// Checks that the files named by its keys exist. Local.
  /// Errors: Failure E603 (exit 66), and those of the files.
  void (*check_files)(const Config& config);

  /// The files that --check opens, in order. Local; `config` must outlive them.
  std::vector<run::FileCheck> (*file_checks)(const Config& config);

  /// Upper bound of the bytes that a run writes. Local, after check_files().
  std::uint64_t (*disk_bytes)(const Config& config);

  /// Estimates the cost of a run by arithmetic. Local, after check_files().
  report::Plan (*plan)(const Config& config, const run::PlanMachine& machine);

  /// Trains. Ranks: collective over the world.
  run::JobOutcome (*run)(run::RunContext& run);

  /// Makes the result files of an unfinished run from what exists. Ranks: collective over `world`.
  run::MergedRun (*merge)(const cluster::Group& world, const run::SealPlace& place,
                          const store::ChunkJournal& journal);
};

/// All recipes, in the order of the registry.
std::span<const Recipe> recipes();

/// Adds the key train.recipe.
void add_recipe_key(KeyTable& table);

/// The recipe that the configuration selects: by train.recipe, or by the other keys.
const Recipe& recipe_of(const Config& config);

/// Refuses a train.recipe whose keys are missing. Errors: Failure E114 (exit 78).
void check_recipe(const Config& config);

/// The rows of keys of all recipes, each once.
std::vector<AddKeys> recipe_keys();

/// Refuses keys that only other recipes read.
///
/// Errors: Failure E124 (exit 78) at the first such key in the order of the table.
void refuse_keys_of_other_recipes(const Config& config, const Recipe& chosen);

}  // namespace mgpu::recipes
