// Tests that other sequences, chunks, the cache, its pages and forks do not change results.
#include <filesystem>
#include <numeric>
#include <string>
#include <tuple>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "logits_of.hpp"

namespace mgpu::lm {
namespace {

const char* const kModels[] = {"gpt2", "gpt_oss", "llama_llama3", "mistral", "qwen3_switches"};

/// Returns sequences of 1 to 9 tokens, which have `rows` tokens together. The last sequence may be
/// cut. Calls with more rows return the same tokens first.
std::vector<Ids> make_sequences(std::int64_t rows) {
  std::vector<Ids> sequences;
  for (std::int64_t seed = 0; rows > 0; ++seed) {
    const std::int64_t count = std::min(rows, 1 + seed % 9);
    sequences.push_back(make_ids(static_cast<std::size_t>(count), seed));
    rows -= count;
  }
  return sequences;
}

/// Returns hidden states and the results of the head, concatenated.
at::Tensor outputs_of(const LanguageModel& model, const std::vector<Ids>& sequences) {
  std::vector<SequenceSpan> spans;
  for (const Ids& ids : sequences)
    spans.push_back({ids});
  const at::Tensor hidden = model.hidden(spans);
  const HeadResult head = apply_head(model, hidden, at::zeros({hidden.size(0)}, at::kLong), 5);
  return at::cat({hidden, head.log_probs.unsqueeze(1), head.best_logits, head.best_ids}, 1);
}

using NameAndType = std::tuple<const char*, MatrixType>;

class InvarianceTest : public testing::TestWithParam<NameAndType> {
protected:
  LanguageModel model_ = open_golden(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(InvarianceTest, RowBitsDoNotDependOnTheirNeighbors) {
  const Ids ids = make_ids(17, 1);
  const at::Tensor alone = hidden_of(model_, ids);
  const at::Tensor targets = at::zeros({17}, at::kLong);
  const HeadResult head_alone = apply_head(model_, alone, targets, 5);

  for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 15U, 16U, 17U, 31U, 64U, 256U}) {
    std::vector<Ids> others;
    for (std::size_t r = 0; r < rows; ++r)
      others.push_back(r == rows / 2 ? ids : make_ids(1 + r % 9, static_cast<std::int64_t>(r)));
    std::vector<SequenceSpan> spans;
    std::int64_t first = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      if (r < rows / 2) first += static_cast<std::int64_t>(others[r].size());
      spans.push_back({others[r]});
    }

    const at::Tensor all = model_.hidden(spans);
    const at::Tensor together = all.narrow(0, first, 17);
    const HeadResult head = apply_head(model_, all, at::zeros({all.size(0)}, at::kLong), 5);

