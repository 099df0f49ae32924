#include "recipe_keys.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::recipes {
namespace {

bool starts_with_one_of(std::string_view name, const std::vector<std::string_view>& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

bool is_of_distillation(std::string_view name) {
  static const std::vector<std::string_view> kStarts = {
      "model.tf_", "model.tokens",         "model.n_transit", "model.attn_impl",
      "data.env",  "data.source",          "data.episodes",   "data.streams",
      "evaluate.", "train.label_smoothing"};
  return starts_with_one_of(name, kStarts);
}

bool is_of_language_models(std::string_view name) {
  static const std::vector<std::string_view> kStarts = {
      "data.eval_path",  "data.little_texts",  "data.format",   "data.columns.",
      "data.start",      "data.max_samples",   "data.header",   "data.quotes",
      "data.on_bad_row", "data.chat_template", "train.seq_len", "train.gradient_checkpointing",
      "distill."};
  return starts_with_one_of(name, kStarts);
}

}  // namespace

void refuse_other_keys(const Config& config, Recipe recipe) {
  const bool is_language = recipe == Recipe::language_model;
  for (const std::string& name : config.not_default()) {
    if (!(is_language ? is_of_distillation(name) : is_of_language_models(name))) continue;
    throw config.problem(
        "E124", name,
        "`" + name + "` has no meaning for " +
            (is_language ? "a language model (model.path, model.init)" : "Algorithm Distillation"),
        is_language ? "remove it"
                    : "remove it, or name a language model: model.path=FOLDER "
                      "or model.init=FOLDER");
  }
}

}  // namespace mgpu::recipes
