#include "generation_defaults.hpp"

#include <string_view>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::lm {
namespace {

/// Reads eos_token_id, which is one id or a list of ids. If eos_token_id is absent, `ids` does not
/// change.
void read_eos(const ConfigFields& fields, std::vector<std::int64_t>& ids) {
  const formats::JsonValue* value = fields.find({"eos_token_id"});
  if (value == nullptr) return;
  ids.clear();
  if (value->integer() != nullptr) ids.push_back(*value->integer());
  if (value->list() != nullptr) {
    for (const formats::JsonValue& item : *value->list()) {
      if (item.integer() == nullptr)
        fields.refuse_value("a value in the list `eos_token_id` is not an id");
      ids.push_back(*item.integer());
    }
  }
  if (ids.empty()) fields.refuse_value("`eos_token_id` is neither an id nor a list of ids");
}

struct Unused {
  std::string_view name;
  double neutral;            // the setting has no effect with this value
  bool is_of_draws = false;  // true: the setting affects sampling only, not greedy decoding
};

/// Settings of transformers' generate() that this program does not support.
constexpr Unused kUnused[] = {
    {"num_beams", 1.0},
    {"num_beam_groups", 1.0},
    {"penalty_alpha", 0.0},
    {"min_p", 0.0, true},
    {"top_h", 0.0, true},
    {"typical_p", 1.0, true},
    {"epsilon_cutoff", 0.0, true},
    {"eta_cutoff", 0.0, true},
    {"encoder_repetition_penalty", 1.0},
    {"no_repeat_ngram_size", 0.0},
    {"encoder_no_repeat_ngram_size", 0.0},
    {"min_length", 0.0},
    {"min_new_tokens", 0.0},
    {"guidance_scale", 1.0},
    {"bad_words_ids", 0.0},
    {"force_words_ids", 0.0},
    {"suppress_tokens", 0.0},
    {"begin_suppress_tokens", 0.0},
    {"forced_bos_token_id", -1.0},
    {"forced_eos_token_id", -1.0},
    {"sequence_bias", 0.0},
    {"exponential_decay_length_penalty", 0.0},
    {"watermarking_config", 0.0},
    {"stop_strings", 0.0},
    {"token_healing", 0.0},
};

bool changes_nothing(const formats::JsonValue& value, double neutral) {
  if (value.flag() != nullptr) return !*value.flag();
  if (value.integer() != nullptr) return static_cast<double>(*value.integer()) == neutral;
  if (value.real() != nullptr) return *value.real() == neutral;
  if (value.members() != nullptr) return value.members()->empty();
  return value.list() != nullptr && value.list()->empty();
}

void find_unused(const ConfigFields& fields, GenerationDefaults& generation) {
  generation.unused.clear();
  generation.unused_in_draws.clear();
  for (const Unused& setting : kUnused) {
    const formats::JsonValue* value = fields.find({setting.name});
    if (value == nullptr || changes_nothing(*value, setting.neutral)) continue;
    auto& keys = setting.is_of_draws ? generation.unused_in_draws : generation.unused;
    keys.emplace_back(setting.name);
  }
}

}  // namespace

void read_generation(const ConfigFields& fields, GenerationDefaults& generation) {
  read_eos(fields, generation.eos_ids);
  generation.do_sample = fields.flag_or({"do_sample"}, generation.do_sample);
  generation.temperature = fields.number_or({"temperature"}, generation.temperature);
  generation.top_k = fields.integer_or({"top_k"}, generation.top_k, 0);
  generation.top_p = fields.number_or({"top_p"}, generation.top_p);
  generation.repetition_penalty =
      fields.number_or({"repetition_penalty"}, generation.repetition_penalty);
  find_unused(fields, generation);
}

}  // namespace mgpu::lm
