#include "stored_targets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/half_float.hpp>
#include <mgpu/formats/bit_pack.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

namespace mgpu::recipes {
namespace {

/// The lower bound of the tail for distill.loss=reverse_kl, which divides by the tail. The tail is
/// the total probability of the tokens that are not among the k stored tokens of a position. The
/// bound is 1 minus the largest float32 below 1.
constexpr float kLeastTail = 0x1p-24F;

[[noreturn]] void fail_file(const std::filesystem::path& path, const std::string& what) {
  throw Failure({"E605",
                 ExitCode::data,
                 "these are no targets to learn from: " + what,
                 {"  --> " + path.string()},
                 "distill.targets=PATH of a finished run of job teacher"});
}

[[noreturn]] void fail_key(const std::string& what, const std::string& help) {
  throw Failure({"E124", ExitCode::config, what, {}, help});
}

TeacherFacts facts_of(const std::filesystem::path& path) {
  const std::map<std::string, double> numbers = store::read_numbers(path, "teacher");
  const auto number = [&](const char* name) {
    const auto found = numbers.find(name);
    if (found == numbers.end()) fail_file(path, std::string("its group /teacher has no ") + name);
    return found->second;
  };
  const auto whole = [&](const char* name) { return static_cast<std::int64_t>(number(name)); };
  const TeacherFacts facts{whole("vocab_size"), whole("top_k"), whole("num_draws"),
                           whole("id_bits"), number("temperature")};
  const auto vocab = static_cast<std::uint64_t>(std::max<std::int64_t>(facts.vocab, 1));
  if (facts.id_bits != formats::bits_for(vocab))
    fail_file(path, "its id_bits are " + std::to_string(facts.id_bits) + ", and a vocabulary of " +
                        std::to_string(facts.vocab) + " needs " +
                        std::to_string(formats::bits_for(vocab)));
  return facts;
}

/// Adds a constant to `log_probs`, the log-probabilities of the stored tokens of one position, so
/// that the probabilities sum to `mass`. The constant corrects the rounding to float16. It also
/// corrects the sum if distill.temperature is not the temperature of the teacher's run.
void scale_to(double mass, std::span<float> log_probs) {
  double sum = 0.0;
  for (const float log_prob : log_probs)
    sum += std::exp(static_cast<double>(log_prob));
  const double shift = std::log(mass) - std::log(sum);
  for (float& log_prob : log_probs)
    log_prob = static_cast<float>(log_prob + shift);
}

double mass_of(std::span<const float> log_probs) {
  return std::accumulate(log_probs.begin(), log_probs.end(), 0.0, [](double sum, float log_prob) {
    return sum + std::exp(static_cast<double>(log_prob));
  });
}

void close_list(float tail, lm::TeacherTargets& lists) {
  lists.ends.push_back(std::ssize(lists.ids));
  lists.tail_mass.push_back(tail);
}

bool is_wanted(std::int64_t target) {
  return target != kernels::kIgnoreTarget;
}

}  // namespace

std::vector<std::int64_t> numbers_of(const std::vector<StoredPlace>& places) {
  std::vector<std::int64_t> numbers;
  for (const StoredPlace& place : places)
    numbers.insert(numbers.end(), {place.row, place.first});
  return numbers;
}

std::vector<StoredPlace> places_of(const std::vector<std::int64_t>& numbers) {
  std::vector<StoredPlace> places;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    places.push_back({numbers[i], numbers[i + 1]});
  return places;
}

/// Consecutive tokens of a row of table `samples`.
struct StoredTargets::Slice {
  std::int64_t row;
  std::int64_t first;  // index of the first token in its row
  std::int64_t item;   // index of the first token among the tokens of all rows
  std::int64_t count;
};

store::ListColumn StoredTargets::open(const char* name) const {
  return {settings_.targets, "samples", name};
}

StoredTargets::StoredTargets(const DistillSettings& settings, bool may_be_part)
    : settings_(settings),
      facts_(facts_of(settings.targets)),
      tokens_(open("token_ids")),
      learned_(open("is_learned")) {
  const auto missing = store::read_numbers(settings_.targets, "/");
  const auto rows = missing.find("missing_rows");
  if (!may_be_part && rows != missing.end() && rows->second > 0.0)
    fail_file(settings_.targets, "the teacher's run is not finished");
  check_facts();
  const std::filesystem::path& path = settings_.targets;
  std::vector<const store::ListColumn*> of_tokens = {&learned_};
  if (facts_.top_k > 0) {
    is_packed_ = store::has_lists(path, "samples", "topk_packed");
    of_tokens.push_back(&log_probs_.emplace(open("topk_logprobs")));
    of_tokens.push_back(&ids_.emplace(open(is_packed_ ? "topk_packed" : "topk_ids")));
    if (!is_packed_) of_tokens.push_back(&tails_.emplace(open("tail_mass")));
  } else {
    is_packed_ = store::has_lists(path, "samples", "drawn_packed");
    of_tokens.push_back(&num_drawn_.emplace(open("num_drawn")));
    ids_.emplace(open(is_packed_ ? "drawn_packed" : "drawn_ids"));
    if (!is_packed_) counts_.emplace(open("drawn_counts"));
  }
  for (const store::ListColumn* column : of_tokens)
    if (!column->has_lengths_of(tokens_))
      fail_file(path, "its columns have other numbers of tokens");
  if (log_probs_ && log_probs_->spec().width != facts_.top_k)
    fail_file(path, "its lists are not of " + std::to_string(facts_.top_k) + " tokens");
}

void StoredTargets::check_facts() const {
  const lm::Distillation& how = settings_.how;
  const bool is_forward = how.divergence == lm::Divergence::forward_kl;
  if (facts_.top_k == 0 && !is_forward)
    fail_key("targets that were drawn are unbiased for distill.loss=forward_kl only",
             "distill.loss=forward_kl");
  if (facts_.top_k == 0 && !settings_.has_bucket)
    fail_key("`distill.tail` means nothing with targets that were drawn", "remove distill.tail");
  const bool may_change = facts_.top_k > 0 && !settings_.has_bucket;
  if (!may_change && facts_.temperature != how.temperature)
    fail_key("the targets were made with another temperature than `distill.temperature`, and " +
                 std::string(facts_.top_k > 0 ? "what a tail is at another one" : "other draws") +
                 " cannot be known",
             "targets of job teacher with the same teacher.temperature" +
                 std::string(facts_.top_k > 0 ? ", or distill.tail=renormalize" : ""));
}

/// Refuses token ids that the teacher's vocabulary does not have. A file of another program may
/// contain such ids, with valid checksums.
void StoredTargets::check_ids(std::int64_t row, std::span<const std::int64_t> ids) const {
  const auto bad =
      std::ranges::find_if(ids, [&](std::int64_t id) { return id < 0 || id >= facts_.vocab; });
  if (bad == ids.end()) return;
  fail_file(settings_.targets, "row " + std::to_string(row) + " has token " + std::to_string(*bad) +
                                   " in a vocabulary of " + std::to_string(facts_.vocab));
}

std::vector<std::int64_t> StoredTargets::ids_of(std::int64_t row) const {
  std::vector<std::int64_t> ids;
  if (facts_.top_k > 0) {
    const std::int64_t count = ids_->items_of(row);
    const store::ReadColumn stored = ids_->read_items(ids_->begin_of(row), count);
    for (std::int64_t t = 0; t < count; ++t)
      add_best_ids(stored, static_cast<std::size_t>(t), ids);
    return ids;
  }
  const store::ReadLists numbers = num_drawn_->read(row, 1);
  const auto of_tokens = numbers.row<std::uint8_t>(0);
  const auto count = std::accumulate(of_tokens.begin(), of_tokens.end(), std::int64_t{0});
  for (const Drawn& drawn : read_draws(row, 0, count))
    ids.push_back(drawn.id);
  return ids;
}

void StoredTargets::require_ids_below(std::int64_t vocab) const {
  if (vocab >= facts_.vocab) return;
  for (std::int64_t row = 0; row < tokens_.rows(); ++row) {
    mark_progress();
    std::vector<std::int64_t> ids = ids_of(row);
    const store::ReadLists tokens = tokens_.read(row, 1);
    ids.insert(ids.end(), tokens.row<std::int32_t>(0).begin(), tokens.row<std::int32_t>(0).end());
    const auto highest = std::ranges::max_element(ids);
    if (highest == ids.end() || *highest < vocab) continue;
    fail_file(settings_.targets, "row " + std::to_string(row) + " has token " +
                                     std::to_string(*highest) +
                                     ", and the student's vocabulary has " + std::to_string(vocab));
  }
}

/// Appends the ids of the k stored tokens of one position to `into`. `ids` has the stored ids of
/// several positions in the format of the file, and `item` is the index of the position in `ids`.
void StoredTargets::add_best_ids(const store::ReadColumn& ids, std::size_t item,
                                 std::vector<std::int64_t>& into) const {
  const auto k = static_cast<std::size_t>(facts_.top_k);
  const auto width = static_cast<std::size_t>(ids.spec.width);
  if (is_packed_) {
    const auto unpacked =
        formats::unpack_bits(ids.values<std::uint8_t>().subspan(item * width, width),
                             static_cast<int>(facts_.id_bits), k);
    into.insert(into.end(), unpacked.begin(), unpacked.end());
  } else {
    const auto here = ids.values<std::uint32_t>().subspan(item * k, k);
    into.insert(into.end(), here.begin(), here.end());
  }
}

StoredExamples StoredTargets::read_examples(std::int64_t seq_len) const {
  StoredExamples stored;
  lm::LmExamples& examples = stored.examples;
  for (std::int64_t row = 0; row < tokens_.rows(); ++row) {
    mark_progress();
    const store::ReadLists token_lists = tokens_.read(row, 1);
    const store::ReadLists learned_lists = learned_.read(row, 1);
    const auto ids = token_lists.row<std::int32_t>(0);
    const auto learned = learned_lists.row<std::uint8_t>(0);
    check_ids(row, std::vector<std::int64_t>(ids.begin(), ids.end()));
    const std::int64_t length = std::ssize(ids);
    if (length < 2 || std::ranges::find(learned.subspan(1), 1) == learned.end()) {
      ++stored.rows_without;
      continue;
    }
    if (length > seq_len && std::ranges::find(learned, 0) != learned.end()) {
      throw Failure({"E531",
                     ExitCode::data,
                     "row " + std::to_string(row) + " has " + std::to_string(length) +
                         " tokens, more than train.seq_len (" + std::to_string(seq_len) +
                         "), and a prompt, which is not cut",
                     {"  --> " + settings_.targets.string()},
                     "a larger train.seq_len, or targets made with a smaller data.max_length"});
    }
    for (std::int64_t begin = 0; begin == 0 || begin + 1 < length; begin += seq_len - 1) {
      const std::int64_t end = std::min(length, begin + seq_len);
      examples.ids.insert(examples.ids.end(), ids.begin() + begin, ids.begin() + end);
      examples.is_learned.insert(examples.is_learned.end(), learned.begin() + begin,
                                 learned.begin() + end);
      examples.ends.push_back(std::ssize(examples.ids));
      stored.places.push_back({row, begin});
    }
  }
  if (examples.size() == 0) fail_file(settings_.targets, "nothing in them is learned");
  return stored;
}

std::uint32_t StoredTargets::check_bytes() const {
  tokens_.check_bytes();
  learned_.check_bytes();
  std::uint32_t crc = 0;
  for (const auto* column : {&log_probs_, &tails_, &num_drawn_, &counts_, &ids_}) {
    if (!*column) continue;
    const std::uint32_t of_column = (*column)->check_bytes();
    crc = crc32c(std::as_bytes(std::span(&of_column, 1)), crc);
  }
  return crc;
}

void StoredTargets::append(std::size_t example, std::span<const std::int64_t> targets,
                           lm::TeacherTargets& lists) {
  const StoredPlace place = places_.at(example);
  const Slice slice{place.row, place.first, tokens_.begin_of(place.row) + place.first,
                    std::ssize(targets)};
  const std::size_t before = lists.ids.size();
  if (facts_.top_k > 0)
    append_best(slice, targets, lists);
  else
    append_draws(slice, targets, lists);
  check_ids(place.row, std::span(lists.ids).subspan(before));
}

void StoredTargets::append_best(const Slice& slice, std::span<const std::int64_t> targets,
                                lm::TeacherTargets& lists) const {
  const auto k = static_cast<std::size_t>(facts_.top_k);
  const store::ReadColumn log_probs = log_probs_->read_items(slice.item, slice.count);
  const store::ReadColumn ids = ids_->read_items(slice.item, slice.count);
  std::optional<store::ReadColumn> tails;
  if (tails_) tails = tails_->read_items(slice.item, slice.count);
  const double exponent = facts_.temperature / settings_.how.temperature;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    if (!is_wanted(targets[t])) {
      close_list(0.0F, lists);
      continue;
    }
    for (const Half value : log_probs.values<Half>().subspan(t * k, k))
      lists.log_probs.push_back(static_cast<float>(exponent * value.value()));
    add_best_ids(ids, t, lists.ids);
    const std::span<float> list = std::span(lists.log_probs).last(k);
    float tail = 0.0F;
    if (settings_.has_bucket && facts_.top_k < facts_.vocab)
      tail = tails ? tails->values<float>()[t]
                   : static_cast<float>(std::max(0.0, 1.0 - mass_of(list)));
    if (settings_.how.divergence == lm::Divergence::reverse_kl && facts_.top_k < facts_.vocab)
      tail = std::max(tail, kLeastTail);
    scale_to(1.0 - static_cast<double>(tail), list);
    close_list(tail, lists);
  }
}

