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

/// What job train learns, and from what. A recipe is a folder beside this header's source, with a
/// function NAME_recipe(), and its name in MGPU_RECIPES of registry.cpp.
struct Recipe {
  std::string_view name;       // "sft"
  std::string_view summary;    // "Algorithm Distillation", for messages
  std::string_view chosen_by;  // what to set so that it is chosen: "model.path=FOLDER"

  /// The rows of keys that it reads, beside those of every recipe. Recipes may share them.
  std::vector<AddKeys> keys;

  /// Whether the keys that it needs are given. Where train.recipe is `auto`, the last recipe of the
  /// registry that says so is chosen.
  bool (*is_chosen)(const Config& config);

  /// Rules between its keys. Local.
  /// Errors: Failure (exit 78) that shows all that this many ranks cannot do.
  void (*check)(const Config& config, int ranks);

  /// Whether the files that its keys name are there. Local.
  /// Errors: Failure E603 (exit 66), and those of the files.
  void (*check_files)(const Config& config);

  /// What --check opens, in order. Local; the config has to outlive them.
  std::vector<run::FileCheck> (*file_checks)(const Config& config);

  /// Bytes that a run writes at most. Local, after check_files().
  std::uint64_t (*disk_bytes)(const Config& config);

  /// What a run will take, by arithmetic. Local, after check_files().
  report::Plan (*plan)(const Config& config, const run::PlanMachine& machine);

  /// Ranks:  collective over the world.
  run::JobOutcome (*run)(run::RunContext& run);

  /// The result files of an unfinished run, made of what is there. Ranks: collective over `world`.
  run::MergedRun (*merge)(const cluster::Group& world, const run::SealPlace& place,
                          const store::ChunkJournal& journal);
};

/// All recipes, in the order of the registry.
std::span<const Recipe> recipes();

/// The key train.recipe.
void add_recipe_key(KeyTable& table);

/// The recipe that the configuration chooses: by train.recipe, or by the other keys.
const Recipe& recipe_of(const Config& config);

/// Refuses a train.recipe whose keys are missing. Errors: Failure E114 (exit 78).
void check_recipe(const Config& config);

/// The rows of keys of all recipes, each once.
std::vector<AddKeys> recipe_keys();

/// Refuses keys that only recipes read which were not chosen.
///
/// Errors: Failure E124 (exit 78) at the first of them in the order of the table.
void refuse_keys_of_other_recipes(const Config& config, const Recipe& chosen);

}  // namespace mgpu::recipes
