#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::rewards {

/// Error codes of rewards, with the texts that --explain prints.
inline constexpr auto kRewardErrors = std::to_array<ErrorPage>({
    {"E551", "reward command failed",
     "The program of reward.command could not be started, ended, did not answer in time, or wrote "
     "something else than one JSON object per row. This happened with all rows of its first call, "
     "or with three rows in a row. The message has its last words.",
     "Run the command by hand with a row such as {\"prompt\": \"a\", \"completion\": \"b\", "
     "\"answer\": \"c\"}. It has to write {\"reward\": 1.0} on one line and flush it."},
    {"E552", "reward file that cannot be used",
     "A row of reward.file lacks the text `prompt`, the text `completion` or the number `reward`. "
     "Or two rows have the same prompt and completion.",
     "Repair or remove those rows."},
    {"E553", "reward model that cannot be used",
     "The folder of reward.model or generate.reward.path has no ForSequenceClassification with one "
     "output, its family is not supported, or it has no tokenizer. Key generate.reward.path may "
     "also "
     "name a ForTokenClassification that judges steps.",
     "Name the folder of a reward model of one of the supported families. Job train makes one with "
     "train.recipe=reward, and one that judges steps with train.recipe=prm."},
});

}  // namespace mgpu::rewards
