#include <algorithm>
#include <cctype>

#include <jinja/lexer.h>
#include <jinja/parser.h>
#include <jinja/runtime.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/text/chat_template.hpp>

#include "jinja_budget.hpp"
#include "jinja_guards.hpp"
#include "tokenizer_parts.hpp"

namespace mgpu::text {
namespace {

/// Returns a Failure with the interpreter's `reason` on one line. The interpreter's text may have
/// several lines, and may contain parts of UTF-8 characters.
Failure failure(const char* code, std::string sentence, std::string reason) {
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return Failure({code, ExitCode::data, std::move(sentence), {"  " + printable(reason)}, ""});
}

/// A parsed template. The function guard() has changed `program` so that it gives the same output
/// as Python's Jinja, or fails.
struct Parsed {
  jinja::program program;
  std::size_t names = 0;  // the result of guard(): a bound on the number of variables
};

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

Parsed parse(const std::string& source) {
  try {
    if (source.size() > kMaxBytes)
      throw std::runtime_error("it has more than " + std::to_string(kMaxBytes) + " bytes");
    const jinja::lexer_result read = jinja::lexer().tokenize(source);
    check_nesting(read.tokens);
    Parsed parsed{jinja::parse_from_tokens(read)};
    parsed.names = guard(parsed.program);
    return parsed;
  } catch (const std::exception& error) {
    throw failure("E544", "the chat template is not understood", error.what());
  }
}

jinja::value messages_value(const std::vector<ChatMessage>& messages) {
  auto list = jinja::mk_val<jinja::value_array>();
  for (const ChatMessage& message : messages) {
    auto object = jinja::mk_val<jinja::value_object>();
    object->insert("role", jinja::mk_val<jinja::value_string>(message.role));
    object->insert("content", jinja::mk_val<jinja::value_string>(message.content));
    list->push_back(object);
  }
  return list;
}

/// Returns whether `name` is a word of `source`, as in message.NAME or message['NAME'].
bool has_word(std::string_view source, std::string_view name) {
  const auto continues = [&](std::size_t at) {
    return at < source.size() &&
           (std::isalnum(static_cast<unsigned char>(source[at])) != 0 || source[at] == '_');
  };
  std::size_t at = name.empty() ? std::string_view::npos : source.find(name);
  while (at != std::string_view::npos) {
    if ((at == 0 || !continues(at - 1)) && !continues(at + name.size())) return true;
    at = source.find(name, at + 1);
  }
  return false;
}

/// Returns the reason, which is the last part of the message of `error`. Before the reason, the
/// interpreter names the nodes that it was executing.
std::string reason_of(const std::exception& error) {
  constexpr std::string_view kMark = "Error: ";
  const std::string text = error.what();
  const std::size_t mark = text.rfind(kMark);
  return mark == text.npos ? text : text.substr(mark + kMark.size());
}

}  // namespace

struct ChatTemplate::Program {
  std::string source;
  Parsed parsed;
};

ChatTemplate::ChatTemplate(const std::string& jinja)
    : program_(std::make_shared<const Program>(Program{jinja, parse(jinja)})) {}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                 const ChatOptions& options) const {
  const std::string sentence = "the chat template does not take a conversation";
  for (const ChatMessage& message : messages) {
    check_utf8(message.role);
    check_utf8(message.content);
    for (const std::string& name : message.others)
      if (has_word(program_->source, name))
        throw failure("E545", sentence,
                      "a message has `" + printable(name) +
                          "`, which the template names, and only role and content are supported");
  }
  if (messages.empty()) throw failure("E545", sentence, "it has no message");
  const RenderBudget budget(program_->parsed.names + options.special_tokens.size() + 16,
                            options.max_steps);
  try {
    jinja::context context(program_->source);
    context.current_time = options.now;
    for (const auto& [role, token] : options.special_tokens)
      context.set_val(role, jinja::mk_val<jinja::value_string>(token));
    context.set_val("messages", messages_value(messages));
    context.set_val("tools", jinja::mk_val<jinja::value_none>());
    context.set_val("documents", jinja::mk_val<jinja::value_none>());
    context.set_val("add_generation_prompt",
                    jinja::mk_val<jinja::value_bool>(options.add_generation_prompt));
    jinja::runtime runtime(context);
    const auto result = runtime.execute(program_->parsed.program);
    return jinja::render_string_parts(jinja::runtime::gather_string_parts(result));
  } catch (const std::exception& error) {
    if (budget.is_spent())
      throw failure("E547", "the chat template goes beyond the limits", reason_of(error));
    throw failure("E545", sentence, reason_of(error));
  }
}

}  // namespace mgpu::text
