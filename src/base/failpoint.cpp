#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>

namespace mgpu {
namespace {

struct Plan {
  std::string place;
  int rank = -1;  // -1: any rank
  long arrival = 1;
  std::string action;
  long seen = 0;
};

int own_rank = -1;
std::mutex mutex;

const std::map<std::string_view, int, std::less<>> kErrnos = {
    {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EIO", EIO},
    {"EROFS", EROFS},   {"ESTALE", ESTALE}, {"EMFILE", EMFILE},
    {"EINTR", EINTR},   {"ENOMEM", ENOMEM}, {"short", ENOSPC}};
const std::vector<std::string_view> kSignalActions = {"kill", "segv",  "abort",
                                                      "stop", "sleep", "spin"};

long to_long(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error("MGPU_FAILPOINT: '" + std::string(text) + "' is not a number");
  }
  return value;
}

std::string_view cut(std::string_view& rest, char at) {
  const std::size_t n = std::min(rest.find(at), rest.size());
  const std::string_view head = rest.substr(0, n);
  rest.remove_prefix(std::min(n + 1, rest.size()));
  return head;
}

Plan parse(std::string_view text) {
  Plan plan;
  std::string_view place = cut(text, ':');
  plan.place = cut(place, '@');
  if (!place.empty()) plan.rank = static_cast<int>(to_long(place));
  plan.arrival = to_long(cut(text, ':'));
  plan.action = text;
  const bool is_signal =
      std::find(kSignalActions.begin(), kSignalActions.end(), text) != kSignalActions.end();
  if (!is_signal && !kErrnos.contains(text)) {
    throw Error("MGPU_FAILPOINT: unknown action '" + plan.action + "'");
  }
  return plan;
}

/// Returns the entries of MGPU_FAILPOINT; nullptr if the variable is not set.
std::vector<Plan>* plans() {
  static const std::unique_ptr<std::vector<Plan>> kPlans = [] {
    const char* text = std::getenv("MGPU_FAILPOINT");
    if (text == nullptr) return std::unique_ptr<std::vector<Plan>>();
    const char* testing = std::getenv("MGPU_TESTING");
    if (testing == nullptr || std::string_view(testing) != "1") {
      throw Error("MGPU_FAILPOINT is for tests: it needs MGPU_TESTING=1");
    }
    auto all = std::make_unique<std::vector<Plan>>();
    for (std::string_view rest = text; !rest.empty();)
      all->push_back(parse(cut(rest, ';')));
    return all;
  }();
  return kPlans.get();
}

void mark_now() {
  const char* path = std::getenv("MGPU_FAILPOINT_MARK");
  if (path != nullptr) std::ofstream{path};
}

/// Loops endlessly, without being optimized away.
[[noreturn]] void spin() {
  for (volatile std::uint64_t turns = 0;;)
    turns = turns + 1;
}

FailpointAction act(const std::string& action) {
  mark_now();
  if (action == "kill") std::raise(SIGKILL);
  if (action == "segv") std::raise(SIGSEGV);
  if (action == "abort") std::abort();
  if (action == "stop") std::raise(SIGSTOP);
  if (action == "sleep") std::this_thread::sleep_for(std::chrono::seconds(1));
  if (action == "spin") spin();
  const auto found = kErrnos.find(action);
  return found == kErrnos.end() ? FailpointAction{}
                                : FailpointAction{found->second, action == "short"};
}

}  // namespace

void set_failpoint_rank(int world_rank) {
  own_rank = world_rank;
}

bool has_failpoints() {
  return plans() != nullptr;
}

FailpointAction failpoint(std::string_view place) {
  std::vector<Plan>* all = plans();
  if (all == nullptr) return {};
  const std::lock_guard lock(mutex);
  FailpointAction action;
  for (Plan& plan : *all) {  // each entry has a separate count of calls
    if (plan.place != place || (plan.rank >= 0 && plan.rank != own_rank)) continue;
    if (++plan.seen == plan.arrival) action = act(plan.action);
  }
  return action;
}

}  // namespace mgpu
