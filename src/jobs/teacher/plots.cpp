#include "plots.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/half_float.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "recipes/distill/stored_targets.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownTexts = 3;
constexpr std::int64_t kShownTokens = 160;  // largest number of shown tokens of a text
constexpr std::int64_t kShownPrompt = 24;   // prompt tokens shown; more before a short completion
constexpr std::size_t kShownGuesses = 10;
constexpr std::int64_t kSeenTokens = 32768;  // tokens whose top-k probability is averaged
constexpr std::int64_t kBlockTokens = 512;   // consecutive tokens that are read together

/// Decodes tokens to texts, if the model's folder has a tokenizer. Otherwise a text is # and the
/// token id.
class TokenTexts {
public:
  explicit TokenTexts(const TeacherInputs& inputs)
      : folder_(rows::parse_tokenizer_files(inputs.text, inputs.folder, inputs.model.vocab)) {}

  /// Returns for each token the text that it adds to the text of the previous tokens.
  std::vector<std::string> in_order(std::span<const std::int32_t> ids) const {
    std::vector<std::string> texts;
    if (!folder_) {
      for (const std::int32_t id : ids)
        texts.push_back(report::text_of("#%d ", id));
      return texts;
    }
    text::StreamDecoder decoder(folder_->tokenizer, false);
    for (const std::int32_t id : ids)
      texts.push_back(decoder.add(id));
    if (!texts.empty()) texts.back() += decoder.finish();
    return texts;
  }

  /// Returns the text of token `id` when it follows the token `before`.
  std::string text_after(std::int32_t before, std::int32_t id) const {
    if (!folder_) return report::text_of("#%d", id);
    const text::Tokenizer& tokenizer = folder_->tokenizer;
    const std::string shown = tokenizer.shown_token(id);
    const std::string alone = tokenizer.decode({&before, 1}, false);
    const std::vector<text::TokenId> both{before, id};
    const std::string together = tokenizer.decode(both, false);
    // Some tokenizers drop a blank at the beginning of a decoded text.
    const bool adds_blank = together == alone + ' ' + shown;
    return adds_blank ? ' ' + shown : shown;
  }

private:
  std::optional<text::TextFolder> folder_;
};

/// Divides the rows into kShownTexts ranges of equal size, and returns one row of each range: the
/// first row with at least kShownTokens tokens. If a range lacks such a row, returns its first row
/// with the most tokens. Skips a range in which no row has at least two tokens.
std::vector<std::int64_t> rows_to_show(std::span<const std::int32_t> num_tokens) {
  std::vector<std::int64_t> rows;
  for (std::size_t part = 0; part < kShownTexts; ++part) {
    std::int64_t most = 1;
    std::size_t best = 0;
    const std::size_t end = (part + 1) * num_tokens.size() / kShownTexts;
    for (std::size_t i = part * num_tokens.size() / kShownTexts; i < end; ++i) {
      const std::int64_t shown = std::min<std::int64_t>(num_tokens[i], kShownTokens);
      if (shown > most) best = i;
      most = std::max(most, shown);
    }
    if (most > 1) rows.push_back(static_cast<std::int64_t>(best));
  }
  return rows;
}

/// The stored predictions of the teacher for one token, the most probable first.
struct TokenList {
  std::vector<std::pair<double, std::int32_t>> best;
  double rest = 0.0;

  TokenList(const lm::TeacherTargets& lists, std::size_t token) {
    const auto begin = static_cast<std::size_t>(token == 0 ? 0 : lists.ends[token - 1]);
    for (auto i = begin; i < static_cast<std::size_t>(lists.ends[token]); ++i)
      best.emplace_back(std::exp(static_cast<double>(lists.log_probs[i])),
                        static_cast<std::int32_t>(lists.ids[i]));
    std::ranges::stable_sort(best, [](const auto& a, const auto& b) { return a.first > b.first; });
    rest = static_cast<double>(lists.tail_mass[token]);
  }

  /// Returns the entropy in nats; all tokens outside the list are one class.
  double entropy() const {
    const auto term = [](double p) { return p > 0.0 ? -p * std::log(p) : 0.0; };
    double sum = term(rest);
    for (const auto& [probability, id] : best)
      sum += term(probability);
    return std::max(sum, 0.0);
  }
};