    EXPECT_TRUE(at::equal(together, alone)) << rows;
    EXPECT_TRUE(at::equal(head.log_probs.narrow(0, first, 17), head_alone.log_probs)) << rows;
    EXPECT_TRUE(at::equal(head.best_ids.narrow(0, first, 17), head_alone.best_ids)) << rows;
  }
}

TEST_P(InvarianceTest, RowBitsDoNotDependOnTheNumberOfRows) {
  std::vector<at::Tensor> alone;
  for (const Ids& ids : make_sequences(256))
    alone.push_back(outputs_of(model_, {ids}));
  const at::Tensor expected = at::cat(alone);

  for (std::int64_t rows = 1; rows <= 256; ++rows) {
    const at::Tensor together = outputs_of(model_, make_sequences(rows));
    EXPECT_TRUE(at::equal(together, expected.narrow(0, 0, rows))) << rows;
  }
}

// Runs passes like those of a decoding Generator: one token after each sequence in the cache.
TEST_P(InvarianceTest, SequencesGrowAlikeBesideAnyNumberOfOthers) {
  PagedCache cache = model_.make_cache({3 * 256, 4});
  std::vector<Ids> sequences;
  std::vector<at::Tensor> alone;
  for (std::int64_t s = 0; s < 256; ++s) {
    const std::int64_t before = 4 + s % 3 * 4;  // whole pages: forks copy none
    sequences.push_back(make_ids(static_cast<std::size_t>(before + 1), s));
    alone.push_back(hidden_of(model_, sequences.back()).narrow(0, before, 1));
  }
  const at::Tensor expected = at::cat(alone);
  std::vector<SequenceSpan> beginnings;
  for (const Ids& ids : sequences)
    beginnings.push_back({std::span(ids).first(ids.size() - 1), cache.add()});
  model_.hidden(beginnings, cache);

  for (std::int64_t rows = 1; rows <= 256; ++rows) {
    std::vector<SequenceSpan> spans;
    for (std::size_t s = 0; s < static_cast<std::size_t>(rows); ++s)
      spans.push_back({std::span(sequences[s]).last(1), cache.fork(beginnings[s].sequence)});
    const at::Tensor together = model_.hidden(spans, cache);
    EXPECT_TRUE(at::equal(together, expected.narrow(0, 0, rows))) << rows;
    for (const SequenceSpan& span : spans)
      cache.remove(span.sequence);
  }
}

TEST_P(InvarianceTest, ChunksAndSingleTokensGiveTheBitsOfTheWhole) {
  const Ids ids = make_ids(37, 2);
  const at::Tensor whole = hidden_of(model_, ids);

  for (const std::int64_t chunk : {1, 3, 16, 37}) {
    PagedCache cache = model_.make_cache({10, 4});
    const std::int64_t sequence = cache.add();
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < ids.size(); i += static_cast<std::size_t>(chunk)) {
      const std::size_t count = std::min(ids.size() - i, static_cast<std::size_t>(chunk));
      const SequenceSpan run{std::span(ids).subspan(i, count), sequence};
      parts.push_back(model_.hidden({&run, 1}, cache));
    }
    EXPECT_TRUE(at::equal(at::cat(parts), whole)) << chunk;
  }
}

TEST_P(InvarianceTest, WantedRowsHaveTheBitsOfAll) {
  const Ids ids = make_ids(21, 5);
  const Ids others = make_ids(6, 6);
  const at::Tensor whole = hidden_of(model_, ids);
  const at::Tensor whole_others = hidden_of(model_, others);

  for (const std::int64_t num_outputs : {0, 1, 5, 21, 99}) {
    PagedCache cache = model_.make_cache({12, 4});
    const std::int64_t sequence = cache.add();
    const std::vector<SequenceSpan> first{{std::span(ids).first(8), sequence, 0, 0}};
    EXPECT_EQ(model_.hidden(first, cache).size(0), 0);
    const std::vector<SequenceSpan> rest{{std::span(ids).subspan(8, 8), sequence, 0, num_outputs},
                                         {others, cache.add(), 0, 2}};
    const at::Tensor some = model_.hidden(rest, cache);
    const std::vector<SequenceSpan> end{{std::span(ids).subspan(16), sequence}};
    const at::Tensor last = model_.hidden(end, cache);

    const std::int64_t count = std::min<std::int64_t>(num_outputs, 8);
    ASSERT_EQ(some.size(0), count + 2) << num_outputs;
    EXPECT_TRUE(at::equal(some.narrow(0, 0, count), whole.narrow(0, 16 - count, count)))
        << num_outputs;
    EXPECT_TRUE(at::equal(some.narrow(0, count, 2), whole_others.narrow(0, 4, 2))) << num_outputs;
    EXPECT_TRUE(at::equal(last, whole.narrow(0, 16, 5))) << num_outputs;
  }
  const std::vector<SequenceSpan> uncached{{ids, 0, 0, 3}, {others, 0, 0, 0}};
  EXPECT_TRUE(at::equal(model_.hidden(uncached), whole.narrow(0, 18, 3)));
}

