#include "pass_outcome.hpp"

#include <cstring>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>

// The result of to_bytes(PassOutcome) is one of these messages:
// - 'd' (drawn), the number of scores in 8 bytes, the scores, and the tokens
// - 'f' (failure), and a report
// The values are raw bytes, because the ranks of a group run the same program on machines of the
// same architecture.
namespace mgpu::lm {
namespace {

template <class T>
void add(std::string& bytes, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <class T>
std::vector<T> values_at(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

std::string to_bytes(const PassOutcome& outcome) {
  if (outcome.failure) return 'f' + cluster::to_bytes(*outcome.failure);
  std::string bytes = "d";
  add(bytes, std::vector<std::uint64_t>{outcome.scores.size()});
  add(bytes, outcome.scores);
  add(bytes, outcome.tokens);
  return bytes;
}

PassOutcome outcome_from_bytes(const std::string& bytes) {
  std::string_view rest(bytes);
  PassOutcome outcome;
  const bool has_failed = rest.front() == 'f';
  rest.remove_prefix(1);
  if (has_failed) {
    outcome.failure = cluster::report_from_bytes(rest);
    return outcome;
  }
  const std::uint64_t count = values_at<std::uint64_t>(rest.substr(0, 8)).front();
  outcome.scores = values_at<float>(rest.substr(8, count * sizeof(float)));
  outcome.tokens = values_at<DrawnToken>(rest.substr(8 + count * sizeof(float)));
  return outcome;
}

}  // namespace mgpu::lm
