// Reads any bytes as a chat template, and renders a conversation with it. The result must be a
// text, or a Failure that can be printed, within the limits of RenderBudget.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/text/chat_template.hpp>

namespace {

using namespace mgpu;
using namespace mgpu::text;

void require(bool ok) {
  if (!ok) std::abort();
}

/// Renders the messages. Returns the printed failure, or "" if there is no failure.
std::string shown_failure(const std::string& jinja, const std::vector<ChatMessage>& messages) {
  try {
    ChatOptions options;
    options.add_generation_prompt = jinja.size() % 2 == 0;
    options.now = 1'700'000'000;
    options.max_steps = 20'000;  // instrumented code is slow
    options.special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    ChatTemplate(jinja).render(messages, options);
  } catch (const Failure& failure) {
    return render(failure.report());
  }
  return "";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<ChatMessage> messages = {
      {"system", "be brief"}, {"user", "gr\xC3\xBC\xC3\x9F"}, {"assistant", " ok\n"}};
  const std::string shown = shown_failure({reinterpret_cast<const char*>(data), size}, messages);
  require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  return 0;
}
