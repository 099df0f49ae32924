// The reward `file`: a file lists the reward of each known completion.
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {
namespace {

using Judged = std::pair<std::string, std::string>;  // prompt and completion

[[noreturn]] void refuse_row(const RewardSettings& settings, std::int64_t line,
                             const std::string& why) {
  throw Failure({"E552",
                 ExitCode::data,
                 "a row of the reward file cannot be used: " + why,
                 {"  --> " + settings.file.string() + ":" + std::to_string(line)},
                 R"(write rows such as {"prompt": "1 + 1 =", "completion": " 2", "reward": 1.0})"});
}

class FileReward final : public Reward {
public:
  explicit FileReward(const RewardSettings& settings) {
    input::RowOptions options;
    options.path = settings.file;
    const input::RowFile file = input::open_rows(options);
    for (const input::Row& row : file.read(0, file.rows())) {
      const formats::JsonValue* prompt = row.object.find("prompt");
      const formats::JsonValue* completion = row.object.find("completion");
      const formats::JsonValue* reward = row.object.find("reward");
      if (prompt == nullptr || prompt->text() == nullptr || completion == nullptr ||
          completion->text() == nullptr)
        refuse_row(settings, row.line, "it has no texts `prompt` and `completion`");
      const bool is_number =
          reward != nullptr && (reward->integer() != nullptr || reward->real() != nullptr);
      if (!is_number) refuse_row(settings, row.line, "it has no number `reward`");
      const auto [place, is_new] =
          rewards_.emplace(Judged{*prompt->text(), *completion->text()}, reward->as<double>());
      if (!is_new) refuse_row(settings, row.line, "its prompt and completion came before");
    }
  }

  std::vector<double> score(std::span<const RewardRow> rows) override {
    std::vector<double> scores;
    for (const RewardRow& row : rows) {
      const auto found = rewards_.find({std::string(row.prompt), std::string(row.completion)});
      scores.push_back(found == rewards_.end() ? std::numeric_limits<double>::quiet_NaN()
                                               : found->second);
    }
    return scores;
  }

private:
  std::map<Judged, double> rewards_;
};

}  // namespace

RewardEntry file_reward() {
  return {.name = "file",
          .summary = "the `reward` of the row of reward.file with this prompt and completion",
          .key = "reward.file",
          .make = [](const RewardSettings& settings) -> std::unique_ptr<Reward> {
            return std::make_unique<FileReward>(settings);
          }};
}

}  // namespace mgpu::rewards
