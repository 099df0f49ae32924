// Measures greedy generation with a Hugging Face folder: generate_bench FOLDER [BATCH PROMPT NEW
// PREFILL]. Prints one line of JSON with tokens per CPU-second. "check" is the sum of the new
// tokens' ids. "prefill_s" is the CPU time of the same prompts with one new token each.
// "prefill_of_peak" is the speed of this prefill as a share of the core's peak speed.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <ATen/Parallel.h>

#include <mgpu/lm/decode/generator.hpp>

#include "peak_flops.hpp"

namespace {

using namespace mgpu::lm;

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Returns the same prompts as generate_peer.py makes.
std::vector<std::vector<std::int64_t>> make_prompts(std::int64_t batch, std::int64_t tokens,
                                                    std::int64_t vocab) {
  std::vector<std::vector<std::int64_t>> prompts(static_cast<std::size_t>(batch));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < tokens; ++t)
      prompts[static_cast<std::size_t>(b)].push_back(3 +
                                                     (b * 131 + t * t * 7 + t * 29) % (vocab - 3));
  return prompts;
}

struct Timed {
  double seconds = 0.0;
  std::int64_t tokens = 0;
  std::int64_t id_sum = 0;
};

/// Returns the time of the second of two equal generations, because a job keeps its cache from
/// chunk to chunk.
Timed generate(const LanguageModel& model, const std::vector<std::vector<std::int64_t>>& ids,
               std::int64_t new_tokens, std::int64_t prefill_tokens) {
  GenerationConfig config;
  config.prefill_tokens = prefill_tokens;
  config.max_new_tokens = new_tokens;
  config.batch_size = static_cast<std::int64_t>(ids.size());
  std::vector<Prompt> prompts;
  for (std::size_t b = 0; b < ids.size(); ++b)
    prompts.push_back({b, ids[b], 1});
  Generator generator(model, config);
  generator.run(prompts);
  Timed timed;
  const double begin = cpu_seconds();
  const std::vector<PromptResult> results = generator.run(prompts);
  timed.seconds = cpu_seconds() - begin;
  for (const PromptResult& result : results) {
    for (const std::int64_t id : result.completions[0].ids) {
      ++timed.tokens;
      timed.id_sum += id;
    }
  }
  return timed;
}

/// Returns the FLOP of the prefill of `batch` prompts of `tokens` tokens, if only the last state of
/// each is needed. Each weight of a Llama's matrices takes two FLOP per token. Each pair of query
/// and key takes four FLOP per unit of width. The last layer computes keys and values of all
/// tokens, and the rest for one token.
double prefill_flops(const LmConfig& config, std::int64_t batch, std::int64_t tokens) {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const double queries = number(config.heads * config.head_dim);
  const double kept = 4.0 * number(config.hidden_size * config.kv_heads * config.head_dim);
  const double rest =
      number(config.hidden_size) * (4.0 * queries + 6.0 * number(config.intermediate_size));
  const double layers = number(static_cast<std::int64_t>(config.layers.size()));
  const double rows = number(tokens);
  const double attention = 2.0 * queries * rows * (rows + 1.0);
  const double whole = rows * (kept + rest) + attention;
  const double last = rows * kept + rest + 4.0 * queries * rows;
  const double head = 2.0 * number(config.hidden_size * config.vocab);
  return number(batch) * ((layers - 1.0) * whole + last + head);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: generate_bench FOLDER [BATCH PROMPT NEW PREFILL]\n");
    return 64;
  }
  const auto number = [&](int index, std::int64_t fallback) {
    return argc > index ? std::atoll(argv[index]) : fallback;
  };
  at::set_num_threads(1);
  const LanguageModel model = LanguageModel::open(argv[1]);
  const std::int64_t batch = number(2, 16);
  const std::int64_t tokens = number(3, 128);
  const auto ids = make_prompts(batch, tokens, model.config().vocab);
  const std::int64_t prefill_tokens = number(5, GenerationConfig{}.prefill_tokens);
  const Timed all = generate(model, ids, number(4, 128), prefill_tokens);
  const Timed prefill = generate(model, ids, 1, prefill_tokens);
  const double prefill_rate = prefill_flops(model.config(), batch, tokens) / prefill.seconds;
  const double peak = mgpu::bench::peak_flops();

  std::printf(
      "{\"name\": \"generate/ours\", \"value\": %.1f, \"unit\": \"tokens/CPU-s\", "
      "\"check\": %lld, \"decode\": %.1f, \"prefill_s\": %.3f, \"prefill_gflops\": %.1f, "
      "\"peak_gflops\": %.1f, \"prefill_of_peak\": %.2f}\n",
      static_cast<double>(all.tokens) / all.seconds, static_cast<long long>(all.id_sum),
      static_cast<double>(all.tokens - prefill.tokens) / (all.seconds - prefill.seconds),
      prefill.seconds, prefill_rate / 1e9, peak / 1e9, prefill_rate / peak);
  return 0;
}
