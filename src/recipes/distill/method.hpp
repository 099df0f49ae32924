#pragma once

#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Distillation in which the student samples completions, so that rows of training need prompts.
class OnPolicyMethod final : public LmMethod {
public:
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;
};

}  // namespace mgpu::recipes
