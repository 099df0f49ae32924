#include "culprit.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mgpu::watch {
namespace {

using Ranks = std::vector<std::size_t>;

const GroupState* in_group(const RankState& rank, std::uint64_t group) {
  const auto found = std::ranges::find(rank.groups, group, &GroupState::group);
  return found == rank.groups.end() ? nullptr : &*found;
}

/// Returns the ranks for which a rank in `call` waits. In a call between two ranks, the rank waits
/// for the peer. In a collective, the rank waits for all ranks of the group that have not entered
/// the collective.
Ranks awaited_in(const GroupState& call, std::span<const RankState> ranks) {
  Ranks awaited;
  if (call.peer >= 0) {
    if (std::cmp_less(call.peer, ranks.size()))
      awaited.push_back(static_cast<std::size_t>(call.peer));
    return awaited;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const GroupState* theirs = in_group(ranks[r], call.group);
    if (theirs != nullptr && theirs->number < call.number) awaited.push_back(r);
  }
  return awaited;
}

Ranks awaited_by(const RankState& rank, std::span<const RankState> ranks) {
  Ranks awaited;
  for (const GroupState& call : rank.groups) {
    if (!call.is_inside) continue;
    const Ranks more = awaited_in(call, ranks);
    awaited.insert(awaited.end(), more.begin(), more.end());
  }
  return awaited;
}

/// Returns whether a rank that does not hang is in the same collective as `rank`. If so, the
/// collective may still be transferring data.
bool has_moving_company(const RankState& rank, std::span<const RankState> ranks,
                        const std::vector<bool>& hangs) {
  for (const GroupState& call : rank.groups) {
    if (!call.is_inside || call.peer >= 0) continue;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const GroupState* theirs = in_group(ranks[r], call.group);
      const bool is_same = theirs != nullptr && theirs->is_inside && theirs->number == call.number;
      if (is_same && ranks[r].is_here && !hangs[r]) return true;
    }
  }
  return false;
}

/// Returns for each rank whether it hangs. Only a rank with `is_here` and `is_silent` can hang.
/// Such a rank always hangs if its process is stopped, or if the rank is in no communication call.
/// Otherwise the rank hangs, except in these cases:
/// - the rank waits for a rank with `is_here` that does not hang
/// - a rank with `is_here` that does not hang is in the same collective
std::vector<bool> hung(std::span<const RankState> ranks) {
  std::vector<bool> hangs(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r)
    hangs[r] = ranks[r].is_here && ranks[r].is_silent;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!hangs[r] || ranks[r].is_stopped || ranks[r].call() == nullptr) continue;
      const Ranks awaited = awaited_by(ranks[r], ranks);
      const bool is_excused = std::ranges::any_of(
          awaited, [&](std::size_t q) { return ranks[q].is_here && !hangs[q]; });
      if (!is_excused && !has_moving_company(ranks[r], ranks, hangs)) continue;
      hangs[r] = false;
      has_changed = true;
    }
  }
  return hangs;
}

/// Returns for each rank how many other ranks hang and wait for it.
std::vector<int> votes(std::span<const RankState> ranks, const std::vector<bool>& hangs) {
  std::vector<int> votes(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!hangs[r]) continue;
    for (const std::size_t q : awaited_by(ranks[r], ranks))
      votes[q] += q == r ? 0 : 1;
  }
  return votes;
}

std::string sentence(int rank, const cluster::CallFields& odd, const cluster::CallFields& usual) {
  return "rank " + std::to_string(rank) + " calls " + cluster::describe(odd) +
         ", the others call " + cluster::describe(usual);
}

/// The ranks that have entered one collective, each with the fields of its call.
using Calls = std::vector<std::pair<int, cluster::CallFields>>;

std::optional<Culprit> minority(const Calls& calls) {
  const auto count = [&](const cluster::CallFields& fields) {
    return std::ranges::count(calls, fields, &Calls::value_type::second);
  };
  const cluster::CallFields usual = std::ranges::max_element(calls, {}, [&](const auto& call) {
                                      return count(call.second);
                                    })->second;
  for (const auto& [rank, fields] : calls) {
    if (fields != usual) return Culprit{rank, Sign::mismatch, sentence(rank, fields, usual)};
  }
  return std::nullopt;
}

/// Returns a rank whose call differs from the most frequent call in the same collective. If several
/// calls are equally frequent, the call of the lowest rank counts as the most frequent call.
/// Returns nullopt if the calls agree in each collective.
std::optional<Culprit> find_mismatch(std::span<const RankState> ranks) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Calls> by_call;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const PastCall& call : ranks[r].past)
      by_call[{call.number, call.group}].emplace_back(static_cast<int>(r), call.fields);
  }
  for (const auto& [which, calls] : by_call) {
    if (auto culprit = minority(calls)) return culprit;
  }
  return std::nullopt;
}

}  // namespace

const GroupState* RankState::call() const {
  const auto found = std::ranges::find(groups, true, &GroupState::is_inside);
  return found == groups.end() ? nullptr : &*found;
}

std::optional<Culprit> find_culprit(std::span<const RankState> ranks) {
  const std::vector<bool> hangs = hung(ranks);
  if (std::ranges::find(hangs, true) == hangs.end()) return std::nullopt;
  const std::vector<int> waiting = votes(ranks, hangs);

  // Returns, of the ranks for which `fits` is true, the rank for which the most hung ranks wait. On
  // a tie, returns the rank that has been silent longest.
  const auto best = [&](auto fits) {
    std::optional<std::size_t> found;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!fits(r)) continue;
      const auto weight = [&](std::size_t q) { return std::pair(waiting[q], ranks[q].silent_s); };
      if (!found || weight(r) > weight(*found)) found = r;
    }
    return found;
  };
  const auto as = [](std::size_t rank, Sign sign) { return Culprit{static_cast<int>(rank), sign}; };

  if (const auto r = best([&](auto q) { return hangs[q] && ranks[q].is_stopped; })) {
    return as(*r, Sign::stopped);
  }
  if (const auto r = best([&](auto q) { return hangs[q] && ranks[q].call() == nullptr; })) {
    return as(*r, Sign::outside);
  }
  if (auto culprit = find_mismatch(ranks)) return culprit;
  if (const auto r = best([&](auto q) { return hangs[q] && waiting[q] > 0; })) {
    return as(*r, Sign::awaited);
  }
  if (const auto r = best([&](auto q) { return !ranks[q].is_here && waiting[q] > 0; })) {
    return as(*r, Sign::left);
  }
  return as(*best([&](auto q) { return hangs[q]; }), Sign::stuck);
}

}  // namespace mgpu::watch
