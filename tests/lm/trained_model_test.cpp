// Tests a trained model with expected values in float64 (oracle.json in its folder).
// MGPU_TRAINED_MODEL names the folder; the default is shared/data/models/dreams-260k next to the
// sources. The test is skipped with a message if the folder has no oracle.json.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "logits_of.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

double number(const formats::JsonValue& value) {
  return value.real() != nullptr ? *value.real() : static_cast<double>(*value.integer());
}

std::vector<std::int64_t> integers(const formats::JsonValue* list) {
  std::vector<std::int64_t> values;
  for (const formats::JsonValue& item : *list->list())
    values.push_back(*item.integer());
  return values;
}

TEST(TrainedModelTest, LogProbsAndContinuationsAreThoseOfTheOracle) {
  const char* const place = std::getenv("MGPU_TRAINED_MODEL");
  const fs::path folder =
      place != nullptr ? place
                       : testing_support::project_folder() / "../shared/data/models/dreams-260k";
  if (!fs::exists(folder / "oracle.json")) GTEST_SKIP() << "no trained model with an oracle";
  const LanguageModel model = LanguageModel::open(folder);
  const formats::JsonValue oracle = formats::read_json_object(folder / "oracle.json", 1 << 20);

  for (const formats::JsonValue& prompt : *oracle.find("prompts")->list()) {
    const std::vector<std::int64_t> ids = integers(prompt.find("ids"));
    const SequenceSpan run{ids};
    const at::Tensor hidden = model.hidden({&run, 1});
    const HeadResult head = apply_head(model, hidden.narrow(0, hidden.size(0) - 1, 1), {}, 16);
    const std::vector<std::int64_t> best = integers(prompt.find("last_top16_ids"));
    const auto& log_probs = *prompt.find("last_top16_log_probs")->list();
    for (std::size_t k = 0; k < best.size(); ++k) {
      const auto at_k = static_cast<std::int64_t>(k);
      const double ours = head.best_logits[0][at_k].item<double>() - head.log_sums.item<double>();
      EXPECT_EQ(head.best_ids[0][at_k].item<std::int64_t>(), best[k]) << k;
      EXPECT_NEAR(ours, number(log_probs[k]), 2e-5) << k;
    }
    const std::vector<std::int64_t> continuation = integers(prompt.find("greedy_ids"));
    EXPECT_EQ(greedy(model, ids, continuation.size()), continuation);
  }
}

}  // namespace
}  // namespace mgpu::lm