void StoredTargets::append_draws(const Slice& slice, std::span<const std::int64_t> targets,
                                 lm::TeacherTargets& lists) const {
  const std::int64_t begin = tokens_.begin_of(slice.row);
  const store::ReadColumn num_drawn = num_drawn_->read_items(begin, slice.first + slice.count);
  const auto numbers = num_drawn.values<std::uint8_t>();
  const auto here = numbers.subspan(static_cast<std::size_t>(slice.first));
  const auto skipped = std::accumulate(numbers.begin(), here.begin(), std::int64_t{0});
  const auto count = std::accumulate(here.begin(), here.end(), std::int64_t{0});
  const std::vector<Drawn> drawn = read_draws(slice.row, skipped, count);
  std::size_t next = 0;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    std::int64_t total = 0;
    for (std::size_t end = next + here[t]; next < end; ++next) {
      total += drawn[next].count;
      if (!is_wanted(targets[t])) continue;
      lists.ids.push_back(drawn[next].id);
      lists.log_probs.push_back(static_cast<float>(std::log(
          static_cast<double>(drawn[next].count) / static_cast<double>(facts_.num_draws))));
    }
    if (total != facts_.num_draws)
      fail_file(settings_.targets,
                "a token does not have " + std::to_string(facts_.num_draws) + " draws");
    close_list(0.0F, lists);
  }
}

