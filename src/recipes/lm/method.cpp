#include "method.hpp"

#include <utility>

#include "examples.hpp"

namespace mgpu::recipes {
namespace {

/// An OpenMethod for a loss that needs no other model or file.
class LossAlone final : public OpenMethod {
public:
  explicit LossAlone(const lm::TokenLoss& loss) : loss_(loss) {}
  const lm::TokenLoss& loss() const override { return loss_; }

private:
  const lm::TokenLoss& loss_;
};

}  // namespace

std::unique_ptr<lm::LmItems> OpenMethod::make_items(const lm::LmWindows& windows) {
  return std::make_unique<lm::WindowItems>(windows, sources());
}

input::RowOptions LmMethod::row_options(input::RowOptions options) const {
  options.one_of = {"prompt", "messages", "text", "token_ids"};
  options.may_have = {"completion", "completion_ids"};
  return options;
}

void LmMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                      lm::LmExamples& examples) const {
  encoder.add_row(row, examples);
}

std::unique_ptr<OpenMethod> LmMethod::open(const run::RunContext& /*run*/, LmData& /*data*/) const {
  return std::make_unique<LossAlone>(loss());
}

const lm::TokenLoss& LmMethod::loss() const {
  return cross_entropy_;
}

}  // namespace mgpu::recipes
