#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/train/gradient_reducer.hpp>

namespace mgpu::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns for each parameter its position in the order of ParameterSpan::begin, from 0.
std::vector<std::uint32_t> positions(const std::vector<ParameterSpan>& parameters) {
  std::vector<std::uint32_t> by_begin(parameters.size());
  std::iota(by_begin.begin(), by_begin.end(), 0U);
  std::ranges::sort(by_begin, {}, [&](std::uint32_t p) { return parameters[p].begin; });
  std::vector<std::uint32_t> position(parameters.size());
  for (std::uint32_t i = 0; i < by_begin.size(); ++i)
    position[by_begin[i]] = i;
  return position;
}

std::size_t longest_run(const std::vector<ParameterSpan>& runs) {
  return runs.empty() ? 0 : std::ranges::max(runs, {}, &ParameterSpan::count).count;
}

}  // namespace

GradientReducer::GradientReducer(cluster::Communicator& communicator, GradientArena arena,
                                 ReducerOptions options)
    : communicator_(communicator),
      arena_(std::move(arena)),
      options_(std::move(options)),
      stream_(arena_.values.device),
      memory_(std::make_unique<Memory>()),
      arena_position_(positions(arena_.parameters)) {
  memory_->owner = arena_.owner;
  if (options_.lanes > 0) {
    check_lanes(options_.lanes, communicator.size());
    local_lanes_ = options_.lanes / communicator.size();
    tree_.emplace(arena_.values, local_lanes_, options_.add);
  }
  std::vector<std::uint32_t> backwards(arena_.parameters.size());
  std::iota(backwards.rbegin(), backwards.rend(), 0U);
  cut_buckets(backwards);
  thread_ = std::thread([this] { work(); });
}

GradientReducer::~GradientReducer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (is_reducing_) communicator_.cancel();
  }
  changed_.notify_all();
  thread_.join();
  if (failure_) static_cast<void>(memory_.release());
}

void GradientReducer::cut_buckets(const std::vector<std::uint32_t>& order) {
  buckets_.clear();
  bucket_of_.assign(order.size(), 0);
  std::vector<std::uint32_t> members;
  std::size_t bytes = 0;
  for (const std::uint32_t parameter : order) {
    bytes += arena_.parameters[parameter].count * size_of(arena_.values.dtype);
    members.push_back(parameter);
    if (bytes < options_.bucket_bytes && parameter != order.back()) continue;
    add_bucket(std::exchange(members, {}));
    bytes = 0;
  }
  if (!tree_) return;
  std::size_t longest = 0;
  for (const Bucket& bucket : buckets_)
    longest = std::max(longest, longest_run(bucket.runs));
  memory_->scratch.emplace(arena_.values.device, longest * size_of(arena_.values.dtype));
}

// Parameters that are adjacent in the arena become one range, including the gap between them.
void GradientReducer::add_bucket(std::vector<std::uint32_t> parameters) {
  const auto position_of = [this](std::uint32_t p) { return arena_position_[p]; };
  std::ranges::sort(parameters, {}, position_of);
  Bucket bucket{{}, parameters.size(), 0, cluster::Event(arena_.values.device)};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSpan& span = arena_.parameters[parameters[i]];
    bucket_of_[parameters[i]] = buckets_.size();
    const bool is_neighbor =
        i > 0 && position_of(parameters[i]) == position_of(parameters[i - 1]) + 1;
    if (is_neighbor) {
      ParameterSpan& run = bucket.runs.back();
      run.count = span.begin + span.count - run.begin;
    } else {
      bucket.runs.push_back(span);
    }
  }
  buckets_.push_back(std::move(bucket));
}

void GradientReducer::throw_if_failed() const {
  if (failure_) std::rethrow_exception(failure_);
}

void GradientReducer::begin_pass(bool is_last, CUstream_st* producer) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (is_last_pass_) throw Error("begin_pass before finish() of the last pass");
  if (is_last && tree_) tree_->require_last_lane();
  producer_ = producer;
  is_last_pass_ = is_last;
  order_.clear();
  is_ready_.assign(arena_.parameters.size(), 0);
  for (Bucket& bucket : buckets_)
    bucket.num_missing = bucket.num_parameters;
  reduced_ = 0;
}

