#include <mgpu/language/lm_config.hpp>
#include <mgpu/store/json_value.hpp>

#include "draw_words.hpp"
#include "family.hpp"
#include "folded_logits.hpp"

namespace mgpu::language {
namespace {

constexpr const char* kConfigFile = "config.json";
constexpr const char* kGenerationFile = "generation_config.json";
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;  // classifiers list labels

/// One id or a list of ids; what is not there changes nothing.
void read_eos(const ConfigFields& fields, std::vector<std::int64_t>& ids) {
  const store::JsonValue* value = fields.find({"eos_token_id"});
  if (value == nullptr) return;
  ids.clear();
  if (value->integer() != nullptr) ids.push_back(*value->integer());
  if (value->list() != nullptr) {
    for (const store::JsonValue& item : *value->list()) {
      if (item.integer() == nullptr) fields.refuse_value("`eos_token_id` has no list of ids");
      ids.push_back(*item.integer());
    }
  }
  if (ids.empty()) fields.refuse_value("`eos_token_id` is neither an id nor a list of ids");
}

void read_id(const ConfigFields& fields, std::string_view name, std::optional<std::int64_t>& id) {
  const store::JsonValue* value = fields.find({name});
  if (value == nullptr) return;
  if (value->integer() == nullptr)
    fields.refuse_value(std::string(name).append(" is not a whole number"));
  id = *value->integer();
}

void read_generation(const ConfigFields& fields, GenerationDefaults& generation) {
  read_eos(fields, generation.eos_ids);
  read_id(fields, "bos_token_id", generation.bos_id);
  read_id(fields, "pad_token_id", generation.pad_id);
  generation.do_sample = fields.flag_or({"do_sample"}, generation.do_sample);
  generation.temperature = fields.number_or({"temperature"}, generation.temperature);
  generation.top_k = fields.integer_or({"top_k"}, generation.top_k, 0);
  generation.top_p = fields.number_or({"top_p"}, generation.top_p);
  generation.repetition_penalty =
      fields.number_or({"repetition_penalty"}, generation.repetition_penalty);
}

/// What a config may ask for in every family.
void check_features(const ConfigFields& fields, const Family& family) {
  if (const auto quantization = fields.object({"quantization_config"})) {
    const std::string method = quantization->text_or({"quant_method"}, "an unnamed method");
    if (method != family.quantization)
      fields.refuse_feature("weights quantized by `" + method + "`",
                            "weights of float32, float16 and bfloat16; mxfp4 for gpt_oss");
  }
  if (fields.flag_or({"is_encoder_decoder"}, false))
    fields.refuse_feature("an encoder beside the decoder", "decoders");
  if (fields.flag_or({"add_cross_attention"}, false))
    fields.refuse_feature("cross-attention", "self-attention");
}

void check_sizes(const ConfigFields& fields, const LmConfig& config) {
  if (config.heads % config.kv_heads != 0) {
    fields.refuse_value("the " + std::to_string(config.heads) +
                        " query heads are no multiple of the " + std::to_string(config.kv_heads) +
                        " key heads");
  }
  if (config.rope.kind != RopeKind::none && config.head_dim % 2 != 0)
    fields.refuse_value("a head of odd width cannot be rotated");
  if (config.experts.used > config.experts.count)
    fields.refuse_value("a token uses more experts than there are");
  constexpr std::int64_t kMaxTokens = kVocabularyBlock * kDrawBlocks;
  if (config.vocab > kMaxTokens) {
    fields.refuse_feature("a vocabulary of " + std::to_string(config.vocab) + " tokens",
                          "one of at most " + std::to_string(kMaxTokens));
  }
  if (config.norm_epsilon < 0.0) fields.refuse_value("the epsilon of the norms is negative");
}

}  // namespace

LmConfigTexts read_config_texts(const fs::path& folder) {
  LmConfigTexts texts{read_file(folder / kConfigFile, kMaxConfigBytes), std::nullopt};
  const fs::path generation = folder / kGenerationFile;
  if (fs::exists(generation)) texts.generation = read_file(generation, kMaxConfigBytes);
  return texts;
}

LmConfig read_lm_config(const fs::path& folder) {
  return parse_lm_config(folder, read_config_texts(folder));
}

LmConfig parse_lm_config(const fs::path& folder, const LmConfigTexts& texts) {
  const fs::path path = folder / kConfigFile;
  const store::JsonValue root = store::parse_json_object(path, texts.config);
  const ConfigFields fields(path, root);
  LmConfig config;
  config.family = fields.text_or({"model_type"}, "");
  const Family* family = find_family(config.family);
  if (family == nullptr) {
    fields.refuse_feature(config.family.empty() ? "config.json has no `model_type`"
                                                : "model_type `" + config.family + "`",
                          "model_type " + family_names());
  }
  check_features(fields, *family);
  config.vocab = fields.integer({"vocab_size"});
  family->read(fields, config);
  check_sizes(fields, config);
  config.stored_type = fields.text_or({"dtype", "torch_dtype"}, "");
  read_generation(fields, config.generation);

  if (texts.generation) {
    const fs::path generation_path = folder / kGenerationFile;
    const store::JsonValue generation =
        store::parse_json_object(generation_path, *texts.generation);
    read_generation(ConfigFields(generation_path, generation), config.generation);
  }
  return config;
}

}  // namespace mgpu::language
