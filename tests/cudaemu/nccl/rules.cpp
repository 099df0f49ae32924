#include "rules.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <utility>

namespace nccl_standin {
namespace {

constexpr std::array<const char*, kCalls> kCallNames = {
    "get_unique_id", "init",  "all_reduce", "broadcast", "send",
    "receive",       "group", "finalize",   "destroy",   "abort"};
constexpr std::array<const char*, 8> kAnswerNames = {"success",     "in_progress", "late", "error",
                                                     "async_error", "never",       "lost", "hang"};

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "cudaemu: CUDAEMU_NCCL: %s means nothing\n", text.c_str());
  std::exit(64);
}

template <class Enum, std::size_t kNames>
Enum named(const std::array<const char*, kNames>& names, const std::string& name,
           const std::string& text) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) refuse(text);
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

Rules::Rules(int rank) {
  const char* value = std::getenv("CUDAEMU_NCCL");
  std::istringstream words(value == nullptr ? "" : value);
  for (std::string word; words >> word;) {
    if (word == "peers=silent") {
      notices_peers_ = false;
    } else if (const auto rule = parse(word, rank)) {
      rules_.push_back(*rule);
    }
  }
}

/// Parses CALL[.NUMBER][@RANK]=ANSWER[:SECONDS]. Returns nothing for a rule of another rank.
std::optional<Rules::Rule> Rules::parse(const std::string& text, int rank) const {
  static const std::regex kRule(R"(([a-z_]+)(\.([0-9]+))?(@([0-9]+))?=([a-z_]+)(:([0-9.]+))?)");
  std::smatch part;
  if (!std::regex_match(text, part, kRule)) refuse(text);
  Rule rule{
      named<Call>(kCallNames, part[1], text), 0, {named<Answer>(kAnswerNames, part[6], text), 0.0}};
  if (part[3].matched) rule.number = std::stoi(part[3]);
  if (part[8].matched) rule.order.seconds = std::stod(part[8]);
  if (part[5].matched && std::stoi(part[5]) != rank) return std::nullopt;
  return rule;
}

void Rules::print_counts() const {
  for (std::size_t call = 0; call < calls_.size(); ++call)
    if (calls_.at(call) > 0)
      std::fprintf(stderr, "cudaemu: %d calls of nccl %s\n", calls_.at(call), kCallNames.at(call));
}

Order Rules::next(Call call) {
  const std::lock_guard lock(mutex_);
  const int number = ++calls_.at(static_cast<std::size_t>(call));
  for (const Rule& rule : rules_)
    if (rule.call == call && (rule.number == 0 || rule.number == number)) return rule.order;
  return {};
}

}  // namespace nccl_standin
