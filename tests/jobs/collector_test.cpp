// Compares paths and rollouts of job collect with single draws, each by a separate generator.
#include "jobs/collect/collector.hpp"

#include <set>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/datasets/answers.hpp>

#include "jobs/collect/table.hpp"
#include "made_inputs.hpp"
#include "store/chunk_values.hpp"

namespace mgpu::jobs {
namespace {

using test::Keys;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kQuestions =
    "{\"prompt\": \"ab\", \"answer\": \"1\"}\n{\"prompt\": \"c\", \"answer\": \"2\"}\n"
    "{\"prompt\": \"de 3\", \"answer\": \"0\"}\n";

class CollectorTest : public testing::Test {
protected:
  CollectInputs inputs(Keys keys = {}) {
    keys.insert({{"collect.num_paths", "3"},
                 {"collect.rollouts", "5"},
                 {"collect.split", "tokens"},
                 {"collect.step_tokens", "4"},
                 {"collect.max_new_tokens", "14"},
                 {"collect.batch_size", "7"},
                 {"collect.label", "math_shepherd_soft"}});
    const Config config = made_.config("collect", keys);
    return read_collect_inputs(config, read_collect_keys(config));
  }

  static std::vector<Question> questions_of(const CollectInputs& inputs) {
    QuestionEncoder encoder = inputs.encoder();
    formats::LineProblems problems(inputs.rows.path());
    return inputs.encode(0, inputs.questions(), encoder, problems);
  }

  std::vector<CollectedQuestion> collect(const CollectInputs& inputs) {
    const QuestionEncoder encoder = inputs.encoder();
    return Collector(model_, encoder, inputs).run(questions_of(inputs), 0);
  }

