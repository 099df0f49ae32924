#pragma once

#include <cstddef>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mgpu::text {

struct ChatMessage {
  std::string role, content;
  std::vector<std::string> others{};  // names of other members that have a value

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

struct ChatOptions {
  /// Whether to append the prompt that starts an answer of the assistant.
  bool add_generation_prompt = false;
  /// The current time, for templates that print a date. Templates get the local time.
  std::time_t now = std::time(nullptr);
  /// Texts of special tokens by role (bos_token, eos_token, ...), from TextFolder::special_tokens.
  std::map<std::string, std::string> special_tokens;
  /// The maximum number of interpreter steps of a rendering. A step takes about a microsecond. A
  /// rendering that needs more steps fails.
  std::size_t max_steps = 1'000'000;
};

/// A chat template of a Hugging Face folder. It turns messages into a text in the form on which the
/// model was trained. The text equals that of apply_chat_template of transformers 5.23, character
/// by character. A template or message is refused if transformers refuses it, or if it is not
/// certain that the texts would be equal. Copies share all data; any number of threads may use one
/// object.
class ChatTemplate {
public:
  /// Parses the text of a template. Errors: Failure E544 (template not understood), E546 (this
  /// build has no chat templates)
  explicit ChatTemplate(const std::string& jinja);

  /// Renders the roles and contents of the messages, without tools or documents. The result
  /// contains the special tokens, so encode it without adding special tokens.
  ///
  /// Shapes: at least one message
  /// Errors: Failure E543 when a message is not UTF-8; E545 when there is no message, the template
  ///         names another member of a message (ChatMessage::others), raises an error, or needs an
  ///         operation that is not supported; E547 when the rendering needs too many steps or
  ///         nested calls, or makes a text or list that is too large.
  std::string render(const std::vector<ChatMessage>& messages, const ChatOptions& options) const;

private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace mgpu::text
