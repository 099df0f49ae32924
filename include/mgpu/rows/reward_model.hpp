#pragma once

#include <cstdint>
#include <memory>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/rewards/registry.hpp>

namespace mgpu::rows {

// In this header, the reward model is the model in folder settings.model. It is used only if the
// user chooses the reward with the name `model`, that is, if settings.has_model() is true. Messages
// name the key settings.model_key, which is `reward.model` or `generate.reward.path`.

/// Checks config.json and the tokenizer of the reward model, if the reward `model` is chosen. This
/// is enough for a dry run (--plan), which needs no weights. Other runs also call
/// check_reward_weights().
/// Ranks:  local; one rank calls this function.
/// Errors: those of check_model_config() for key settings.model_key; Failure E553 (exit 65) if the
///         family of the model is not supported, or the folder has no tokenizer; those of
///         read_lm_config(), text::read_text_files() and parse_tokenizer_files().
void check_reward_config(const Config& config, const rewards::RewardSettings& settings);

/// Checks that the reward model has weights and exactly one output, if the reward `model` is
/// chosen. Call it after check_reward_config() and before any work.
/// Ranks:  local; one rank calls this function.
/// Errors: those of check_model_folder() for key settings.model_key; Failure E553 (exit 65) if the
///         folder has no `score.weight`, or if the number of outputs is not one; those of
///         lm::read_scorer_facts().
void check_reward_weights(const Config& config, const rewards::RewardSettings& settings);

/// Returns whether the rewards can judge prompts that are lists of chat messages. This is so if the
/// reward `model` is not chosen, or if the folder of the reward model has a template named
/// `default` (see text::read_chat_templates()).
/// Ranks:  local.
/// Errors: those of text::read_chat_templates().
bool can_judge_messages(const rewards::RewardSettings& settings);

/// Returns model_fingerprint() of the reward model. Returns 0 if the reward `model` is not chosen,
/// or if the folder has no weights. With `models`, each node opens the files once.
/// Ranks:  local.
/// Errors: those of folder_facts().
std::uint32_t reward_fingerprint(const rewards::RewardSettings& settings,
                                 lm::ResidentModels* models = nullptr);

/// Returns the bytes that the weights of the reward model take on a rank; 0 if the reward `model`
/// is not chosen. On the CPU this counts two copies of the weights: the packed copy of the rank,
/// and the copy that the ranks of its node share.
/// Ranks:  local.
/// Errors: those of lm::read_scorer_facts().
std::uint64_t reward_model_bytes(const rewards::RewardSettings& settings, DeviceKind device);

/// Makes the chosen rewards. The reward `model` is opened on `device`; with `models`, the ranks of
/// a node share its weights.
///
/// The reward model gets prompt and completion in the form of its training rows. A text includes
/// the special tokens of the tokenizer, and ends with the eos token if there is one. Messages are
/// rendered by the chat template of the reward model's folder, with the completion as the
/// assistant's answer. The reward is NaN if the row has no tokens, or if the tokenizer or the chat
/// template refuses the row. It is also NaN if the model has learned position embeddings, and the
/// row has more tokens than there are embeddings.
/// Ranks:  local.
/// Errors: those of WeightedRewards, SequenceScorer::open(), text::read_text_files() and
///         parse_tokenizer_files().
rewards::WeightedRewards open_rewards(const rewards::RewardSettings& settings, Device device,
                                      lm::ResidentModels* models = nullptr);

}  // namespace mgpu::rows
