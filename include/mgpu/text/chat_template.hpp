#pragma once

#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mgpu::text {

struct ChatMessage {
  std::string role, content;
};

struct ChatOptions {
  /// Ends with the words that begin an answer of the assistant.
  bool add_generation_prompt = false;
  /// For templates that write the date; local time.
  std::time_t now = std::time(nullptr);
  /// bos_token, eos_token, ...: TextFolder::special_tokens
  std::map<std::string, std::string> special_tokens;
};

/// A chat template of a Hugging Face folder: messages become the text that the model was trained
/// on, character by character as apply_chat_template of transformers 5.23 makes it.
///
/// What cannot be made so is refused, as is what Python refuses. Copies share everything; any
/// number of threads may use one.
class ChatTemplate {
public:
  /// Errors: Failure E544 (not understood), E546 (this build has no chat templates)
  explicit ChatTemplate(const std::string& jinja);

  /// Tools and documents are none. Encode it without adding special tokens: they are in it.
  /// Shapes: one message at least
  /// Errors: Failure E545, with what the template says or does that cannot be done
  std::string render(const std::vector<ChatMessage>& messages, const ChatOptions& options) const;

private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace mgpu::text
