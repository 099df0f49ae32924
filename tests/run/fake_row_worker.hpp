#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/run/row_phase.hpp>

namespace mgpu::run::test {

/// The text of a row, or "left" for a row that the model never sees.
struct FakeSample {
  std::string text;
};

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// A worker whose result of row r is the number 10 * r as text. The journal stores a chunk as
/// "FIRST:0,10,20,".
class FakeWorker final : public RowWorker<FakeSample, std::string> {
public:
  explicit FakeWorker(RowPhase& phase) : group_(phase.group()) {}

  std::vector<FakeSample> encode(std::int64_t first, std::int64_t count) override {
    encoded.emplace_back(first, count);
    std::vector<FakeSample> samples;
    for (std::int64_t row = first; row < first + count; ++row)
      samples.push_back({std::to_string(10 * row)});
    return samples;
  }

  std::vector<std::string> work(std::span<const FakeSample> samples, std::int64_t first) override {
    ++calls;
    if (before_work) before_work(first);
    if (batch_size_ > room) throw std::bad_alloc();
    std::vector<std::string> results;
    for (const FakeSample& sample : samples)
      results.push_back(sample.text);
    return results;
  }

  std::pair<FakeSample, std::string> left_out(const std::string& reason) override {
    reasons.push_back(reason);
    return {{"left"}, "left"};
  }

  RowTokens tokens(const FakeSample& sample, const std::string& result) const override {
    return {.input = 2, .output = sample.text == result && result != "left" ? 3 : 0};
  }

  bool records() const override { return group_.is_leader(); }

  std::vector<std::byte> pack(std::int64_t first, std::span<const FakeSample> samples,
                              std::span<const std::string> results) override {
    EXPECT_EQ(samples.size(), results.size());
    std::string text = std::to_string(first) + ":";
    for (const std::string& result : results)
      text += result + ",";
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  std::int64_t batch_size() const override { return batch_size_; }
  void set_batch_size(std::int64_t batch_size) override { batch_size_ = batch_size; }
  void finished(const Chunk& chunk, double seconds) override {
    EXPECT_GE(seconds, 0.0);
    chunks.push_back(chunk.index);
  }
  void set_progress(const std::function<void(std::int64_t)>& see) override { progress = see; }
  void write_scalars(const GroupWork& work) override { shown.push_back(work.rows); }

  std::function<void(std::int64_t)> before_work;  // gets the first row
  std::function<void(std::int64_t)> progress;     // set by RowPhase
  std::int64_t room = 64;                         // largest batch that does not fail
  int calls = 0;
  Spans encoded;
  std::vector<std::string> reasons;
  std::vector<std::uint64_t> chunks;
  std::vector<std::int64_t> shown;

private:
  lm::ModelGroup& group_;
  std::int64_t batch_size_ = 8;
};

}  // namespace mgpu::run::test
