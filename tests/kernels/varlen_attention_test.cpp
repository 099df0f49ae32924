#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/varlen_attention.hpp>

#include "random_values.hpp"

namespace mgpu::kernels {
namespace {

struct Sizes {
  std::vector<std::int64_t> sequence_begins;
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t head_dim;
  std::int64_t window;
  bool has_sinks;
};

template <class Number>
struct Grads {
  explicit Grads(const Sizes& sizes)
      : queries(tokens(sizes) * sizes.heads * sizes.head_dim),
        keys(tokens(sizes) * sizes.kv_heads * sizes.head_dim),
        values(keys.size()),
        sinks(sizes.heads) {}

  static std::size_t tokens(const Sizes& sizes) {
    return static_cast<std::size_t>(sizes.sequence_begins.back());
  }

  std::vector<Number> queries;
  std::vector<Number> keys;
  std::vector<Number> values;
  std::vector<Number> sinks;
};

struct Case {
  explicit Case(const Sizes& chosen)
      : sizes(chosen),
        queries(normals(Grads<float>(sizes).queries.size(), 1)),
        keys(normals(Grads<float>(sizes).keys.size(), 2)),
        values(normals(keys.size(), 3)),
        grad_out(normals(queries.size(), 4)),
        sinks(normals(sizes.heads, 5, 3.0F)) {}

  VarlenAttentionGradArgs args(Grads<float>& out) const {
    return {queries.data(),
            keys.data(),
            values.data(),
            grad_out.data(),
            out.queries.data(),
            out.keys.data(),
            out.values.data(),
            sizes.sequence_begins.data(),
            sizes.sequence_begins.size() - 1,
            sizes.heads,
            sizes.kv_heads,
            sizes.head_dim,
            sizes.window,
            0.4F,
            sizes.has_sinks ? sinks.data() : nullptr,
            sizes.has_sinks ? out.sinks.data() : nullptr};
  }

  Grads<float> grads() const {
    Grads<float> out(sizes);
    cpu::varlen_attention_grad(args(out));
    return out;
  }

  Sizes sizes;
  std::vector<float> queries;
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<float> grad_out;
  std::vector<float> sinks;
};

/// Computes the gradients by plain loops in double over each query head of each query.
class Reference {
public:
  explicit Reference(const Case& given) : given_(given), grads(given.sizes) {
    const Sizes& sizes = given.sizes;
    for (std::size_t sequence = 0; sequence + 1 < sizes.sequence_begins.size(); ++sequence)
      for (std::int64_t n = sizes.sequence_begins[sequence];
           n < sizes.sequence_begins[sequence + 1]; ++n)
        for (std::size_t h = 0; h < sizes.heads; ++h)
          add(sizes.sequence_begins[sequence], n, h);
  }

private:
  void add(std::int64_t begin, std::int64_t n, std::size_t h) {
    const Sizes& sizes = given_.sizes;
    const std::size_t width = sizes.head_dim;
    const std::int64_t first = sizes.window == 0 ? begin : std::max(begin, n - sizes.window + 1);
    const std::size_t q = (static_cast<std::size_t>(n) * sizes.heads + h) * width;
    const auto key = [&](std::int64_t t) {
      return (static_cast<std::size_t>(t) * sizes.kv_heads + h / (sizes.heads / sizes.kv_heads)) *
             width;
    };
    const auto dot = [&](const std::vector<float>& a, std::size_t i, const std::vector<float>& b,
                         std::size_t j) {
      double sum = 0.0;
      for (std::size_t c = 0; c < width; ++c)
        sum += static_cast<double>(a[i + c]) * b[j + c];
      return sum;
    };
    std::vector<double> p;
    double total = sizes.has_sinks ? std::exp(static_cast<double>(given_.sinks[h])) : 0.0;
    const double of_sink = total;
    for (std::int64_t t = first; t <= n; ++t) {
      p.push_back(std::exp(0.4F * dot(given_.queries, q, given_.keys, key(t))));
      total += p.back();
    }
    double along = 0.0;
    for (std::int64_t t = first; t <= n; ++t) {
      double& share = p[static_cast<std::size_t>(t - first)];
      share /= total;
      along += share * dot(given_.grad_out, q, given_.values, key(t));
    }
    grads.sinks[h] -= of_sink / total * along;
    for (std::int64_t t = first; t <= n; ++t) {
      const double share = p[static_cast<std::size_t>(t - first)];
      const double grad = 0.4F * share * (dot(given_.grad_out, q, given_.values, key(t)) - along);
      for (std::size_t c = 0; c < width; ++c) {
        grads.queries[q + c] += grad * given_.keys[key(t) + c];
        grads.keys[key(t) + c] += grad * given_.queries[q + c];
        grads.values[key(t) + c] += share * given_.grad_out[q + c];
      }
    }
  }

