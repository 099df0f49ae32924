#include "method.hpp"

#include <mgpu/report/text_format.hpp>

#include "recipes/lm/examples.hpp"

namespace mgpu::recipes {

input::RowOptions DpoMethod::row_options(input::RowOptions options) const {
  options.all_of = {"chosen", "rejected"};
  options.may_have = {"prompt"};
  return options;
}

void DpoMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                       lm::LmExamples& examples) const {
  encoder.add_pair(row, examples);
}

LossMeaning DpoMethod::loss_meaning() const {
  LossMeaning meaning{.name = "preference loss",
                      .per = "pair",
                      .is_cross_entropy = false,
                      .held_out_is_cross_entropy = false};
  if (settings_.sft_weight > 0.0)
    meaning.name +=
        report::text_of(" + %.3g cross-entropy of chosen completions", settings_.sft_weight);
  return meaning;
}

}  // namespace mgpu::recipes