void add_view(const TokenList& list, std::int32_t before, std::int32_t id, const TokenTexts& texts,
              ShownToken& token) {
  token.entropy = list.entropy();
  const auto found =
      std::ranges::find(list.best, id, [](const auto& guess) { return guess.second; });
  if (found != list.best.end()) {
    token.probability = found->first;
    token.place = static_cast<int>(found - list.best.begin()) + 1;
  }
  token.rest = 1.0;
  for (const auto& [probability, guess] : list.best) {
    if (token.best.size() == kShownGuesses) break;
    token.best.push_back({texts.text_after(before, guess), probability});
    token.rest -= probability;
  }
  token.rest = token.best.size() < list.best.size() ? std::max(token.rest, 0.0) : list.rest;
}

ShownText read_text(recipes::StoredTargets& targets, const store::ListColumn& tokens,
                    const store::ListColumn& learned, const TokenTexts& texts, std::int64_t row) {
  const std::int64_t begin = tokens.begin_of(row);
  ShownText text{row, 0, tokens.items_of(row), {}};
  const store::ReadColumn all_learned = learned.read_items(begin, text.tokens);
  const auto is_learned = all_learned.values<std::uint8_t>();
  const auto answer = std::ranges::find(is_learned, 1) - is_learned.begin();
  if (answer < text.tokens)
    text.first = std::clamp<std::int64_t>(answer - kShownPrompt, 0,
                                          std::max<std::int64_t>(text.tokens - kShownTokens, 0));
  // The targets of a token predict the next token. So the prediction of the first shown token needs
  // the token before it.
  const std::int64_t before = text.first > 0 ? 1 : 0;
  const std::int64_t count = std::min(kShownTokens, text.tokens - text.first);
  const std::int64_t first = text.first - before;
  const store::ReadColumn column = tokens.read_items(begin + first, count + before);
  const auto ids = column.values<std::int32_t>();
  lm::TeacherTargets lists;
  targets.set_places({{row, first}});
  targets.append(0, std::vector<std::int64_t>(ids.size(), 0), lists);
  const std::vector<std::string> words = texts.in_order(ids);
  for (auto t = static_cast<std::size_t>(before); t < ids.size(); ++t) {
    ShownToken token;
    token.text = words[t];
    token.is_learned = is_learned[static_cast<std::size_t>(first) + t] != 0;
    if (t > 0) add_view(TokenList(lists, t - 1), ids[t - 1], ids[t], texts, token);
    text.shown.push_back(std::move(token));
  }
  return text;
}

std::vector<ShownText> read_texts_shown(const fs::path& results, const TeacherInputs& inputs,
                                        std::span<const std::int32_t> num_tokens) {
  recipes::DistillSettings settings;
  settings.targets = results;
  settings.how.temperature = inputs.config.temperature;
  recipes::StoredTargets targets(settings, true);
  const store::ListColumn tokens(results, "samples", "token_ids");
  const store::ListColumn learned(results, "samples", "is_learned");
  const TokenTexts texts(inputs);
  std::vector<ShownText> shown;
  for (const std::int64_t row : rows_to_show(num_tokens)) {
    shown.push_back(read_text(targets, tokens, learned, texts, row));
    mark_progress();
  }
  return shown;
}

/// Collects the total probability of the k most probable tokens of each prediction, for several k.
class MassAtK {
public:
  explicit MassAtK(std::vector<std::int64_t> ks) : ks_(std::move(ks)), masses_(ks_.size()) {}

  void add(std::span<const Half> log_probs) {
    double sum = 0.0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < ks_.size(); ++i) {
      for (; next < static_cast<std::size_t>(ks_[i]); ++next)
        sum += std::exp(static_cast<double>(log_probs[next].value()));
      masses_[i].push_back(static_cast<float>(std::min(sum, 1.0)));  // rounding may exceed 1
    }
  }

  KeptMass result() {
    KeptMass mass;
    mass.tokens_seen = std::ssize(masses_.front());
    for (std::size_t i = 0; i < ks_.size(); ++i) {
      std::vector<float>& values = masses_[i];
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      const auto tenth = values.begin() + std::ssize(values) / 10;
      std::ranges::nth_element(values, tenth);
      mass.points.push_back(
          {ks_[i], sum / static_cast<double>(values.size()), static_cast<double>(*tenth), 0, 0});
    }
    return mass;
  }

