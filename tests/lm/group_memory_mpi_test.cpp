// Tests that all ranks of a model report a failure, and can go on, if one rank runs out of memory.
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "made_folder.hpp"
#include "toy_guide.hpp"

namespace mgpu::lm {
namespace {

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

/// An allocator of CPU tensors that lets one allocation fail.
class ScarceMemory final : public c10::Allocator {
public:
  ScarceMemory() : plenty_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;
  ~ScarceMemory() override { c10::SetCPUAllocator(plenty_, kPriority); }

  /// Resets the count. The allocation with number `last` (from 1) fails; with 0, all succeed.
  void begin(std::int64_t last) {
    count_ = 0;
    last_ = last;
  }
  std::int64_t count() const { return count_; }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (++count_ == last_) throw std::bad_alloc();
    return plenty_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return plenty_->raw_deleter(); }
  void copy_data(void* into, const void* from, std::size_t bytes) const override {
    default_copy_data(into, from, bytes);
  }

private:
  static constexpr std::uint8_t kPriority = 1;

  c10::Allocator* plenty_;
  std::int64_t count_ = 0;
  std::int64_t last_ = 0;
};

GenerationConfig greedy() {
  GenerationConfig config;
  config.max_new_tokens = 4;
  config.batch_size = 4;
  config.prefill_tokens = 6;
  config.page_tokens = 4;
  config.scores_prompts = true;
  return config;
}

/// Returns a config whose draws call the head up to three times, finally for all tokens.
GenerationConfig penalized() {
  GenerationConfig config = greedy();
  config.sampling.is_greedy = false;
  config.sampling.temperature = 2.0;
  config.sampling.top_p = 0.9999;
  config.sampling.repetition_penalty = 1.1;
  return config;
}

/// Returns a config that needs only the state of each prompt's last token, so the last layer's
/// all-reduces have fewer rows or are omitted.
GenerationConfig uncut() {
  GenerationConfig config = greedy();
  config.sampling.is_greedy = false;
  config.scores_prompts = false;
  return config;
}

std::vector<PromptResult> run(Generator& generator) {
  static const std::vector<std::vector<std::int64_t>> ids = {{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10}};
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], static_cast<std::int64_t>(p % 2 + 1)});
  return generator.run(prompts);
}

/// Returns how a run ended on this rank.
ExitCode end_of(Generator& generator) {
  try {
    run(generator);
  } catch (const std::exception& error) {
    return report_of(error).exit;
  }
  return ExitCode::done;
}

void expect_equal(const std::vector<PromptResult>& ours, const std::vector<PromptResult>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t p = 0; p < ours.size(); ++p) {
    EXPECT_EQ(ours[p].prompt_log_probs, theirs[p].prompt_log_probs) << p;
    for (std::size_t c = 0; c < ours[p].completions.size(); ++c) {
      EXPECT_EQ(ours[p].completions[c].ids, theirs[p].completions[c].ids) << p << " " << c;
      EXPECT_EQ(ours[p].completions[c].log_probs, theirs[p].completions[c].log_probs) << p;
    }
  }
}

/// Lets each `stride`-th allocation of a run fail once on the first rank, and once on the last.
/// Expects that all ranks report it, and that a later run gives the results of an undisturbed run.
void check_every_allocation(const GenerationConfig& config, std::int64_t stride) {
  const MadeFolder folder(world(), {.layers = 2, .kv_heads = 6, .vocab = 5000});
  const cluster::Topology topology(world(), world().size());
  ModelGroup::Options options;
  options.plan.split = Split::tensor;
  options.communicator.timeout_s = 30.0;
  const ModelGroup group = ModelGroup::open(folder.path(), topology, options);
  Generator generator(group.model(), config);
  ScarceMemory memory;
  const std::vector<PromptResult> whole = run(generator);

  for (const int rank : {0, world().size() - 1}) {
    generator.set_batch_size(config.batch_size);
    memory.begin(0);
    run(generator);
    const std::int64_t count = world().all_gather(memory.count())[static_cast<std::size_t>(rank)];
    ASSERT_GT(count, 100);
    for (std::int64_t n = 1; n <= count; n += stride) {
      generator.set_batch_size(config.batch_size);
      memory.begin(world().rank() == rank ? n : 0);
      ASSERT_EQ(end_of(generator), ExitCode::out_of_memory) << "rank " << rank << ": " << n;
    }
    memory.begin(0);
    generator.set_batch_size(config.batch_size / 2);
    expect_equal(run(generator), whole);
  }
}

TEST(GroupMemoryTest, WhereverARankFailsAllRanksKnowAndTheGroupGoesOn) {
  check_every_allocation(greedy(), 5);
}

TEST(GroupMemoryTest, SoItIsWhereverDrawsOverAllTokensFail) {
  check_every_allocation(uncut(), 11);
}

TEST(GroupMemoryTest, SoItIsWhereverASecondModelFails) {
  const MadeFolder folder(world(), {.layers = 1, .width = 24, .inner = 40, .vocab = 5000});
  const LanguageModel second = LanguageModel::open(folder.path());
  ToyGuide guide(second, {256, 4}, 5, 0.8);
  GenerationConfig config = penalized();
  config.sampling.top_p = 0.9;
  config.processors.candidate = &guide;

  check_every_allocation(config, 131);

  EXPECT_GT(guide.calls, 0);
}

/// Runs a prefill, reads its state, and runs two steps of two forks. Returns how they ended on this
/// rank. The pool's allocation is not counted, because the caller of a session handles its failure.
ExitCode end_of_session(const LanguageModel& model, ScarceMemory& memory, std::int64_t last) {
  static const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  DecodePool pool(model, {16, 4});
  memory.begin(last);
  try {
    DecodeSession session(model, pool, {.prefill_tokens = 5});
    std::vector<std::int64_t> sequences{session.add()};
    session.prefill(sequences[0], ids);
    while (session.has_input())
      session.pass();
    const at::Tensor states = session.hidden(sequences);
    sequences.push_back(session.fork(sequences[0], 1));
    session.prefill(sequences[1], states);
    session.pass();
    session.hidden(sequences);
    session.step(sequences);
    session.step(sequences);
  } catch (const std::exception& error) {
    return report_of(error).exit;
  }
  return ExitCode::done;
}

TEST(GroupMemoryTest, SessionsEndAlikeOnAllRanksWhereverOneFails) {
  const MadeFolder folder(world(), {.layers = 3, .kv_heads = 6, .vocab = 5000});
  const cluster::Topology topology(world(), world().size());
  for (const Split split : {Split::pipeline, Split::tensor}) {
    ModelGroup::Options options;
    options.plan.split = split;
    options.communicator.timeout_s = 30.0;
    const ModelGroup group = ModelGroup::open(folder.path(), topology, options);
    ScarceMemory memory;
    for (const int rank : {0, world().size() - 1}) {
      ASSERT_EQ(end_of_session(group.model(), memory, 0), ExitCode::done);
      const std::int64_t count = world().all_gather(memory.count())[static_cast<std::size_t>(rank)];
      ASSERT_GT(count, 50);
      for (std::int64_t n = 1; n <= count; n += 13) {
        const std::int64_t last = world().rank() == rank ? n : 0;
        EXPECT_NE(end_of_session(group.model(), memory, last), ExitCode::done)
            << "rank " << rank << ": " << n;
      }
    }
    EXPECT_EQ(end_of_session(group.model(), memory, 0), ExitCode::done);
  }
}

TEST(GroupMemoryTest, SoItIsWhereverDrawsFromCutDistributionsFail) {
  check_every_allocation(penalized(), 41);
}

}  // namespace
}  // namespace mgpu::lm
