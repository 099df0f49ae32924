#include "rollout_bytes.hpp"

#include <cstring>
#include <span>

namespace mgpu::recipes {
namespace {

/// The first bytes of each completion in a message. `tokens` ids and as many log-probabilities
/// follow.
struct SentHeader {
  std::uint64_t place;
  double reward;
  std::int64_t is_truncated;
  std::int64_t tokens;
};

template <class T>
void append_values(std::span<const T> values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <class T>
void take_values(std::string_view& bytes, std::span<T> values) {
  if (values.empty()) return;
  std::memcpy(values.data(), bytes.data(), values.size_bytes());
  bytes.remove_prefix(values.size_bytes());
}

void append_header(std::size_t place, const Rollout& row, std::int64_t tokens, std::string& bytes) {
  const SentHeader header{place, row.reward, row.is_truncated ? 1 : 0, tokens};
  append_values(std::span(&header, 1), bytes);
}

}  // namespace

void append_reward(std::size_t place, const Rollout& row, std::string& bytes) {
  append_header(place, row, 0, bytes);
}

void append_rollout(std::size_t place, const Rollout& row, std::string& bytes) {
  append_header(place, row, std::ssize(row.sampled), bytes);
  append_values(std::span(row.ids).subspan(static_cast<std::size_t>(row.prompt)), bytes);
  append_values(std::span(row.sampled), bytes);
}

std::vector<SentRollout> rollouts_from(std::string_view bytes) {
  std::vector<SentRollout> sent;
  while (!bytes.empty()) {
    SentHeader header{};
    take_values(bytes, std::span(&header, 1));
    SentRollout& row = sent.emplace_back();
    row.place = header.place;
    row.reward = header.reward;
    row.is_truncated = header.is_truncated != 0;
    row.ids.resize(static_cast<std::size_t>(header.tokens));
    row.sampled.resize(row.ids.size());
    take_values(bytes, std::span(row.ids));
    take_values(bytes, std::span(row.sampled));
  }
  return sent;
}

}  // namespace mgpu::recipes