std::vector<StoredTargets::Drawn> StoredTargets::read_draws(std::int64_t row, std::int64_t first,
                                                            std::int64_t count) const {
  std::vector<Drawn> drawn;
  if (is_packed_) {
    const store::ReadLists bytes = ids_->read(row, 1);
    const int count_bits = formats::bits_for(static_cast<std::uint64_t>(facts_.num_draws) + 1);
    const auto words = formats::unpack_bits(bytes.row<std::uint8_t>(0),
                                            static_cast<int>(facts_.id_bits) + count_bits,
                                            static_cast<std::size_t>(first + count));
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::uint32_t word = words[static_cast<std::size_t>(i)];
      drawn.push_back({word & ((1U << facts_.id_bits) - 1U), word >> facts_.id_bits});
    }
    return drawn;
  }
  const std::int64_t item = ids_->begin_of(row) + first;
  const store::ReadColumn ids = ids_->read_items(item, count);
  const store::ReadColumn counts = counts_->read_items(item, count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    drawn.push_back({ids.values<std::uint32_t>()[i], counts.values<std::uint8_t>()[i]});
  return drawn;
}

lm::Distillation stored_distillation(const DistillSettings& settings, const TeacherFacts& facts) {
  lm::Distillation how = settings.how;
  if (facts.top_k == 0) how.divergence = lm::Divergence::cross_entropy;
  return how;
}

}  // namespace mgpu::recipes
