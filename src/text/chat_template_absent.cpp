#include <mgpu/base/error.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::text {
namespace {

[[noreturn]] void refuse() {
  throw Failure({"E546",
                 ExitCode::unavailable,
                 "this build has no chat templates",
                 {"  the Jinja of llama.cpp was not in .deps/ when it was configured"},
                 "launch/run.sh fetches it and builds again; or give prompts without a template"});
}

}  // namespace

ChatTemplate::ChatTemplate(const std::string&) {
  refuse();
}

std::string ChatTemplate::render(const std::vector<ChatMessage>&, const ChatOptions&) const {
  refuse();
}

}  // namespace mgpu::text