  const Case& given_;

public:
  Grads<double> grads;
};

void expect_near(const std::vector<float>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], 2e-5 * (1.0 + std::abs(expected[i]))) << i;
}

// A token that attends only to itself passes its gradient to its value.
TEST(VarlenAttentionGradTest, OneTokenByHand) {
  const Case given({{0, 1}, 2, 1, 3, 0, false});

  const Grads<float> grads = given.grads();

  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_FLOAT_EQ(grads.values[c], given.grad_out[c] + given.grad_out[3 + c]);
  for (const float grad : grads.queries)
    EXPECT_NEAR(grad, 0.0F, 1e-7F);
  for (const float grad : grads.keys)
    EXPECT_NEAR(grad, 0.0F, 1e-7F);
}

class VarlenAttentionGradTest : public testing::TestWithParam<Sizes> {};

TEST_P(VarlenAttentionGradTest, IsTheReference) {
  const Case given(GetParam());
  const Grads<double> expected = Reference(given).grads;

  const Grads<float> grads = given.grads();

  expect_near(grads.queries, expected.queries);
  expect_near(grads.keys, expected.keys);
  expect_near(grads.values, expected.values);
  if (given.sizes.has_sinks) expect_near(grads.sinks, expected.sinks);
}

INSTANTIATE_TEST_SUITE_P(Shapes, VarlenAttentionGradTest,
                         testing::Values(Sizes{{0, 1, 9}, 1, 1, 1, 0, false},
                                         Sizes{{0, 7, 70, 71}, 4, 2, 17, 0, true},
                                         Sizes{{0, 100}, 6, 6, 64, 33, false},
                                         Sizes{{0, 11, 24, 72}, 4, 2, 24, 20, true},
                                         Sizes{{0, 90, 90, 128}, 8, 1, 80, 8, true},
                                         Sizes{{0, 65}, 2, 1, 256, 1, false}));

/// R sequences, each with a prefix that consists of tokens of the same batch.
struct PrefixSizes {
  Sizes sizes;
  std::vector<std::int64_t> begins;  // [R] first token of each prefix
  std::vector<std::int64_t> counts;  // [R] tokens of each prefix

  /// Lays out the sequences in a new array, each after a copy of its prefix. Returns the index in
  /// the batch of each token of this array. Sets `copy_begins` to the index in the array at which
  /// each copy of a prefix begins, followed by the array's length.
  std::vector<std::size_t> tokens_of_copies(std::vector<std::int64_t>& copy_begins) const {
    std::vector<std::size_t> tokens;
    copy_begins = {0};
    for (std::size_t s = 0; s < begins.size(); ++s) {
      for (std::int64_t t = begins[s]; t < begins[s] + counts[s]; ++t)
        tokens.push_back(static_cast<std::size_t>(t));
      for (std::int64_t t = sizes.sequence_begins[s]; t < sizes.sequence_begins[s + 1]; ++t)
        tokens.push_back(static_cast<std::size_t>(t));
      copy_begins.push_back(std::ssize(tokens));
    }
    return tokens;
  }
};

/// Returns the lines of these tokens, concatenated. A token has a line of `width` numbers.
std::vector<float> copies_of(const std::vector<float>& lines,
                             const std::vector<std::size_t>& tokens, std::size_t width) {
  std::vector<float> copies;
  for (const std::size_t token : tokens)
    copies.insert(copies.end(), lines.begin() + static_cast<std::ptrdiff_t>(token * width),
                  lines.begin() + static_cast<std::ptrdiff_t>((token + 1) * width));
  return copies;
}

/// Returns the sum of the lines of all copies of each token.
std::vector<double> sums_of(const std::vector<double>& copies,
                            const std::vector<std::size_t>& tokens, std::size_t width,
                            std::size_t count) {
  std::vector<double> sums(count, 0.0);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t c = 0; c < width; ++c)
      sums[tokens[i] * width + c] += copies[i * width + c];
  return sums;
}

class VarlenAttentionPrefixTest : public testing::TestWithParam<PrefixSizes> {};