private:
  std::vector<std::int64_t> ks_;
  std::vector<std::vector<float>> masses_;  // [ks, tokens seen]
};

/// Returns the index of the first token of each block of kBlockTokens tokens. The blocks cover all
/// tokens of a file with at most kSeenTokens tokens. In a larger file, they cover kSeenTokens
/// tokens that are spread over the file.
std::vector<std::int64_t> block_starts(std::int64_t tokens) {
  std::int64_t blocks = kSeenTokens / kBlockTokens;
  std::int64_t apart = (tokens - kBlockTokens) / (blocks - 1);
  if (tokens <= kSeenTokens) {
    blocks = (tokens + kBlockTokens - 1) / kBlockTokens;
    apart = kBlockTokens;
  }
  std::vector<std::int64_t> starts;
  for (std::int64_t block = 0; block < blocks; ++block)
    starts.push_back(block * apart);
  return starts;
}

KeptMass read_mass(const fs::path& results, const TeacherInputs& inputs) {
  const store::ListColumn lists(results, "samples", "topk_logprobs");
  const auto k = static_cast<std::size_t>(lists.spec().width);
  const std::int64_t tokens = lists.items();
  MassAtK masses(shown_ks(lists.spec().width));
  for (const std::int64_t first : block_starts(tokens)) {
    const store::ReadColumn column =
        lists.read_items(first, std::min(kBlockTokens, tokens - first));
    const auto values = column.values<Half>();
    for (std::size_t at = 0; at < values.size(); at += k)
      masses.add(values.subspan(at, k));
    mark_progress();
  }
  KeptMass mass = masses.result();
  TeacherConfig config = inputs.config;
  for (KeptMass::Point& point : mass.points) {
    config.top_k = point.k;
    config.is_packed = false;
    point.bytes_fp16 = target_bytes(config, inputs.model.vocab);
    config.is_packed = true;
    point.bytes_packed = target_bytes(config, inputs.model.vocab);
  }
  return mass;
}

/// Returns the text that replaces the chart of top-k probabilities with
/// teacher.targets=random_sampling.
std::string drawn_text(const fs::path& results, const TeacherInputs& inputs,
                       const TeacherPlots& plots) {
  const store::ListColumn drawn(results, "samples", "num_drawn");
  const std::int64_t tokens = drawn.items();
  const store::ReadColumn some = drawn.read_items(0, std::min(tokens, kSeenTokens));
  const auto numbers = some.values<std::uint8_t>();
  const double mean =
      std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
  return report::text_of(
             "%lld draws at each token give %.1f different tokens on average (of the first ",
             static_cast<long long>(inputs.config.num_draws), mean) +
         report::grouped(std::ssize(numbers)) +
         report::text_of(
             " tokens); the file takes %.0f bytes per token, all its columns and "
             "indices included. Draws keep all of the distribution on average, so "
             "that there is no mass to choose k by.",
             plots.bytes_per_token);
}

}  // namespace

std::vector<std::int64_t> shown_ks(std::int64_t kept) {
  std::vector<std::int64_t> ks;
  for (std::int64_t power = 1; power < kept; power *= 2) {
    ks.push_back(power);
    if (power >= 2 && power / 2 * 3 < kept) ks.push_back(power / 2 * 3);
  }
  ks.push_back(kept);
  return ks;
}

void add_targets(const fs::path& results, const TeacherInputs& inputs,
                 std::span<const std::int32_t> num_tokens, TeacherPlots& plots) {
  const std::int64_t k = std::min(inputs.config.top_k, inputs.model.vocab);
  if (inputs.config.has_draws) {
    plots.entropy_of = "the draws, which is less than that of the distribution";
    plots.drawn = drawn_text(results, inputs, plots);
  } else {
    plots.entropy_of = k == inputs.model.vocab
                           ? "all tokens"
                           : report::text_of(
                                 "the %s most probable tokens and all others as one, which is at "
                                 "most that of the whole distribution",
                                 report::grouped(k).c_str());
    plots.mass = read_mass(results, inputs);
  }
  plots.texts = read_texts_shown(results, inputs, num_tokens);
}

}  // namespace mgpu::jobs
