// Describes consecutive queries of a sequence, and where the keys to which they attend are in the
// sequence's cache pages. This file is compiled once per instruction set; see foreach_target.h of
// Highway.
#if defined(MGPU_KERNELS_QUERY_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_QUERY_TILE_INL
#undef MGPU_KERNELS_QUERY_TILE_INL
#else
#define MGPU_KERNELS_QUERY_TILE_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include <mgpu/kernels/paged_attention.hpp>

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
constexpr std::size_t kTileQueries = 8;
constexpr std::size_t kTogether = 2;  // queries or query heads for which a key or value is read
                                      // once

/// The keys with positions key .. key + count - 1 of a sequence, which lie in consecutive slots.
struct KeyRun {
  std::size_t key;
  std::size_t slot;  // slot of the first key
  std::size_t count;
};

/// A tile of queries, first .. first + count - 1, which have consecutive positions in one sequence,
/// and the keys that they attend to.
class QueryTile {
public:
  QueryTile(const PagedAttentionArgs& args, std::size_t first_query)
      : first(first_query),
        args_(args),
        pages_(args.page_slots +
               static_cast<std::size_t>(args.sequences[first]) * args.page_pitch) {
    const auto follows = [&](std::size_t n) {
      return n < args.num_queries && args.sequences[n] == args.sequences[first] &&
             args.positions[n] == args.positions[n - 1] + 1;
    };
    while (count < kTileQueries && follows(first + count))
      ++count;
  }

  /// Returns one past the position of the last key that query first + q attends to. begin(q)
  /// returns the position of the first key.
  std::size_t end(std::size_t q) const {
    return static_cast<std::size_t>(args_.positions[first + q]) + 1;
  }
  std::size_t begin(std::size_t q) const {
    const auto window = static_cast<std::size_t>(args_.window);
    return window == 0 || end(q) <= window ? 0 : end(q) - window;
  }

  /// Divides all keys that the tile's queries attend to into runs of at most `most` keys. Calls
  /// visit(run) for each run, in order.
  template <class Visit>
  void for_each_run(std::size_t most, Visit visit) const {
    const std::size_t last = end(count - 1);
    for (std::size_t t = begin(0); t < last;) {
      const std::size_t inside = t % args_.page_tokens;
      const std::size_t keys = std::min({last - t, args_.page_tokens - inside, most});
      visit(KeyRun{t, slot(t), keys});
      t += keys;
    }
  }

  /// Returns the slot of the key at position `key`. At least one of the tile's queries must attend
  /// to this key.
  std::size_t slot(std::size_t key) const {
    return static_cast<std::size_t>(pages_[key / args_.page_tokens]) + key % args_.page_tokens;
  }

  /// Calls visit(q, n, from, to) for the queries that attend to keys of the run. The queries of a
  /// call are q and q + 1 if n = 2, or only q if n = 1, and they attend to the positions from .. to
  /// - 1. Each query gets its keys in order.
  template <class Visit>
  void for_each_query(const KeyRun& run, Visit visit) const {
    for (std::size_t q = 0; q < count; q += kTogether) {
      const Seen one = seen_by(q, run);
      const Seen two = q + 1 < count ? seen_by(q + 1, run) : Seen{run.key, run.key};
      const Seen both{std::max(one.from, two.from), std::min(one.to, two.to)};
      const auto visit_alone = [&](std::size_t query, std::size_t from, std::size_t to) {
        if (from < to) visit(query, std::size_t{1}, from, to);
      };
      if (both.from >= both.to) {
        visit_alone(q, one.from, one.to);
        visit_alone(q + 1, two.from, two.to);
        continue;
      }
      visit_alone(q, one.from, both.from);
      visit_alone(q + 1, two.from, both.from);
      visit(q, kTogether, both.from, both.to);
      visit_alone(q, both.to, one.to);
      visit_alone(q + 1, both.to, two.to);
    }
  }

  std::size_t first;
  std::size_t count = 1;

private:
  struct Seen {
    std::size_t from;
    std::size_t to;
  };

  Seen seen_by(std::size_t q, const KeyRun& run) const {
    return {std::max(run.key, begin(q)), std::min(run.key + run.count, end(q))};
  }

  const PagedAttentionArgs& args_;
  const std::int64_t* pages_;
};

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
