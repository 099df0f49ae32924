#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/recipes/recipe.hpp>

#ifndef MGPU_MORE_RECIPES
#define MGPU_MORE_RECIPES(line)
#endif

// The registry of recipes. The folder of recipe NAME defines NAME_recipe().
#define MGPU_RECIPES(line)                                                                 \
  line(ad) line(sft) line(distill) line(dpo) line(kto) line(grpo) line(reward) line(value) \
      line(prm) MGPU_MORE_RECIPES(line)

namespace mgpu::recipes {

#define MGPU_DECLARE(name) RecipeSpec name##_recipe();
MGPU_RECIPES(MGPU_DECLARE)

namespace {

bool reads(const RecipeSpec& recipe, std::string_view key) {
  KeyTable table;
  for (const AddKeys add_keys : recipe.keys)
    add_keys(table);
  return table.find(key) != nullptr;
}

/// Returns the first recipe that adds the key `key`. Returns nullptr if no recipe adds this key, as
/// for keys that job train itself adds.
const RecipeSpec* reader_of(std::string_view key) {
  const auto all = recipes();
  const auto found =
      std::ranges::find_if(all, [&](const RecipeSpec& recipe) { return reads(recipe, key); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::span<const RecipeSpec> recipes() {
#define MGPU_ENTRY(name) name##_recipe(),
  static const std::array kRecipes = {MGPU_RECIPES(MGPU_ENTRY)};
  return kRecipes;
}

void add_recipe_key(KeyTable& table) {
  KeySpec spec{.name = "train.recipe",
               .type = KeyType::choice,
               .default_value = "auto",
               .summary =
                   "what is trained; auto: a recipe whose keys are given, else sft with a model, "
                   "else ad",
               .choices = {"auto"}};
  for (const RecipeSpec& recipe : recipes())
    spec.choices.emplace_back(recipe.name);
  table.add(std::move(spec));
}

bool names_recipe(const Config& config, std::string_view name) {
  return config.is("train.recipe", name);
}

void check_recipe(const Config& config) {
  const RecipeSpec& recipe = recipe_of(config);
  if (recipe.is_chosen(config)) return;
  throw config.problem("E114", "train.recipe",
                       "recipe " + std::string(recipe.name) + " lacks the keys that it needs",
                       std::string(recipe.chosen_by));
}

const RecipeSpec& recipe_of(const Config& config) {
  for (const RecipeSpec& recipe : recipes())
    if (names_recipe(config, recipe.name)) return recipe;
  for (const RecipeSpec& recipe : std::views::reverse(recipes()))
    if (recipe.is_chosen(config)) return recipe;
  throw Error("no recipe is chosen");
}

std::vector<AddKeys> recipe_keys() {
  std::vector<AddKeys> all;
  for (const RecipeSpec& recipe : recipes())
    for (const AddKeys add_keys : recipe.keys)
      if (std::ranges::find(all, add_keys) == all.end()) all.push_back(add_keys);
  return all;
}

void refuse_keys_of_other_recipes(const Config& config, const RecipeSpec& chosen) {
  for (const std::string& name : config.not_default()) {
    const RecipeSpec* reader = reader_of(name);
    if (reader == nullptr || reads(chosen, name)) continue;
    const std::string chosen_by(reader->chosen_by);
    throw config.problem(
        "E124", name, "`" + name + "` has no meaning for " + std::string(chosen.summary),
        chosen_by.empty()
            ? "remove it"
            : "remove it, or train " + std::string(reader->summary) + ": " + chosen_by);
  }
}

}  // namespace mgpu::recipes
