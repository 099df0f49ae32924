// Describes queries that are processed together, and locates their keys. A query attends to
// keys in the cache pages of its sequence. This file is compiled once per instruction set; see
// foreach_target.h of Highway.
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
constexpr std::size_t kTogether = 2;  // number of queries, or query heads, that share one read
                                      // of a key or value
constexpr std::size_t kRunKeys = 16;  // largest number of keys in a run

/// A run of keys in consecutive cache slots. The keys have positions key .. key + count - 1 in a
/// sequence. The queries `query` .. query + queries - 1 of the tile read these keys.
struct KeyRun {
  std::size_t key;
  std::size_t slot;  // slot of the first key
  std::size_t count;
  std::size_t query;
  std::size_t queries;
};

/// The queries first .. first + count - 1, and the keys that they attend to. There are two kinds of
/// tiles:
/// - The queries have consecutive positions in one sequence.
/// - Each query is the only one of its sequence. These sequences share their first pages, because
///   they have the same prompt. A key in a shared page is read once for all queries.
class QueryTile {
public:
  QueryTile(const PagedAttentionArgs& args, std::size_t first_query)
      : first(first_query), args_(args) {
    while (count < kTileQueries && continues(first + count))
      ++count;
    if (count == 1) add_queries_with_same_prompt();
  }

  /// Query first + q attends to the keys at positions begin(q) .. end(q) - 1.
  std::size_t end(std::size_t q) const {
    return static_cast<std::size_t>(args_.positions[first + q]) + 1;
  }
  std::size_t begin(std::size_t q) const {
    const auto window = static_cast<std::size_t>(args_.window);
    return window == 0 || end(q) <= window ? 0 : end(q) - window;
  }

  /// Divides the keys that the tile's queries attend to into runs. Calls visit(run, ahead) for each
  /// run. `ahead` is the run to prefetch: for a run of a single query, the run after the next one,
  /// otherwise the next run. If that run does not exist, `ahead` has no keys. For each query, the
  /// runs are in the order of its keys.
  template <class Visit>
  void for_each_run(Visit visit) const {
    KeyRun run = first_run();
    KeyRun next = run_after(run);
    while (run.count > 0) {
      const KeyRun later = next.count > 0 ? run_after(next) : next;
      visit(run, run.queries == 1 ? later : next);
      run = next;
      next = later;
    }
  }

  KeyRun first_run() const {
    return is_shared() ? run_from(0, 0, count, shared_) : run_from(begin(0), 0, count, last_end());
  }

  /// Calls visit(q, n, from, to) for the queries of the run. A call with n = 1 is for query q, and
  /// a call with n = 2 is for queries q and q + 1. The queries of a call attend to the positions
  /// from .. to - 1. Each query gets its keys in order.
  template <class Visit>
  void for_each_query(const KeyRun& run, Visit visit) const {
    const std::size_t last = run.query + run.queries;
    for (std::size_t q = run.query; q < last; q += kTogether) {
      const Seen one = seen_by(q, run);
      const Seen two = q + 1 < last ? seen_by(q + 1, run) : Seen{run.key, run.key};
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

  /// Returns the largest number of keys in a run of a single query. A single query mostly waits for
  /// memory. On a Zen 4, short runs that are prefetched two runs ahead take 0.85 to 0.97 times as
  /// long as with a prefetch of one run ahead. Runs that are longer than the result take more time.
  std::size_t run_keys_of_one() const { return args_.half_keys != nullptr ? 8 : 4; }

  bool is_shared() const { return shared_ > 0; }

  /// Returns whether query n has the next position in the same sequence as query n - 1.
  bool continues(std::size_t n) const {
    return n < args_.num_queries && args_.sequences[n] == args_.sequences[n - 1] &&
           args_.positions[n] == args_.positions[n - 1] + 1;
  }

  /// Adds the queries after the tile's first query. Stops at a query that is not the only one of
  /// its sequence. Also stops at a query that shares no pages with the first query, or fewer pages
  /// than the second query shares. Adds no queries if queries attend to a limited window of keys.
  void add_queries_with_same_prompt() {
    if (args_.window > 0) return;
    while (count < kTileQueries && first + count < args_.num_queries &&
           !continues(first + count + 1)) {
      const std::size_t same = same_keys(first + count);
      if (same == 0 || same < shared_) return;
      if (count == 1) shared_ = same;
      ++count;
    }
  }

  /// Compares query n with the tile's first query. Returns how many keys at the start of both
  /// sequences are in the same pages.
  std::size_t same_keys(std::size_t n) const {
    const auto keys =
        static_cast<std::size_t>(std::min(args_.positions[first], args_.positions[n]) + 1);
    const std::size_t whole = keys / args_.page_tokens;
    const std::int64_t* mine = pages(first);
    return static_cast<std::size_t>(std::mismatch(mine, mine + whole, pages(n)).first - mine) *
           args_.page_tokens;
  }

  const std::int64_t* pages(std::size_t n) const {
    return args_.page_slots + static_cast<std::size_t>(args_.sequences[n]) * args_.page_pitch;
  }

  std::size_t last_end() const { return end(count - 1); }

  /// Returns the run that begins at key `key` and is read by `queries` queries, from query `query`
  /// on. All keys of the run are before key `end`. If `key` is not before `end`, the run has no
  /// keys.
  KeyRun run_from(std::size_t key, std::size_t query, std::size_t queries, std::size_t end) const {
    if (key >= end) return {key, 0, 0, query, queries};
    const std::size_t inside = key % args_.page_tokens;
    const std::size_t most = queries == 1 ? run_keys_of_one() : kRunKeys;
    const auto page = static_cast<std::size_t>(pages(first + query)[key / args_.page_tokens]);
    return {key, page + inside, std::min({end - key, args_.page_tokens - inside, most}), query,
            queries};
  }

  KeyRun run_after(const KeyRun& run) const {
    const std::size_t key = run.key + run.count;
    if (!is_shared()) return run_from(key, 0, count, last_end());
    if (run.queries > 1 && key < shared_) return run_from(key, 0, count, shared_);
    if (run.queries > 1) return own_run(shared_, 0);
    return own_run(key, run.query);
  }

  /// Returns the run that begins at key `key` and is read by query q alone. If `key` is after the
  /// last key of query q, the result is the first run of a later query, which begins after the
  /// shared keys.
  KeyRun own_run(std::size_t key, std::size_t q) const {
    for (; q + 1 < count && key >= end(q); ++q)
      key = shared_;
    return run_from(key, q, 1, end(q));
  }

  Seen seen_by(std::size_t q, const KeyRun& run) const {
    return {std::max(run.key, begin(q)), std::min(run.key + run.count, end(q))};
  }

  const PagedAttentionArgs& args_;
  std::size_t shared_ = 0;  // number of leading keys that the sequences share; 0: one sequence
};

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
