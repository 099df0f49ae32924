#include "beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mgpu::jobs {
namespace {

// The number of a beam's random stream consists of two parts. The bits from bit kRoundBit on are
// the number of finished steps. The lower bits are BeamPrompt::sample plus the index of the
// completion.
constexpr int kRoundBit = 44;

lm::DecodeConfig decode_config(const lm::GenerationConfig& generation) {
  return {generation.sampling, generation.prefill_tokens, generation.stop_ids};
}

}  // namespace

std::vector<std::size_t> continued_of(std::span<const double> scores, std::int64_t width) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return scores[a] > scores[b] || (!std::isnan(scores[a]) && std::isnan(scores[b]));
  });
  const std::size_t kept =
      (scores.size() + static_cast<std::size_t>(width) - 1) / static_cast<std::size_t>(width);
  std::vector<std::size_t> continued;
  for (std::size_t best = 0; best < kept; ++best) {
    const std::size_t places = scores.size() / kept + (best < scores.size() % kept ? 1 : 0);
    continued.insert(continued.end(), places, order[best]);
  }
  return continued;
}

BeamSearch::BeamSearch(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
                       const GenerateConfig& config, const SearchKeys& keys,
                       CompletionScorer* scorer)
    : encoder_(encoder),
      config_(config.generation),
      num_samples_(config.num_samples),
      keys_(keys),
      scorer_(scorer),
      paths_(model, decode_config(config.generation)) {}

std::vector<lm::PromptResult> BeamSearch::run(std::span<const BeamPrompt> prompts) {
  std::vector<lm::PromptResult> results;
  ended_ = 0;
  const auto at_once =
      static_cast<std::size_t>(std::max<std::int64_t>(1, config_.batch_size / num_samples_));
  for (std::size_t first = 0; first < prompts.size(); first += at_once) {
    const auto some = prompts.subspan(first, std::min(at_once, prompts.size() - first));
    paths_.run(sizes_for(some), [&](lm::DecodeSession& session) {
      session_ = &session;
      work_on(some, results);
    });
  }
  return results;
}

/// Returns the sizes of a KV cache for all completions of these prompts.
lm::PagedCache::Sizes BeamSearch::sizes_for(std::span<const BeamPrompt> prompts) const {
  std::int64_t all = 0;
  std::int64_t most = 0;
  for (const BeamPrompt& of : prompts) {
    const std::int64_t tokens = std::ssize(of.prompt->ids) + config_.max_new_tokens;
    const std::int64_t pages = (tokens + config_.page_tokens - 1) / config_.page_tokens;
    all += pages * num_samples_;
    most = std::max(most, pages);
  }
  return {all, config_.page_tokens, most, config_.cache_type};
}

/// Prefills the prompts. Returns the beams of each prompt: generate.num_samples completions that
/// are still empty.
std::vector<BeamSearch::Beams> BeamSearch::begin(std::span<const BeamPrompt> prompts) {
  std::vector<Beams> trees;
  std::vector<std::int64_t> origins;
  for (const BeamPrompt& of : prompts) {
    origins.push_back(session_->add());
    session_->prefill(origins.back(), of.prompt->ids);
  }
  paths_.read_input();
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    trees.push_back({prompts[p]});
    for (std::int64_t place = 0; place < num_samples_; ++place)
      trees.back().all.push_back(
          {session_->fork(origins[p], prompts[p].sample + static_cast<std::uint64_t>(place))});
    session_->drop(origins[p]);
  }
  return trees;
}

void BeamSearch::work_on(std::span<const BeamPrompt> prompts,
                         std::vector<lm::PromptResult>& results) {
  std::vector<Beams> trees = begin(prompts);
  for (std::uint64_t round = 1;; ++round) {
    grow(growing_in(trees));
    const std::vector<Growing> growing = growing_in(trees);
    if (growing.empty()) break;
    score(growing);
    for (Beams& tree : trees)
      select(tree, round);
  }
  for (Beams& tree : trees) {
    results.emplace_back();
    for (Beam& beam : tree.all)
      results.back().completions.push_back(std::move(beam.completion));
  }
}

std::vector<BeamSearch::Growing> BeamSearch::growing_in(std::vector<Beams>& trees) {
  std::vector<Growing> growing;
  for (Beams& tree : trees)
    for (Beam& beam : tree.all)
      if (!beam.has_ended) growing.push_back({&beam, tree.prompt.prompt});
  return growing;
}

/// Samples the next step of each unfinished completion.
void BeamSearch::grow(const std::vector<Growing>& growing) {
  std::vector<std::int64_t> sequences;
  for (const Growing& of : growing)
    sequences.push_back(of.beam->sequence);
  paths_.draw(sequences, [&](std::size_t index, const lm::DrawnToken& token) {
    Beam& beam = *growing[index].beam;
    beam.completion.ids.push_back(token.id);
    beam.completion.log_probs.push_back(token.log_prob);
    const auto end =
        paths_.end_of(beam.completion, session_->length(beam.sequence), config_.max_new_tokens);
    if (!end) return !ends_step(beam.completion);
    beam.completion.reason = *end;
    beam.has_ended = true;
    session_->drop(beam.sequence);
    ++ended_;
    if (see_progress_) see_progress_(ended_);
    return false;
  });
}

/// Returns whether the last token of an unfinished completion ends a step, so that the next token
/// begins a new step.
bool BeamSearch::ends_step(const lm::Completion& completion) {
  const rows::StepRule& rule = keys_.steps;
  if (rule.step_tokens == 0) {
    const std::int64_t id = completion.ids.back();
    auto known = breaks_.find(id);
    if (known == breaks_.end()) {
      const auto token = static_cast<text::TokenId>(id);
      const std::string text = encoder_.tokenizer()->decode({&token, 1}, true);
      known = breaks_.emplace(id, text.find('\n') != std::string::npos).first;
    }
    if (!known->second) return false;
  }
  return rows::ends_step(completion.ids, rule, encoder_.tokenizer());
}

/// Scores the unfinished completions on the rank that has a scorer. All ranks get the scores.
void BeamSearch::score(const std::vector<Growing>& growing) {
  const std::vector<double> scores = paths_.sum_over_ranks(growing.size(), [&] {
    std::vector<double> mine;
    if (scorer_ == nullptr) return mine;
    std::vector<SearchedCompletion> searched;
    for (const Growing& of : growing)
      searched.push_back({of.prompt, of.prompt->ids, of.beam->completion.ids});
    for (const CompletionScore& score : scorer_->score(searched))
      mine.push_back(score.score);
    return mine;
  });
  for (std::size_t i = 0; i < growing.size(); ++i)
    growing[i].beam->score = scores[i];
}

/// Replaces the unfinished completions of a prompt by copies of those with the highest scores.
void BeamSearch::select(Beams& tree, std::uint64_t round) {
  std::vector<std::size_t> places;
  std::vector<double> scores;
  for (std::size_t place = 0; place < tree.all.size(); ++place) {
    if (tree.all[place].has_ended) continue;
    places.push_back(place);
    scores.push_back(tree.all[place].score);
  }
  const std::vector<std::size_t> continued = continued_of(scores, keys_.beam_width);
  std::vector<Beam> fresh;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Beam& origin = tree.all[places[continued[i]]];
    const std::uint64_t stream = tree.prompt.sample + places[i] + (round << kRoundBit);
    fresh.push_back({session_->fork(origin.sequence, stream), origin.completion});
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    session_->drop(tree.all[places[i]].sequence);
    tree.all[places[i]] = std::move(fresh[i]);
  }
}

}  // namespace mgpu::jobs