at::Tensor ids_tensor(std::span<const std::int64_t> ids) {
  return at::tensor(Ids(ids.begin(), ids.end()), at::kLong);
}

/// Returns the input of the first layer for these ids.
at::Tensor embeddings_of(const LanguageModel& model, std::span<const std::int64_t> ids) {
  return model.weights().embedding.index_select(0, ids_tensor(ids)).to(at::kFloat);
}

TEST_P(InvarianceTest, EmbeddingsAndIdsInTensorsGiveTheBitsOfIds) {
  const Ids ids = make_ids(21, 5);
  const at::Tensor whole = hidden_of(model_, ids);
  PagedCache cache = model_.make_cache({12, 4});
  const std::int64_t sequence = cache.add();
  const std::span<const std::int64_t> all(ids);

  SequenceSpan embedded{{}, sequence};
  embedded.embeddings = embeddings_of(model_, all.first(8));
  const std::vector<SequenceSpan> first{embedded, {ids, cache.add()}};
  const at::Tensor both = model_.hidden(first, cache);
  SequenceSpan given{{}, sequence, 0, 2};
  given.device_ids = ids_tensor(all.subspan(8, 6));
  const at::Tensor middle = model_.hidden({&given, 1}, cache);
  const SequenceSpan rest{all.subspan(14), sequence};
  const at::Tensor end = model_.hidden({&rest, 1}, cache);

  EXPECT_TRUE(at::equal(both, at::cat({whole.narrow(0, 0, 8), whole})));
  EXPECT_TRUE(at::equal(middle, whole.narrow(0, 12, 2)));
  EXPECT_TRUE(at::equal(end, whole.narrow(0, 14, 7)));
}

TEST_P(InvarianceTest, EmbeddingsOfNoTokenAreReadAsTheyAre) {
  const Ids ids = make_ids(5, 5);
  SequenceSpan run{};
  run.embeddings = embeddings_of(model_, ids) * 1.5;
  const at::Tensor hidden = model_.hidden({&run, 1});

  EXPECT_FALSE(at::allclose(hidden, hidden_of(model_, ids)));
  for (const at::Tensor& wrong :
       {at::zeros({3, 7}), run.embeddings.to(at::kDouble), at::zeros(3)}) {
    run.embeddings = wrong;
    EXPECT_THROW(model_.hidden({&run, 1}), ShapeError);
  }
}

TEST_P(InvarianceTest, ForksShareThePrefixAndGoTheirOwnWays) {
  Ids left = make_ids(9, 3);
  Ids right = left;
  left.insert(left.end(), {5, 6, 7});
  right.insert(right.end(), {8, 9, 10});
  PagedCache cache = model_.make_cache({6, 4});
  const std::int64_t origin = cache.add();
  const SequenceSpan prefix{std::span(left).first(9), origin};
  model_.hidden({&prefix, 1}, cache);  // 3 pages, the last with one token

  const std::int64_t fork = cache.fork(origin);
  EXPECT_EQ(cache.free_pages(), 3);
  const std::vector<SequenceSpan> spans{{std::span(left).subspan(9), origin},
                                        {std::span(right).subspan(9), fork}};
  const at::Tensor both = model_.hidden(spans, cache);

  EXPECT_EQ(cache.free_pages(), 2);  // one copied page
  EXPECT_TRUE(at::equal(both.narrow(0, 0, 3), hidden_of(model_, left).narrow(0, 9, 3)));
  EXPECT_TRUE(at::equal(both.narrow(0, 3, 3), hidden_of(model_, right).narrow(0, 9, 3)));
  cache.remove(origin);
  EXPECT_EQ(cache.free_pages(), 3);
  cache.remove(fork);
  EXPECT_EQ(cache.free_pages(), 6);
}

std::string name_of(const testing::TestParamInfo<NameAndType>& entry) {
  return std::get<0>(entry.param);
}

