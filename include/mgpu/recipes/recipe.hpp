#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/report/notes.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::recipes {

/// The recipe of one run of job train. It parses its keys once, and all methods use the parsed
/// settings.
class Recipe {
public:
  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  Recipe(Recipe&&) = delete;
  Recipe& operator=(Recipe&&) = delete;
  virtual ~Recipe() = default;

  /// Returns the settings of steps, optimizer and checkpoints.
  virtual const LoopSettings& loop() const = 0;

  /// Checks that the files that the recipe's keys name exist. Local.
  /// Errors: Failure E603 (exit 66), and those of the files.
  virtual void check_files() const = 0;

  /// Returns one check for each file that --check opens, in order. The checks refer to this recipe,
  /// so it must outlive them. Local.
  virtual std::vector<run::FileCheck> file_checks() const = 0;

  /// Returns an upper bound of the bytes that a run writes. Local; call check_files() first.
  virtual std::uint64_t disk_bytes() const = 0;

  /// Estimates memory, time and disk space of a run. Local; call check_files() first.
  virtual report::Plan plan(const run::PlanMachine& machine) const = 0;

  /// Trains, and writes the results. Ranks: collective over the world.
  virtual run::JobOutcome run(run::RunContext& run) const = 0;

  /// Writes the result files of an unfinished run from its journal and checkpoints. Ranks:
  /// collective over `world`.
  virtual run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const = 0;
};

/// An entry of the registry of recipes. A new recipe needs a folder in src/recipes with a function
/// NAME_recipe(), and its NAME in MGPU_RECIPES of registry.cpp.
struct RecipeSpec {
  std::string_view name;       // "sft"
  std::string_view summary;    // name in messages: "Algorithm Distillation"
  std::string_view chosen_by;  // the keys that select it: "model.path=FOLDER"

  /// Functions that add the keys that this recipe reads in addition to those of every recipe.
  /// Recipes may share a function.
  std::vector<AddKeys> keys;

  /// Returns whether the keys that the recipe needs are given. train.recipe=auto chooses the last
  /// recipe of the registry for which this is true.
  bool (*is_chosen)(const Config& config);

  /// Checks the rules between the recipe's keys. Local.
  /// Errors: Failure (exit 78) that lists everything that this number of ranks cannot do.
  void (*check)(const Config& config, int ranks);

  /// Parses the keys of a configuration that check() accepts. The configuration must outlive the
  /// recipe. Local.
  std::unique_ptr<Recipe> (*read)(const Config& config);
};

/// Returns all recipes, in the order of the registry.
std::span<const RecipeSpec> recipes();

/// Adds the key train.recipe.
void add_recipe_key(KeyTable& table);

/// Returns the recipe that the configuration chooses: by train.recipe, or by the other keys.
const RecipeSpec& recipe_of(const Config& config);

/// Refuses a configuration that lacks the keys of its recipe. Errors: Failure E114 (exit 78).
void check_recipe(const Config& config);

/// Returns the functions that add the keys of all recipes, each function once.
std::vector<AddKeys> recipe_keys();

/// Returns the rules for notes about spans that took a large share of a training.
std::span<const report::NoteRule> note_rules();

/// Refuses keys that only other recipes read.
///
/// Errors: Failure E124 (exit 78) at the first such key in the order of the key table.
void refuse_keys_of_other_recipes(const Config& config, const RecipeSpec& chosen);

}  // namespace mgpu::recipes
