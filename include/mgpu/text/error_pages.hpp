#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::text {

/// Error codes of tokenizers and chat templates.
inline constexpr auto kTextErrors = std::to_array<ErrorPage>({
    {"E541", "malformed tokenizer file",
     "tokenizer.json or tokenizer_config.json is not JSON, or a value in it is missing or invalid. "
     "The message shows the place in the file.",
     "Fetch the model folder again."},
    {"E542", "tokenizer that is not supported",
     "The tokenizer file needs a component that this program lacks. Without it the tokens would "
     "differ.",
     "Use a model with another tokenizer; the message lists what is supported."},
    {"E543", "text without tokens",
     "A text is not UTF-8, or has a character for which the tokenizer lacks its unknown token.",
     "Repair the text at the position that the message names."},
    {"E544", "chat template that is not understood",
     "The Jinja of the model's chat template has an error, or uses a statement that this program "
     "does not support.",
     "Set data.chat_template=FILE.jinja to a corrected one, or use prompts without a template."},
    {"E545", "conversation that the chat template refuses",
     "The template itself raises an error (for example because roles do not alternate), or its "
     "result would differ from Python's. The message names the cause.",
     "Change the conversation accordingly, or give a prompt without a template."},
    {"E546", "chat templates are not in this build",
     "The Jinja of llama.cpp was not found when the program was built.",
     "Start launch/run.sh on a machine that can reach PyPI, or give prompts without a template."},
    {"E547", "chat template beyond the limits",
     "The template loops too long, calls itself too deep, or makes a text or list that is too "
     "large. "
     "Such a template would take all time or memory of the machine.",
     "Set data.chat_template=FILE.jinja to another one, or use prompts without a template. Very "
     "long "
     "conversations reach the limits, too: shorten them."},
});

}  // namespace mgpu::text
