#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
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

/// A recipe of job train, with the settings of one run. The constructor of a derived class parses
/// the keys, and all functions use the parsed settings.
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

  /// Returns whether the run generates the learning histories that it trains on, as recipe `ad`
  /// does without data.path.
  virtual bool makes_histories() const { return false; }

  /// Returns a note about a key that makes each evaluation faster; nullopt: there is no such key.
  /// The note is shown at the end of the run if evaluations took long and a larger train.eval_every
  /// would not reduce their number. Only Note::key and Note::effect are set.
  virtual std::optional<report::Note> cheaper_evaluation() const { return std::nullopt; }

  /// Checks that all files named by the recipe's keys exist.
  /// Ranks:  local
  /// Errors: Failure E603 (exit 66) for a missing file; other Failures for a file that this recipe
  ///         cannot use.
  virtual void check_files() const = 0;

  /// Checks that each model folder from which the recipe loads weights contains weights. This is
  /// not a part of check_files(), because --plan needs no weights. Call check_files() first.
  /// Ranks:  local
  /// Errors: Failure E603 (exit 66) for a folder without weights.
  virtual void check_weights() const {}

  /// Returns one check for each file that --check opens, in the order in which --check prints them.
  /// This recipe must outlive the checks, because they refer to it.
  /// Ranks:  local
  virtual std::vector<run::FileCheck> file_checks() const = 0;

  /// Returns an upper bound of the bytes that a run writes. Call check_files() first.
  /// Ranks:  local
  virtual std::uint64_t disk_bytes() const = 0;

  /// Returns the names and contents of the files that the folder of the trained model contains in
  /// addition to weights. The result is empty if the recipe trains no language model. Before the
  /// model is trained, job experiment needs these files to plan later stages that read the model.
  /// Call check_files() first.
  ///
  /// Ranks:  local
  virtual std::map<std::string, std::string> model_files() const { return {}; }

  /// Estimates memory, time and disk space of a run on `machine`. Call check_files() first.
  /// Ranks:  local
  virtual report::Plan plan(const run::PlanMachine& machine) const = 0;

  /// Runs job train: trains the model, and writes the result files.
  /// Ranks:  collective over the world.
  virtual run::JobOutcome run(run::RunContext& run) const = 0;

  /// Writes the result files of an unfinished run from its journal and checkpoints, for --merge.
  /// Ranks:  collective over `world`.
  virtual run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const = 0;
};

/// An entry of the registry of recipes. A new recipe needs a folder src/recipes/NAME that defines a
/// function NAME_recipe(). Its NAME must also be added to MGPU_RECIPES in src/recipes/registry.cpp.
struct RecipeSpec {
  std::string_view name;       // value of train.recipe, such as "sft"
  std::string_view summary;    // what it trains, as in messages: "a reward model on preferences"
  std::string_view chosen_by;  // keys that choose the recipe, as in messages: "model.path=FOLDER";
                               // "": it needs no keys

  /// Names of the HDF5 files that the recipe writes in the run directory in addition to the result
  /// file. output.file must not be one of these names.
  std::vector<std::string_view> files{};

  /// Functions that add the keys of this recipe to the key table. Keys that every recipe reads are
  /// not among them. Recipes may share a function.
  std::vector<AddKeys> keys;

  /// Returns whether the configuration has the keys that this recipe needs. train.recipe=auto
  /// chooses the last recipe of the registry for which this is true.
  bool (*is_chosen)(const Config& config);

  /// Checks the rules between the recipe's keys.
  /// Ranks:  local
  /// Errors: Failure (exit 78) about keys that contradict each other or do not work with `ranks`
  ///         ranks.
  void (*check)(const Config& config, int ranks);

  /// Makes the recipe from `config`, which check() must have accepted. `config` must outlive the
  /// recipe.
  /// Ranks:  local
  std::unique_ptr<Recipe> (*read)(const Config& config);
};

/// Returns all recipes, in the order of the registry.
std::span<const RecipeSpec> recipes();

/// Adds the key train.recipe.
void add_recipe_key(KeyTable& table);

/// Returns the recipe that train.recipe names. With train.recipe=auto, RecipeSpec::is_chosen
/// decides.
const RecipeSpec& recipe_of(const Config& config);

/// Returns whether train.recipe is `name`.
bool names_recipe(const Config& config, std::string_view name);

/// Refuses a configuration that lacks the keys that its recipe needs.
/// Errors: Failure E114 (exit 78).
void check_recipe(const Config& config);

/// Returns RecipeSpec::keys of all recipes, with each function only once.
std::vector<AddKeys> recipe_keys();

/// Throws if a key that other recipes read, but `chosen` does not, differs from its default.
///
/// Errors: Failure E124 (exit 78) at the first such key in the order of the key table.
void refuse_keys_of_other_recipes(const Config& config, const RecipeSpec& chosen);

}  // namespace mgpu::recipes