  const test::MadeInputs made_{kQuestions};
  const lm::LanguageModel model_ = lm::LanguageModel::open(made_.model());
};

/// Returns how many rollouts after a step of a path are right, or -1 if the tree lacks the step.
/// `step` counts from 0.
std::int32_t right_of(const CollectedQuestion& question, std::size_t path, std::size_t step) {
  for (const StepNode& node : question.tree.nodes)
    if (node.path == static_cast<int>(path) && node.step == static_cast<int>(step + 1))
      return node.visits.right;
  return -1;
}

/// Draws a single completion with a separate cache, and returns its ids. The last `begun` of the
/// prompt's `ids` already belong to the completion.
std::vector<std::int64_t> draw_alone(const lm::LanguageModel& model, const CollectInputs& inputs,
                                     std::uint64_t sample, std::vector<std::int64_t> ids,
                                     std::int64_t begun) {
  lm::GenerationConfig config = inputs.generation;
  config.batch_size = 1;
  config.prefill_tokens = 2;
  const lm::Prompt prompt{sample, ids, 1, {}, begun};
  return lm::Generator(model, config).run({&prompt, 1}).front().completions.front().ids;
}

TEST_F(CollectorTest, PathsAreThoseOfSingleDraws) {
  const CollectInputs inputs = this->inputs();
  const auto questions = questions_of(inputs);
  const auto collected = collect(inputs);
  for (std::int64_t q = 0; q < 3; ++q)
    for (std::int64_t p = 0; p < 3; ++p)
      EXPECT_EQ(
          collected[static_cast<std::size_t>(q)].paths[static_cast<std::size_t>(p)].completion.ids,
          draw_alone(model_, inputs, Collector::sample_of_path(q, p),
                     questions[static_cast<std::size_t>(q)].ids, 0));
}

TEST_F(CollectorTest, RightRolloutsAreThoseOfSingleDraws) {
  const CollectInputs inputs = this->inputs();
  const QuestionEncoder encoder = inputs.encoder();
  const auto questions = questions_of(inputs);
  const auto collected = collect(inputs);
  std::int32_t all_right = 0;
  std::int32_t steps = 0;
  for (std::size_t q = 0; q < 3; ++q)
    for (std::size_t p = 0; p < 3; ++p) {
      const Solution& path = collected[q].paths[p];
      for (std::size_t s = 0; s + 1 < path.steps.size(); ++s, ++steps) {
        const auto begun = static_cast<std::int64_t>(4 * (s + 1));
        std::vector<std::int64_t> begin(path.completion.ids.begin(),
                                        path.completion.ids.begin() + begun);
        std::vector<std::int64_t> ids = questions[q].ids;
        ids.insert(ids.end(), begin.begin(), begin.end());
        std::int32_t right = 0;
        for (std::uint64_t r = 0; r < 5; ++r) {
          const std::uint64_t sample = Collector::sample_of_rollouts(static_cast<std::int64_t>(q),
                                                                     static_cast<std::int64_t>(p),
                                                                     static_cast<std::int64_t>(s)) +
                                       r;
          std::vector<std::int64_t> solution = begin;
          for (const std::int64_t id : draw_alone(model_, inputs, sample, ids, begun))
            solution.push_back(id);
          right += datasets::is_right(encoder.decode(solution), questions[q].answer) ? 1 : 0;
        }
        EXPECT_EQ(right_of(collected[q], p, s), right);
        all_right += right;
      }
    }
  EXPECT_GT(steps, 10);
  EXPECT_GT(all_right, 0);  // some rollouts are right, and some are wrong
  EXPECT_LT(all_right, 5 * steps);
}

/// Returns the chunk of all questions as the journal gets it.
std::vector<std::byte> chunk_of(const CollectInputs& inputs, const std::vector<Question>& questions,
                                const std::vector<CollectedQuestion>& collected) {
  return question_rows(inputs, 0, questions, collected);
}

TEST_F(CollectorTest, BytesDoNotDependOnTheBatchSizeOrOnOtherQuestions) {
  const CollectInputs inputs = this->inputs();
  const auto questions = questions_of(inputs);
  const auto expected = chunk_of(inputs, questions, collect(inputs));
  for (const char* batch : {"1", "64"}) {
    const CollectInputs other = this->inputs({{"collect.batch_size", batch}});
    EXPECT_EQ(chunk_of(other, questions, collect(other)), expected) << batch;
  }
  const QuestionEncoder encoder = inputs.encoder();
  Collector alone(model_, encoder, inputs);
  std::vector<CollectedQuestion> one_by_one;
  for (std::size_t q = 0; q < 3; ++q)
    one_by_one.push_back(alone.run({&questions[q], 1}, static_cast<std::int64_t>(q)).front());
  EXPECT_EQ(chunk_of(inputs, questions, one_by_one), expected);
}

TEST_F(CollectorTest, MorePathsAndRolloutsKeepTheEarlierOnes) {
  const auto few = collect(inputs());
  const auto many = collect(inputs({{"collect.num_paths", "5"}, {"collect.rollouts", "6"}}));
  for (std::size_t q = 0; q < 3; ++q)
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_EQ(few[q].paths[p].completion.ids, many[q].paths[p].completion.ids);
      for (std::size_t s = 0; s + 1 < few[q].paths[p].steps.size(); ++s) {
        const int more = right_of(many[q], p, s) - right_of(few[q], p, s);
        EXPECT_TRUE(more == 0 || more == 1) << more;
      }
    }
}

TEST_F(CollectorTest, AQuestionIsNamedByItsIndexInTheDataSet) {
  const CollectInputs all = inputs();
  const CollectInputs late = inputs({{"data.start", "1"}});
  const auto of_all = collect(all);
  const auto of_late = collect(late);
  ASSERT_EQ(of_late.size(), 2U);
  EXPECT_EQ(of_late[0].paths[2].completion.ids, of_all[1].paths[2].completion.ids);
  EXPECT_EQ(right_of(of_late[1], 0, 0), right_of(of_all[2], 0, 0));
  const store::test::ChunkValues chunk(question_table(late),
                                       chunk_of(late, questions_of(late), of_late));
  EXPECT_THAT(chunk.numbers<std::int64_t>("question_index"), ElementsAre(1, 2));
}

TEST_F(CollectorTest, StreamsOfPathsAndRolloutsDiffer) {
  std::set<std::uint64_t> streams;
  for (const std::int64_t question : {0, 1, (1 << 29) - 1})
    for (const std::int64_t path : {0, 1, 4095}) {
      streams.insert(Collector::sample_of_path(question, path));
      for (const std::int64_t step : {0, 1, 4095})
        for (const std::uint64_t rollout : {0U, 1U, 1023U})
          streams.insert(Collector::sample_of_rollouts(question, path, step) + rollout);
    }
  EXPECT_EQ(streams.size(), 3U * (3U + 3U * 3U * 3U));
}

TEST_F(CollectorTest, ARowHasTheTreeOfItsQuestion) {
  const CollectInputs inputs = this->inputs();
  const auto questions = questions_of(inputs);
  const auto collected = collect(inputs);
  const store::test::ChunkValues chunk(question_table(inputs),
                                       chunk_of(inputs, questions, collected));
  const std::size_t q = 1;
  const auto ids = chunk.lists<std::int32_t>("output_ids")[q];
  const auto first = chunk.lists<std::int32_t>("node_first")[q];
  const auto tokens = chunk.lists<std::int32_t>("node_tokens")[q];
  const auto path = chunk.lists<std::int32_t>("node_path")[q];
  const auto step = chunk.lists<std::int32_t>("node_step")[q];
  const auto offsets = chunk.lists<std::int32_t>("path_offsets")[q];
  ASSERT_EQ(offsets.size(), 4U);
  EXPECT_EQ(offsets.back(), static_cast<std::int32_t>(ids.size()));
  EXPECT_EQ(chunk.numbers<std::int32_t>("n_steps")[q], static_cast<int>(path.size()) - 1);
  for (std::size_t n = 1; n < path.size(); ++n) {
    const Solution& of = collected[q].paths[static_cast<std::size_t>(path[n])];
    const rows::TextStep& text = of.steps[static_cast<std::size_t>(step[n]) - 1];
    EXPECT_EQ(tokens[n], static_cast<std::int32_t>(text.count));
    EXPECT_EQ(first[n], offsets[static_cast<std::size_t>(path[n])] + 4 * (step[n] - 1));
    EXPECT_EQ(ids[static_cast<std::size_t>(first[n])], of.completion.ids[text.first]);
  }
  EXPECT_EQ(chunk.numbers<std::int32_t>("n_paths")[q], 3);
  EXPECT_THAT(chunk.texts("answer"), ElementsAre("1", "2", "0"));
  EXPECT_THAT(chunk.texts("prompt"), ElementsAre("ab", "c", "de 3"));
}

TEST_F(CollectorTest, ALongQuestionIsMarkedAndHasNoPaths) {
  const std::string text(5000, 'a');
  made_.write("rows.jsonl", "{\"prompt\": \"" + text + "\", \"answer\": \"1\"}\n" + kQuestions);
  const CollectInputs inputs = this->inputs({{"data.on_bad_row", "mark"}});
  const auto questions = questions_of(inputs);
  EXPECT_EQ(questions[0].facts.status, rows::RowStatus::too_long);
  const auto collected = collect(inputs);
  EXPECT_THAT(collected[0].paths, IsEmpty());
  EXPECT_EQ(collected[1].paths.size(), 3U);
  const store::test::ChunkValues chunk(question_table(inputs),
                                       chunk_of(inputs, questions, collected));
  EXPECT_THAT(chunk.lists<std::int32_t>("node_path")[0], IsEmpty());
  EXPECT_THAT(chunk.texts("reason")[0], HasSubstr("5000 tokens"));
}

}  // namespace
}  // namespace mgpu::jobs
