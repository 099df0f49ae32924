// Tests that the advice of each note about a training helps, by following the advice.
#include <cstdlib>
#include <numeric>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/recipes/recipe.hpp>
#include <mgpu/recipes/training_notes.hpp>
#include <mgpu/train/batch_plan.hpp>

#include "support/made_config.hpp"

namespace mgpu::recipes {
namespace {

using report::Note;
using report::NoteFacts;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::config_of;
using testing_support::Keys;

Config train(const Keys& more) {
  Keys keys = {{"job", "train"}};
  keys.insert(more.begin(), more.end());
  return config_of(keys);
}

/// Returns the notes of a training with these keys and measured facts.
std::vector<Note> notes_for(const Keys& keys, const NoteFacts& facts, int ranks = 2,
                            DeviceKind device = DeviceKind::cpu) {
  const Config config = train(keys);
  const auto recipe = recipe_of(config).read(config);
  return training_notes(facts, {.loop = recipe->loop(),
                                .ranks = ranks,
                                .device = device,
                                .makes_histories = recipe->makes_histories(),
                                .cheaper_evaluation = recipe->cheaper_evaluation()});
}

/// Returns the keys with the KEY=VALUE that the note suggests.
Keys followed(Keys keys, const Note& note) {
  const std::size_t at = note.effect.find(note.key + "=");
  EXPECT_NE(at, std::string::npos) << note.effect;
  const std::size_t begin = at + note.key.size() + 1;
  keys[note.key] = note.effect.substr(begin, note.effect.find(' ', begin) - begin);
  return keys;
}

LoopSettings loop_of(const Keys& keys) {
  const Config config = train(keys);
  return recipe_of(config).read(config)->loop();
}

const NoteFacts kEvaluates = {{"share/evaluation", 0.4}};
const NoteFacts kSaves = {{"share/checkpoints", 0.2}};

TEST(TrainingNotesTest, AdviceOnEvaluationsSavesSome) {
  for (const auto& [steps, every] :
       {std::pair{"120", "60"}, {"700", "100"}, {"40", "10"}, {"90", "60"}}) {
    const Keys keys = {{"train.max_steps", steps}, {"train.eval_every", every}};
    const std::vector<Note> notes = notes_for(keys, kEvaluates);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].key, "train.eval_every") << steps;
    EXPECT_LT(loop_of(followed(keys, notes[0])).planned_evaluations(),
              loop_of(keys).planned_evaluations());
  }
}

TEST(TrainingNotesTest, WhereNoEvaluationCanBeSavedTheyAreMadeCheaper) {
  // The evaluation after the training remains, whatever train.eval_every is.
  Keys keys = {{"train.max_steps", "120"}, {"train.eval_every", "700"}, {"evaluate.runs", "32"}};
  std::vector<Note> notes = notes_for(keys, kEvaluates);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].key, "evaluate.runs");
  EXPECT_EQ(followed(keys, notes[0]).at("evaluate.runs"), "16");

  keys["evaluate.runs"] = "1";
  notes = notes_for(keys, kEvaluates);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].key, "evaluate.controls");
  EXPECT_THAT(notes_for(followed(keys, notes[0]), kEvaluates), IsEmpty());

  const Keys lm = {{"model.init", "m"},
                   {"data.path", "d"},
                   {"data.eval_path", "e"},
                   {"train.max_steps", "50"},
                   {"train.eval_every", "100"}};
  notes = notes_for(lm, kEvaluates);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].key, "data.eval_path");
  EXPECT_EQ(notes[0].effect, "Fewer held-out rows take less time");

  Keys without_rows = lm;
  without_rows.erase("data.path");
  without_rows.erase("data.eval_path");
  without_rows["data.synthetic_texts"] = "100";  // a data set without a validation split
  EXPECT_THAT(notes_for(without_rows, kEvaluates), IsEmpty());
}

