#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

namespace mgpu::lm {

std::uint32_t crc_of(const LmExamples& examples) {
  std::uint32_t crc = crc32c(std::as_bytes(std::span(examples.ids)));
  crc = crc32c(std::as_bytes(std::span(examples.is_learned)), crc);
  crc = crc32c(std::as_bytes(std::span(examples.ends)), crc);
  for (const Columns* columns : {&examples.token_columns, &examples.sequence_columns})
    for (const auto& [name, values] : *columns) {
      crc = crc32c(std::as_bytes(std::span(name)), crc);
      crc = crc32c(std::as_bytes(std::span(values)), crc);
    }
  for (const auto& [name, texts] : examples.texts)
    for (const std::string& text : texts)
      crc = crc32c(std::as_bytes(std::span(text)), crc32c(std::as_bytes(std::span(name)), crc));
  if (examples.group_size == 1) return crc;
  return crc32c(std::as_bytes(std::span(&examples.group_size, 1)), crc);
}

std::int64_t LmExamples::predictions(std::size_t example) const {
  const auto first = is_learned.begin() + begin(example);
  return std::count(first + 1, first + length(example), std::uint8_t{1});
}

std::int64_t LmExamples::prompt_length(std::size_t example) const {
  const auto first = is_learned.begin() + begin(example);
  const auto is_one = [](std::uint8_t learned) { return learned != 0; };
  const auto stop = std::make_reverse_iterator(first);
  const auto last = std::find_if(std::make_reverse_iterator(first + length(example)), stop, is_one);
  return std::find_if_not(last, stop, is_one).base() - first;
}

namespace {

constexpr const char* kTooLong = "LmWindows: an example is longer than a window";

void require_per_example(const std::string& name, const std::vector<double>& values,
                         const LmExamples& examples) {
  if (values.size() != examples.size())
    throw ShapeError("LmWindows: the column `" + name + "` has not one value per example");
}

void require_whole(const LmExamples& examples) {
  for (const auto& [name, values] : examples.token_columns)
    if (values.size() != examples.ids.size())
      throw ShapeError("LmWindows: the column `" + name + "` has not one value per token");
  for (const auto& [name, values] : examples.sequence_columns)
    require_per_example(name, values, examples);
  for (const auto& [name, texts] : examples.texts)
    if (texts.size() != examples.size())
      throw ShapeError("LmWindows: there is not one text `" + name + "` per example");
  for (std::size_t example = 0; example < examples.size(); ++example)
    if (examples.length(example) < 1) throw ShapeError("LmWindows: an example has no tokens");
  if (examples.group_size < 1 || std::ssize(examples.ends) % examples.group_size != 0)
    throw ShapeError("LmWindows: " + std::to_string(examples.size()) +
                     " examples are not whole groups of " + std::to_string(examples.group_size));
}

}  // namespace

LmWindows::LmWindows(LmExamples examples, std::int64_t seq_len, std::uint64_t seed,
                     std::int64_t completion)
    : examples_(std::move(examples)), seq_len_(seq_len), seed_(seed), completion_(completion) {
  require_whole(examples_);
  if (group_size() == 1) {
    pack();
    return;
  }
  windows_.resize(examples_.size());
  for (std::size_t example = 0; example < examples_.size(); ++example) {
    if (room_of(example) > seq_len_) throw ShapeError(kTooLong);
    add_example(example, example);
  }
}

void LmWindows::set_sequence_column(const std::string& name, std::vector<double> values) {
  require_per_example(name, values, examples_);
  examples_.sequence_columns[name] = std::move(values);
}

void LmWindows::add_example(std::size_t window, std::size_t example) {
  windows_[window].examples.push_back(example);
  windows_[window].tokens += examples_.length(example);
  windows_[window].predictions += examples_.predictions(example);
}

/// Returns how many tokens of a window are reserved for the example. If a new completion of up to
/// completion_ tokens can replace the stored one, the example has room for the longer of the two.
/// A new completion is cut so that prompt and completion have at most seq_len_ tokens.
std::int64_t LmWindows::room_of(std::size_t example) const {
  const std::int64_t length = examples_.length(example);
  if (completion_ == 0) return length;
  return std::max(length, std::min(seq_len_, examples_.prompt_length(example) + completion_));
}

void LmWindows::pack() {
  std::vector<std::int64_t> rooms(examples_.size());
  for (std::size_t example = 0; example < rooms.size(); ++example)
    rooms[example] = room_of(example);
  std::vector<std::size_t> order(examples_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rooms[a] > rooms[b]; });
  std::set<std::pair<std::int64_t, std::size_t>> open;  // pairs (free tokens, index) of windows
  for (const std::size_t example : order) {
    if (rooms[example] > seq_len_) throw ShapeError(kTooLong);
    auto fullest = open.lower_bound({rooms[example], 0});
    if (fullest == open.end()) {
      windows_.emplace_back();
      fullest = open.emplace(seq_len_, windows_.size() - 1).first;
    }
    const auto [room, window] = *fullest;
    open.erase(fullest);
    open.emplace(room - rooms[example], window);
    add_example(window, example);
  }
  for (Window& window : windows_)
    std::sort(window.examples.begin(), window.examples.end());
}

double LmWindows::fill() const {
  return static_cast<double>(examples_.ids.size()) /
         (static_cast<double>(windows_.size()) * static_cast<double>(seq_len_));
}

std::size_t LmWindows::window_at(std::uint64_t ordinal) const {
  const auto members = static_cast<std::uint64_t>(group_size());
  const KeyedPermutation groups(size() / members, seed_,
                                static_cast<std::uint32_t>(epoch_of(ordinal)));
  return groups(ordinal % size() / members) * members + ordinal % members;
}

void LmWindows::append(std::size_t window, LmBatch& batch) const {
  for (const std::size_t example : windows_[window].examples)
    append_example(example, batch);
}

void LmWindows::append_example(std::size_t example, LmBatch& batch) const {
  const auto begin = static_cast<std::size_t>(examples_.begin(example));
  const auto length = static_cast<std::size_t>(examples_.length(example));
  batch.spans.push_back({std::span(examples_.ids).subspan(begin, length)});
  for (std::size_t i = begin; i + 1 < begin + length; ++i)
    batch.targets.push_back(examples_.is_learned[i + 1] != 0 ? examples_.ids[i + 1]
                                                             : kernels::kIgnoreTarget);
  batch.targets.push_back(kernels::kIgnoreTarget);
  for (const auto& [name, values] : examples_.token_columns) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<double>& column = batch.token_columns[name];
    column.insert(column.end(), first, first + static_cast<std::ptrdiff_t>(length));
  }
  for (const auto& [name, values] : examples_.sequence_columns)
    batch.sequence_columns[name].push_back(values[example]);
}

}  // namespace mgpu::lm