// Copies of a prefix get no gradient of their outputs, because the prefix itself has it.
TEST_P(VarlenAttentionPrefixTest, IsTheReferenceWithCopiesOfThePrefix) {
  const PrefixSizes shape = GetParam();
  const Case given(shape.sizes);
  Sizes copied = shape.sizes;
  const std::vector<std::size_t> tokens = shape.tokens_of_copies(copied.sequence_begins);
  Case copies(copied);
  const std::size_t width = copied.heads * copied.head_dim;
  const std::size_t key_width = copied.kv_heads * copied.head_dim;
  copies.queries = copies_of(given.queries, tokens, width);
  copies.keys = copies_of(given.keys, tokens, key_width);
  copies.values = copies_of(given.values, tokens, key_width);
  copies.grad_out = copies_of(given.grad_out, tokens, width);
  copies.sinks = given.sinks;
  for (std::size_t s = 0; s < shape.counts.size(); ++s)
    std::fill_n(
        copies.grad_out.begin() + copied.sequence_begins[s] * static_cast<std::ptrdiff_t>(width),
        static_cast<std::size_t>(shape.counts[s]) * width, 0.0F);
  const Grads<double> expected = Reference(copies).grads;
  Grads<float> grads(shape.sizes);
  VarlenAttentionGradArgs args = given.args(grads);
  args.prefix_begins = shape.begins.data();
  args.prefix_counts = shape.counts.data();

  cpu::varlen_attention_grad(args);

  expect_near(grads.queries, sums_of(expected.queries, tokens, width, grads.queries.size()));
  expect_near(grads.keys, sums_of(expected.keys, tokens, key_width, grads.keys.size()));
  expect_near(grads.values, sums_of(expected.values, tokens, key_width, grads.values.size()));
  if (shape.sizes.has_sinks) expect_near(grads.sinks, expected.sinks);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, VarlenAttentionPrefixTest,
    testing::Values(
        PrefixSizes{{{0, 9, 12}, 1, 1, 1, 0, false}, {0, 0}, {0, 5}},
        PrefixSizes{{{0, 40, 47, 48, 48}, 4, 2, 17, 0, true}, {0, 0, 0, 0}, {0, 33, 40, 31}},
        PrefixSizes{{{0, 70, 90, 130}, 6, 6, 64, 33, false}, {0, 0, 0}, {0, 66, 20}},
        PrefixSizes{{{0, 11, 24, 72, 80}, 4, 2, 24, 20, true}, {0, 0, 0, 24}, {0, 7, 0, 45}},
        PrefixSizes{{{0, 90, 128}, 8, 1, 80, 8, true}, {0, 0}, {0, 83}}));

TEST(VarlenAttentionGradTest, APrefixHasToBeBeforeItsSequence) {
  const Case given({{0, 8, 12}, 1, 1, 4, 0, false});
  Grads<float> out(given.sizes);
  VarlenAttentionGradArgs args = given.args(out);
  const std::vector<std::int64_t> begins{0, 4};
  const std::vector<std::int64_t> counts{0, 5};
  args.prefix_begins = begins.data();
  args.prefix_counts = counts.data();

  EXPECT_THROW(cpu::varlen_attention_grad(args), ShapeError);
}

TEST(VarlenAttentionGradTest, NanReachesTheGradients) {
  Case given({{0, 60}, 1, 1, 16, 0, false});
  given.keys[50 * 16] = std::nanf("");

  const Grads<float> grads = given.grads();

  EXPECT_FALSE(std::isnan(grads.queries[15 * 16]));  // of an earlier block
  EXPECT_TRUE(std::isnan(grads.queries[50 * 16]));
  EXPECT_TRUE(std::isnan(grads.values[0]));
}

TEST(VarlenAttentionGradTest, NanOfAValueReachesTheGradients) {
  Case given({{0, 90}, 1, 1, 16, 0, false});
  given.values[80 * 16] = std::nanf("");

  const Grads<float> grads = given.grads();

  EXPECT_FALSE(std::isnan(grads.queries[40 * 16]));  // of an earlier block
  EXPECT_TRUE(std::isnan(grads.queries[80 * 16]));
}

TEST(VarlenAttentionGradTest, KeyHeadsHaveToDivideTheHeads) {
  Case given({{0, 2}, 4, 3, 2, 0, false});
  Grads<float> out(given.sizes);

  EXPECT_THROW(cpu::varlen_attention_grad(given.args(out)), ShapeError);
}

}  // namespace
}  // namespace mgpu::kernels
