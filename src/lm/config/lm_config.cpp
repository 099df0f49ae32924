#include <mgpu/formats/json_value.hpp>
#include <mgpu/kernels/paged_attention.hpp>
#include <mgpu/lm/config/lm_config.hpp>

#include "family.hpp"
#include "generation_defaults.hpp"
#include "lm/decode/draw_bits.hpp"
#include "lm/decode/online_logits.hpp"
#include "lm/weights/stored_head.hpp"

namespace mgpu::lm {
namespace {

constexpr const char* kConfigFile = "config.json";
constexpr const char* kGenerationFile = "generation_config.json";
// The limit is high, because a classifier's config.json contains the name of each label.
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;

/// Refuses the unsupported features that a config.json of any family can request.
void check_features(const ConfigFields& fields, const Family& family) {
  if (const auto quantization = fields.object({"quantization_config"})) {
    const std::string method = quantization->text_or({"quant_method"}, "an unnamed method");
    if (method != family.quantization)
      fields.refuse_feature("weights quantized by `" + method + "`",
                            "weights of float32, float16 and bfloat16; mxfp4 for gpt_oss");
  }
  if (fields.flag_or({"is_encoder_decoder"}, false))
    fields.refuse_feature("an encoder in addition to the decoder", "decoders");
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
  constexpr auto kMaxHead = static_cast<std::int64_t>(kernels::kMaxPagedHeadDim);
  if (config.head_dim > kMaxHead) {
    fields.refuse_feature("a head that is " + std::to_string(config.head_dim) + " wide",
                          "heads of at most " + std::to_string(kMaxHead));
  }
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
  LmConfigTexts texts{.config = read_file(folder / kConfigFile, kMaxConfigBytes),
                      .generation = std::nullopt};
  const fs::path generation = folder / kGenerationFile;
  if (fs::exists(generation)) texts.generation = read_file(generation, kMaxConfigBytes);
  return texts;
}

LmConfigTexts read_config_texts(const fs::path& folder, FolderWeights weights) {
  LmConfigTexts texts = read_config_texts(folder);
  if (weights == FolderWeights::used)
    texts.head = find_stored_head(folder, parse_lm_config(folder, texts));
  return texts;
}

LmConfig read_lm_config(const fs::path& folder, FolderWeights weights) {
  return parse_lm_config(folder, read_config_texts(folder, weights));
}

std::string head_note(const fs::path& folder, const LmConfig& config) {
  if (config.stored_head != StoredHead::untied) return {};
  return (folder / kConfigFile).string() + " says tie_word_embeddings, but the stored " +
         kHeadName + " differs from the embedding: the stored head is used, as by transformers";
}

LmConfig parse_lm_config(const fs::path& folder, const LmConfigTexts& texts) {
  const fs::path path = folder / kConfigFile;
  const formats::JsonValue root = formats::parse_json_object(path, texts.config);
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
  config.stored_head = texts.head;
  if (texts.head == StoredHead::untied) config.tied_head = false;
  config.stored_type = fields.text_or({"dtype", "torch_dtype"}, "");
  read_generation(fields, config.generation);

  if (texts.generation) {
    const fs::path generation_path = folder / kGenerationFile;
    const formats::JsonValue generation =
        formats::parse_json_object(generation_path, *texts.generation);
    read_generation(ConfigFields(generation_path, generation), config.generation);
  }
  return config;
}

}  // namespace mgpu::lm
