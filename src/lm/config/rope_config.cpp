#include "rope_config.hpp"

#include <cmath>

namespace mgpu::lm {
namespace {

constexpr const char* kSupported = "rope_type default, linear, dynamic, llama3, yarn";

RopeKind kind_of(const ConfigFields& fields, const std::string& name) {
  if (name == "default") return RopeKind::standard;
  if (name == "linear") return RopeKind::linear;
  if (name == "dynamic") return RopeKind::dynamic;
  if (name == "llama3") return RopeKind::llama3;
  if (name == "yarn") return RopeKind::yarn;
  fields.refuse_feature("rope_type `" + name + "`", kSupported);
}

/// Returns the factor by which yarn multiplies cosine and sine. The factor comes from
/// - the field `attention_factor`, if `scaling` has it
/// - `factor`, `mscale` and `mscale_all_dim`, if the last two are present and not 0
/// - `factor` alone, in all other cases
double yarn_factor(const ConfigFields& scaling, double factor) {
  const auto growth = [factor](double scale) {
    return factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
  };
  if (scaling.has({"attention_factor"})) return scaling.number({"attention_factor"});
  const double over = scaling.number_or({"mscale"}, 0.0);
  const double under = scaling.number_or({"mscale_all_dim"}, 0.0);
  if (over != 0.0 && under != 0.0) return growth(over) / growth(under);
  return growth(1.0);
}

void read_scaling(const ConfigFields& fields, const ConfigFields& scaling, std::int64_t positions,
                  RopeConfig& rope) {
  const bool is_pretrained_length = rope.kind == RopeKind::llama3 || rope.kind == RopeKind::yarn;
  if (is_pretrained_length) {
    // A field at the top level of config.json takes precedence, as in transformers.
    rope.original_positions =
        fields.integer_or({"original_max_position_embeddings"},
                          scaling.integer_or({"original_max_position_embeddings"}, positions));
  }
  if (rope.kind == RopeKind::yarn && !scaling.has({"factor"})) {
    rope.factor = static_cast<double>(positions) / static_cast<double>(rope.original_positions);
  } else {
    rope.factor = scaling.number({"factor"});
  }
  if (rope.factor < 1.0)
    fields.refuse_value(scaling.has({"factor"})
                            ? "`factor` of the rope scaling is below 1"
                            : "`max_position_embeddings` is below the original positions of yarn");
  if (rope.kind == RopeKind::llama3) {
    rope.low_freq_factor = scaling.number({"low_freq_factor"});
    rope.high_freq_factor = scaling.number({"high_freq_factor"});
    if (rope.low_freq_factor <= 0.0 || rope.high_freq_factor <= rope.low_freq_factor)
      fields.refuse_value("`high_freq_factor` is not above `low_freq_factor`");
  }
  if (rope.kind == RopeKind::yarn) {
    rope.beta_fast = scaling.number_or({"beta_fast"}, 32.0);
    rope.beta_slow = scaling.number_or({"beta_slow"}, 1.0);
    if (rope.beta_slow <= 0.0 || rope.beta_fast < rope.beta_slow)
      fields.refuse_value("`beta_fast` is below `beta_slow`, or they are not positive");
    rope.truncate = scaling.flag_or({"truncate"}, true);
    rope.attention_factor = yarn_factor(scaling, rope.factor);
  }
}

}  // namespace

RopeConfig read_rope_config(const ConfigFields& fields, std::int64_t positions) {
  RopeConfig rope;
  rope.kind = RopeKind::standard;
  rope.theta = fields.number_or({"rope_theta"}, rope.theta);
  const auto scaling = fields.object({"rope_scaling", "rope_parameters"});
  double rotated = fields.number_or({"partial_rotary_factor"}, 1.0);
  if (scaling) {
    for (const auto& [name, value] : *scaling->value().members()) {
      if (value.members() != nullptr)
        fields.refuse_feature("a separate rotation for layers of type `" + name + "`", kSupported);
    }
    rope.kind = kind_of(fields, scaling->text_or({"rope_type", "type"}, "default"));
    rope.theta = scaling->number_or({"rope_theta"}, rope.theta);
    rotated = scaling->number_or({"partial_rotary_factor"}, rotated);
    if (rope.kind != RopeKind::standard) read_scaling(fields, *scaling, positions, rope);
  }
  if (rope.theta <= 1.0) fields.refuse_value("`rope_theta` is not above 1");
  if (rotated != 1.0) fields.refuse_feature("`partial_rotary_factor` other than 1", kSupported);
  return rope;
}

}  // namespace mgpu::lm
