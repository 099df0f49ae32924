#include <algorithm>
#include <utility>

#include <mgpu/rows/stop_strings.hpp>

namespace mgpu::rows {

StopStrings::StopStrings(const text::Tokenizer& tokenizer, std::vector<std::string> stops)
    : tokenizer_(&tokenizer), stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    longest_ = std::max(longest_, stop.size());
}

bool StopStrings::is_reached(std::uint64_t sample, std::span<const std::int64_t> ids) {
  if (ids.size() == 1) grown_.erase(sample);
  auto found = grown_.find(sample);
  if (found == grown_.end())
    found = grown_.emplace(sample, Grown{text::StreamDecoder(*tokenizer_, true), ""}).first;
  Grown& grown = found->second;
  grown.tail += grown.decoder.add(static_cast<text::TokenId>(ids.back()));
  const bool is_reached = std::any_of(stops_.begin(), stops_.end(), [&](const std::string& stop) {
    return grown.tail.find(stop) != std::string::npos;
  });
  const std::size_t kept = std::min(grown.tail.size(), longest_ - 1);
  grown.tail.erase(0, grown.tail.size() - kept);
  if (is_reached) grown_.erase(found);
  return is_reached;
}

}  // namespace mgpu::rows
