#pragma once

#include <string>
#include <vector>

#include "jobs/classify/inputs.hpp"
#include "jobs/classify/table.hpp"
#include "made_inputs.hpp"

namespace mgpu::jobs::test {

/// Returns a sample with the text `text` and its tokens. `truth`: the index of its true label.
inline ClassifySample sample_of(const std::string& text, std::int32_t truth,
                                rows::RowFacts facts = {}) {
  ClassifySample sample;
  sample.facts = std::move(facts);
  sample.truth = truth;
  sample.text = text;
  sample.group = "g" + text.substr(0, 1);
  sample.persona = "p";
  sample.source = "s";
  sample.ids = rows::test::ids_of(text);
  return sample;
}

/// Returns the result of a row whose two labels have these log-probabilities. The second label is
/// positive.
inline GivenLabel given_of(float first, float second) {
  ClassifyConfig config;
  config.labels = {"no", "yes"};
  config.positive = 1;
  const std::vector<std::vector<float>> scores = {{first}, {second}};
  return best_label(scores, config);
}

}  // namespace mgpu::jobs::test