INSTANTIATE_TEST_SUITE_P(Models, InvarianceTest,
                         testing::Combine(testing::ValuesIn(kModels),
                                          testing::Values(MatrixType::f32)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(HalfMatrices, InvarianceTest,
                         testing::Combine(testing::Values("gpt_oss", "qwen3_switches"),
                                          testing::Values(MatrixType::bf16)),
                         name_of);

class HalfMatricesTest : public testing::TestWithParam<const char*> {};

// The tolerance allows for about ten consecutive products whose factors have 8 bits each.
TEST_P(HalfMatricesTest, LogitsAreCloseToThoseOfFloat) {
  const LanguageModel exact = open_golden(GetParam());
  const LanguageModel half = open_golden(GetParam(), MatrixType::bf16);
  const Ids ids = make_ids(40, 3);

  const at::Tensor expected = logits_of(exact, hidden_of(exact, ids));
  const at::Tensor logits = logits_of(half, hidden_of(half, ids));

  ASSERT_EQ(logits.scalar_type(), at::kFloat);
  const double difference = ((logits - expected).norm() / expected.norm()).item<double>();
  EXPECT_LT(difference, 0.03);
  EXPECT_GT(difference, 1e-4) << "nothing was rounded";
}

INSTANTIATE_TEST_SUITE_P(Models, HalfMatricesTest, testing::ValuesIn(kModels),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(LanguageModelTest, HeadIsTheLogSoftmaxOfTheLogits) {
  const LanguageModel model = open_golden("llama");
  const at::Tensor hidden = hidden_of(model, make_ids(20, 4));
  const at::Tensor targets = at::arange(20, at::kLong) * 3;

  const HeadResult head = apply_head(model, hidden, targets, 4);

  const at::Tensor logits = logits_of(model, hidden).to(at::kDouble);
  const at::Tensor expected = logits.log_softmax(1).gather(1, targets.view({-1, 1})).view({-1});
  EXPECT_TRUE(at::allclose(head.log_probs.to(at::kDouble), expected, 1e-6, 1e-6));
  EXPECT_TRUE(at::allclose(head.log_sums.to(at::kDouble), logits.logsumexp(1), 1e-6, 1e-6));
  EXPECT_TRUE(at::equal(head.best_ids, std::get<1>(logits.topk(4))));
}

TEST(LanguageModelTest, NothingGivesNothing) {
  const LanguageModel model = open_golden("llama");

  EXPECT_EQ(model.hidden({}).sizes(), (std::vector<std::int64_t>{0, 32}));
  EXPECT_EQ(apply_head(model, at::empty({0, 32}), {}, 3).best_ids.size(0), 0);
}

TEST(LanguageModelTest, WrongTokensAndPositionsAreRefused) {
  const LanguageModel model = open_golden("gpt2");

  EXPECT_THROW(hidden_of(model, {67}), ShapeError);
  EXPECT_THROW(hidden_of(model, {-1}), ShapeError);
  EXPECT_THROW(hidden_of(model, make_ids(49, 0)), ShapeError);  // 48 positions
}

TEST(LanguageModelTest, FullCacheChangesNothing) {
  const LanguageModel model = open_golden("llama");
  PagedCache cache = model.make_cache({2, 4});
  const std::int64_t first = cache.add();
  const std::int64_t second = cache.add();
  const Ids five = make_ids(5, 0);
  const std::vector<SequenceSpan> both{{five, first}, {five, second}};
  const std::vector<SequenceSpan> twice{{std::span(five).first(1), first},
                                        {std::span(five).first(1), first}};

  EXPECT_THROW(model.hidden(both, cache), ShapeError);
  EXPECT_THROW(model.hidden(twice, cache), ShapeError);

  EXPECT_EQ(cache.free_pages(), 2);
  EXPECT_EQ(cache.length(first), 0);
  EXPECT_THROW(cache.length(2), Error);
}

}  // namespace
}  // namespace mgpu::lm
