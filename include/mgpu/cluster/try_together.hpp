#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Runs `step` on every rank as run_together() does, but returns the failure instead of throwing
/// it; nullopt if no rank failed. So all ranks can close files collectively before they throw the
/// failure. A DivergedFailure is not returned, but thrown as by run_together().
/// Ranks:  collective over `group`.
std::optional<ErrorReport> try_together(const Group& group, const std::function<void()>& step);

/// Runs `step` on rank 0 only, and returns its result on every rank. If `step` throws, every rank
/// throws the same CollectiveFailure. The result must be a std::string, a trivially copyable value,
/// or void.
/// Ranks:  collective over `group`.
template <class Step>
std::invoke_result_t<const Step&> on_rank_0(const Group& group, const Step& step) {
  using Result = std::invoke_result_t<const Step&>;
  if constexpr (std::is_void_v<Result>) {
    run_together(group, [&] {
      if (group.rank() == 0) step();
    });
  } else {
    Result result{};
    run_together(group, [&] {
      if (group.rank() == 0) result = step();
    });
    if constexpr (std::is_same_v<Result, std::string>) {
      return group.broadcast(std::move(result), 0);
    } else {
      static_assert(std::is_trivially_copyable_v<Result>);
      group.broadcast(std::span(reinterpret_cast<std::uint8_t*>(&result), sizeof result), 0);
      return result;
    }
  }
}

/// Returns on every rank the records of all ranks, in the order of ranks. Each rank may pass any
/// number of records.
/// Ranks:  collective over `group`.
template <class T>
std::vector<T> all_gather_records(const Group& group, const std::vector<T>& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  const std::string_view bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T));
  for (const std::string& theirs : group.all_gather(bytes)) {
    const std::size_t before = all.size();
    all.resize(before + theirs.size() / sizeof(T));
    std::copy(theirs.begin(), theirs.end(), reinterpret_cast<char*>(all.data() + before));
  }
  return all;
}

}  // namespace mgpu::cluster