void GradientReducer::mark_ready(std::size_t parameter) {
  mark_progress();
  const std::lock_guard lock(mutex_);
  if (is_ready_.at(parameter) != 0) {
    throw Error("parameter " + std::to_string(parameter) + " is marked ready twice in a pass");
  }
  mark_locked(parameter);
}

void GradientReducer::mark_locked(std::size_t parameter) {
  is_ready_[parameter] = 1;
  order_.push_back(static_cast<std::uint32_t>(parameter));
  Bucket& bucket = buckets_[bucket_of_[parameter]];
  if (--bucket.num_missing > 0 || !is_last_pass_) return;
  bucket.produced.record(producer_);
  changed_.notify_all();
}

void GradientReducer::end_lane() {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (!tree_ || is_last_pass_) throw Error("end_lane: there is no lane to put away");
  tree_->add_lane(producer_);
}

double GradientReducer::finish() {
  std::unique_lock lock(mutex_);
  throw_if_failed();
  if (!is_last_pass_) throw Error("finish without begin_pass(true)");
  for (std::size_t p = arena_.parameters.size(); p-- > 0;) {
    if (is_ready_[p] == 0) mark_locked(p);
  }
  const Clock::time_point begun = Clock::now();
  changed_.wait(lock, [this] { return failure_ || reduced_ == buckets_.size(); });
  const std::chrono::duration<double> waited = Clock::now() - begun;
  is_last_pass_ = false;
  throw_if_failed();
  if (tree_) tree_->restart();
  if (!std::exchange(has_seen_order_, true)) cut_buckets(agree_on_order());
  return waited.count();
}

std::vector<std::uint32_t> GradientReducer::agree_on_order() {
  std::vector<std::uint32_t> order = order_;
  const BufferView host{order.data(), order.size(), DType::u32, {}};
  const cluster::Buffer buffer(arena_.values.device, host.bytes());
  const BufferView device = buffer.view(order.size(), DType::u32);
  const cluster::Event copied(arena_.values.device);
  cluster::copy(device, host, stream_.get());
  copied.record(stream_.get());
  communicator_.wait_for(copied.get());
  communicator_.broadcast(device, 0);
  cluster::copy(host, device, stream_.get());
  copied.record(stream_.get());
  copied.wait();
  return order;
}

bool GradientReducer::drain() noexcept {
  try {
    if (tree_) tree_->skip_to_last_lane();
    if (!is_last_pass_) begin_pass(true);
    finish();
    return true;
  } catch (...) {
    return false;  // the caller reports the failure that made it call drain()
  }
}

void GradientReducer::work() {
  std::unique_lock lock(mutex_);
  const auto has_bucket = [this] {
    return is_last_pass_ && reduced_ < buckets_.size() && buckets_[reduced_].num_missing == 0;
  };
  for (;;) {
    changed_.wait(lock, [&] { return is_stopping_ || has_bucket(); });
    if (is_stopping_) return;
    is_reducing_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      reduce(buckets_[reduced_]);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    is_reducing_ = false;
    failure_ = failure;
    if (!failure) ++reduced_;
    changed_.notify_all();
    if (failure) return;
  }
}

void GradientReducer::reduce(const Bucket& bucket) {
  cluster::use_device(arena_.values.device);
  stream_.wait_for(bucket.produced.get());
  communicator_.wait_for(bucket.produced.get());
  for (const ParameterSpan& run : bucket.runs) {
    const BufferView values = cluster::slice(arena_.values, run.begin, run.count);
    if (!tree_) {
      communicator_.all_reduce(values, cluster::ReduceOp::sum);
      continue;
    }
    tree_->add_to_last(run.begin, run.count, stream_.get());
    add_across_ranks(communicator_, values, memory_->scratch->view(run.count, values.dtype),
                     options_.add, stream_);
  }
}

}  // namespace mgpu::train
