#include "double_ids.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include <mgpu/base/sha256.hpp>

namespace mgpu::input {
namespace {

constexpr std::int64_t kRowsPerPass = std::int64_t{1} << 16;

/// Gathers from all ranks the digests that belong to pass number `pass`, counted from 0. Returns
/// them sorted, so that digests of equal ids are adjacent. The remainder of IdDigest::low divided
/// by `passes` selects the pass, so digests of equal ids belong to the same pass.
/// Ranks:  collective over the readers.
std::vector<IdDigest> gather_ids(const Readers& readers, const std::vector<IdDigest>& mine,
                                 std::uint64_t pass, std::uint64_t passes) {
  std::string bytes;
  for (const IdDigest& id : mine)
    if (id.low % passes == pass) bytes.append(reinterpret_cast<const char*>(&id), sizeof id);
  std::vector<IdDigest> ids;
  for (const std::string& theirs : readers.all_gather(bytes)) {
    const std::size_t before = ids.size();
    ids.resize(before + theirs.size() / sizeof(IdDigest));
    if (!theirs.empty()) std::memcpy(ids.data() + before, theirs.data(), theirs.size());
  }
  const auto order = [](const IdDigest& id) { return std::tuple(id.high, id.low, id.row); };
  std::sort(ids.begin(), ids.end(),
            [&](const IdDigest& a, const IdDigest& b) { return order(a) < order(b); });
  return ids;
}

}  // namespace

IdDigest digest_id(std::string_view id, std::int64_t row, std::int64_t line) {
  Sha256 sha;
  sha.add(id);
  const std::string hex = sha.hex();
  return {std::stoull(hex.substr(0, 16), nullptr, 16), std::stoull(hex.substr(16, 16), nullptr, 16),
          row, line};
}

std::vector<DoubleId> find_double_ids(const Readers& readers, const std::vector<IdDigest>& mine,
                                      std::int64_t rows) {
  std::vector<DoubleId> doubles;
  const auto passes = static_cast<std::uint64_t>(rows / kRowsPerPass + 1);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const IdDigest* first = nullptr;
    const std::vector<IdDigest> ids = gather_ids(readers, mine, pass, passes);
    for (const IdDigest& id : ids) {
      const bool is_new = first == nullptr || first->high != id.high || first->low != id.low;
      if (is_new) {
        first = &id;
      } else {
        doubles.push_back({id.row, id.line, first->line});
      }
    }
  }
  std::sort(doubles.begin(), doubles.end(),
            [](const DoubleId& a, const DoubleId& b) { return a.row < b.row; });
  return doubles;
}

}  // namespace mgpu::input
