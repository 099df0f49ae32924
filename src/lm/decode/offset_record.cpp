#include <algorithm>
#include <iterator>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/offset_record.hpp>

namespace mgpu::lm {

void OffsetRecord::add(std::span<const DrawSite> rows, const at::Tensor& ids,
                       const at::Tensor& offsets) {
  for (std::size_t n = 0; n < rows.size(); ++n) {
    std::vector<Place>& draws = places_[rows[n].sample];
    if (draws.size() <= rows[n].position) draws.resize(rows[n].position + 1);
    draws[rows[n].position] = {calls_.size(), static_cast<std::int64_t>(n)};
  }
  calls_.push_back({ids.to(at::kInt), offsets});
}

CandidateOffsets OffsetRecord::of(std::uint64_t sample, std::int64_t first,
                                  std::int64_t count) const {
  const auto fail = [&] {
    throw Error("OffsetRecord: no such draw of sample " + std::to_string(sample));
  };
  const auto found = places_.find(sample);
  if (found == places_.end() || first + count > std::ssize(found->second)) fail();
  std::vector<at::Tensor> ids;
  std::vector<at::Tensor> offsets;
  for (std::int64_t draw = first; draw < first + count; ++draw) {
    const Place place =
        draw < 0 ? found->second.back() : found->second[static_cast<std::size_t>(draw)];
    if (place.row < 0) fail();
    const at::Tensor row = calls_[place.call].ids[place.row];
    ids.push_back(draw < 0 ? at::full_like(row, -1) : row);
    offsets.push_back(calls_[place.call].offsets[place.row]);
  }
  return {at::stack(ids).to(at::kLong), at::stack(offsets), {}};
}

void OffsetRecord::clear() {
  calls_.clear();
  places_.clear();
}

}  // namespace mgpu::lm