TEST(TrainingNotesTest, AdviceOnCheckpointsSavesSome) {
  const Keys keys = {{"train.max_steps", "300"}, {"checkpoint.every", "100"}};
  const std::vector<Note> notes = notes_for(keys, kSaves);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(planned_checkpoints(loop_of(keys)), 3);
  EXPECT_EQ(planned_checkpoints(loop_of(followed(keys, notes[0]))), 2);
  // The checkpoint at the end remains.
  EXPECT_THAT(notes_for({{"train.max_steps", "300"}, {"checkpoint.every", "300"}}, kSaves),
              IsEmpty());
  EXPECT_THAT(notes_for({{"train.max_steps", "300"}, {"checkpoint.every", "0"}}, kSaves),
              IsEmpty());
}

/// Returns how often a rank sums gradients for `samples` samples: once in a step, after its last
/// pass.
std::int64_t sums_for(std::int64_t samples, const Keys& keys) {
  return samples / loop_of(keys).train.batch.global_batch;
}

TEST(TrainingNotesTest, AdviceOnAllreduceHalvesTheSumsForTheSameSamples) {
  const Keys keys = {{"train.global_batch_size", "32"}};
  const NoteFacts facts = {{"share/allreduce, exposed", 0.2}};
  const std::vector<Note> notes = notes_for(keys, facts);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(sums_for(6400, followed(keys, notes[0])), sums_for(6400, keys) / 2);
  EXPECT_THAT(notes_for(keys, facts, 1), IsEmpty());  // a single rank does not wait for others
}

TEST(TrainingNotesTest, AdviceOnHistoriesMakesNone) {
  const NoteFacts facts = {{"share/histories", 0.5}};
  const std::vector<Note> notes = notes_for({}, facts);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].key, "data.path");
  const Config follows = train({{"data.path", "histories.h5"}});
  EXPECT_FALSE(recipe_of(follows).read(follows)->makes_histories());
  EXPECT_THAT(notes_for({{"data.path", "histories.h5"}}, facts), IsEmpty());
}

TEST(TrainingNotesTest, ASlowGpuIsLeftOutOnlyIfTheOthersAreFaster) {
  const Keys keys = {{"train.global_batch_size", "24"}, {"train.lanes", "1"}};
  for (const int ranks : {2, 3, 4, 8}) {
    for (const double spread : {0.05, 0.2, 0.4, 0.6}) {
      const double slowest = 1.0 + spread;
      const double others = (ranks - slowest) / (ranks - 1);
      const double without = others * ranks / (ranks - 1);  // the same work on one rank less
      const NoteFacts facts = {{"spread/forward", spread}, {"rank/forward", 1}};
      EXPECT_EQ(notes_for(keys, facts, ranks, DeviceKind::cuda).size(), without < slowest ? 1U : 0U)
          << ranks << " " << spread;
      EXPECT_THAT(notes_for(keys, facts, ranks), IsEmpty());  // on a CPU, no key leaves out a rank
    }
  }
}

TEST(TrainingNotesTest, SmallSharesAreNotNoted) {
  EXPECT_THAT(notes_for({}, {{"share/evaluation", 0.1},
                             {"share/checkpoints", 0.05},
                             {"share/histories", 0.3},
                             {"share/allreduce, exposed", 0.05}}),
              IsEmpty());
}

TEST(TrainingNotesTest, APassThatIsClippedIsNoted) {
  const LoopSettings loop =
      loop_of({{"train.global_batch_size", "32"}, {"train.micro_batch_size", "16"}});
  const auto passes = train::plan_micro_batches(loop.train.batch, 0, 2, DeviceKind::cpu);
  EXPECT_EQ(passes.front().count, 2);  // 32 items in 16 lanes: each lane has 2
  EXPECT_THAT(clipped_pass_note(loop, passes.front().count),
              HasSubstr("train.micro_batch_size (16) is more than a rank has of a lane"));
  EXPECT_EQ(clipped_pass_note(loop, 16), "");
}

}  // namespace
}  // namespace mgpu::recipes
