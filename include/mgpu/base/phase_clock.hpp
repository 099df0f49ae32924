#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mgpu {

/// Measures where the wall time of this rank goes: at any instant exactly one phase is running.
///
/// Phases nest, and time in an inner Scope counts only for the inner phase. So the totals add up to
/// the wall time. The clock also publishes the current phase in the Activity of this process. Only
/// one thread may use a clock.
///
/// For the time line in report.html, the clock divides its time into at most kMaxSlices equal
/// slices. When all slices are used, each pair of neighboring slices is merged, so slices become
/// twice as long.
///
/// The clock allocates all memory of a phase when the phase is first entered. If it allocated small
/// blocks later, they would lie between tensors in the heap, and the heap could not shrink.
class PhaseClock {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxSlices = 1024;

  struct Total {
    std::string phase;
    double seconds = 0.0;
    std::int64_t calls = 0;
  };
  /// Keeps a phase running. The destructor returns to the phase that was running before.
  class Scope {
  public:
    explicit Scope(PhaseClock* clock) : clock_(clock) {}
    Scope(Scope&& other) noexcept : clock_(std::exchange(other.clock_, nullptr)) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Scope& operator=(Scope&&) = delete;
    ~Scope() {
      if (clock_ != nullptr) clock_->leave();
    }

  private:
    PhaseClock* clock_;
  };

  /// Starts the clock in `phase`, as if the phase had begun `elapsed_s` seconds ago.
  explicit PhaseClock(double elapsed_s = 0.0, std::string_view phase = "other");

  [[nodiscard]] Scope enter(std::string_view phase);

  /// Enters `phase` on `clock`; measures nothing if `clock` is nullptr.
  [[nodiscard]] static Scope enter(PhaseClock* clock, std::string_view phase) {
    return clock == nullptr ? Scope(nullptr) : clock->enter(phase);
  }

  /// Returns the seconds since construction, plus the constructor's `elapsed_s`.
  double elapsed_s() const;

  /// Returns the totals of all phases up to this instant, in order of first use. They sum to
  /// elapsed_s().
  std::vector<Total> totals() const;

  /// Returns the number of slices from the clock's start to the last change of phase, each
  /// slice_s() long.
  std::size_t num_slices() const { return num_slices_; }

  /// Returns how many seconds of each slice were spent in one phase. `phase` is an index into
  /// totals(). Elements after the last slice are 0.
  const std::vector<double>& slices(std::size_t phase) const { return slices_[phase]; }

  double slice_s() const { return slice_s_; }

private:
  void leave();
  void show_phase() const;
  void charge(double now_s);
  void add_to_slices(std::size_t phase, double begin_s, double end_s);
  void merge_slices();
  std::size_t index_of(std::string_view phase);

  Clock::time_point birth_;
  double last_s_;
  double slice_s_ = 1e-3;
  std::vector<std::size_t> stack_;
  std::vector<Total> totals_;
  std::size_t num_slices_ = 0;
  std::vector<std::vector<double>> slices_;  // one vector of kMaxSlices per phase
};

}  // namespace mgpu
