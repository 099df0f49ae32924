// Generates chains of sums and differences, such as 3 + 15 - 7 =.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <mgpu/base/random_streams.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/exact_number.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/formats/json_value.hpp>

#include "row_space.hpp"

namespace mgpu::datasets {
namespace {

constexpr const char* kArithmetic = "arithmetic";
constexpr Purpose kCopies{44};  // draws the number of copies, and the characters between copies

/// The settings of data set arithmetic. A chain is a sequence of additions and subtractions.
struct ChainSettings {
  std::int64_t terms = 2;
  std::int64_t largest = 20;
  std::int64_t modulus = 0;  // the answer is the sum modulo this number; 0: the sum itself
  bool is_worked = false;    // true: completions have a line for each partial sum
  std::int64_t copies = 1;   // largest number of copies of the chain in a prompt
  std::uint64_t seed = 0;    // seed of the random stream kCopies
};

struct Chain {
  std::string prompt{};
  std::string lines{};  // one for each partial sum: "3 + 15 = 18"
  std::int64_t sum = 0;

  /// Adds a line that computes `value` from the sum so far. Then sets the sum to `value`.
  void step(const std::string& operation, std::int64_t value) {
    lines += std::to_string(sum) + operation + " = " + std::to_string(value) + "\n";
    sum = value;
  }
};

std::vector<std::uint64_t> choices_of_chain(const ChainSettings& settings) {
  std::vector<std::uint64_t> choices;
  for (std::int64_t i = 0; i < settings.terms; ++i) {
    if (i > 0) choices.push_back(2);
    choices.push_back(static_cast<std::uint64_t>(settings.largest) + 1);
  }
  return choices;
}

Chain make_chain(const ChainSettings& settings, RowDraws draws) {
  Chain chain;
  for (std::int64_t i = 0; i < settings.terms; ++i) {
    const bool is_minus = i > 0 && draws.below(2) == 1;
    const auto term =
        static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(settings.largest) + 1));
    const std::string operation = (is_minus ? " - " : " + ") + std::to_string(term);
    chain.prompt += i > 0 ? operation : std::to_string(term);
    if (i > 0)
      chain.step(operation, is_minus ? chain.sum - term : chain.sum + term);
    else
      chain.sum = term;
  }
  if (settings.modulus > 0) {
    const std::string modulus = " mod " + std::to_string(settings.modulus);
    chain.prompt = "(" + chain.prompt + ")" + modulus;
    chain.step(modulus, (chain.sum % settings.modulus + settings.modulus) % settings.modulus);
  }
  chain.prompt += " =";
  return chain;
}

/// Returns a prompt with 1 to settings.copies copies of `chain`. Up to 8 random characters and a
/// line break follow each copy but the last. Such prompts prepare models for job collect with
/// collect.steps=latent. There, the input has one copy of the question for each agent, and hidden
/// states between the copies.
std::string with_copies(const ChainSettings& settings, const std::string& chain,
                        std::uint64_t number) {
  constexpr std::string_view kCharacters = "0123456789 +-=#\n";
  constexpr std::uint32_t kMostBetween = 8;
  const RandomStream draws(settings.seed, kCopies, 0, number);
  std::uint64_t draw = 0;
  std::string prompt;
  for (std::uint32_t left = draws.below(static_cast<std::uint32_t>(settings.copies), draw++);
       left > 0; --left) {
    prompt += chain;
    for (std::uint32_t count = draws.below(kMostBetween + 1, draw++); count > 0; --count)
      prompt += kCharacters[draws.below(kCharacters.size(), draw++)];
    prompt += "\n";
  }
  return prompt + chain;
}

class Arithmetic final : public Dataset {
public:
  Arithmetic(const ChainSettings& settings, const RowSpace& space, SplitSizes sizes)
      : settings_(settings), space_(space), sizes_(sizes) {}

  std::int64_t rows(Split split) const override { return sizes_.of(split); }

  std::string row(Split split, std::int64_t index) const override {
    const Chain chain = chain_of(split, index);
    const std::string sum = std::to_string(chain.sum);
    const std::string completion =
        settings_.is_worked ? " " + chain.lines + "#### " + sum : " " + sum;
    return formats::to_json_line(formats::JsonValue::Members{
        {"prompt", with_copies(settings_, chain.prompt, sizes_.number(split, index))},
        {"completion", completion},
        {"answer", sum}});
  }

  bool has_check() const override { return true; }

  /// Returns 1 if the given answer is the sum, otherwise 0. The given answer is the text in
  /// \boxed{...} or after `####`. Without such a text, it is the number at the start of the answer.
  double score(Split split, std::int64_t index, const Answer& answer) const override {
    const std::optional<std::string> given = given_answer(answer);
    return given && same_answer(*given, std::to_string(chain_of(split, index).sum)) ? 1.0 : 0.0;
  }

  std::optional<std::string> given_answer(const Answer& answer) const override {
    std::string stated = stated_answer(answer.text);
    if (stated != answer.text) return stated;
    const std::string plain = plain_answer(answer.text);
    const std::optional<NumberAtStart> number = read_number(plain);
    if (!number) return std::nullopt;
    return plain.substr(0, number->length);
  }

private:
  Chain chain_of(Split split, std::int64_t index) const {
    return make_chain(settings_, space_.row(sizes_.number(split, index)));
  }

  ChainSettings settings_;
  RowSpace space_;
  SplitSizes sizes_;
};

void add_arithmetic_keys(KeyTable& table) {
  table.add({.name = "data.arithmetic.terms",
             .type = KeyType::integer,
             .default_value = "2",
             .summary = "numbers in a chain of data set arithmetic; more are harder",
             .min = 2,
             .max = 100});
  table.add({.name = "data.arithmetic.largest",
             .type = KeyType::integer,
             .default_value = "99",
             .summary = "the largest number in a chain; larger is harder",
             .min = 1,
             .max = 1e6});
  table.add({.name = "data.arithmetic.modulus",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "the sum is taken modulo this number; 0: the sum itself",
             .min = 0,
             .max = 1e6});
  table.add({.name = "data.arithmetic.worked",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "completions have a line for each partial sum, and then #### and the sum"});
  table.add({.name = "data.arithmetic.copies",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "a prompt has its chain up to this many times, with random characters "
                        "between the copies, as agents with latent steps read it",
             .min = 1,
             .max = 64});
  add_rows_key(table, kArithmetic);
}

std::unique_ptr<Dataset> make_arithmetic(const Config& config) {
  const ChainSettings settings{
      config.integer("data.arithmetic.terms"),   config.integer("data.arithmetic.largest"),
      config.integer("data.arithmetic.modulus"), config.flag("data.arithmetic.worked"),
      config.integer("data.arithmetic.copies"),  read_seed(config)};
  const RowSpace space(choices_of_chain(settings), read_seed(config));
  const SplitSizes sizes =
      split_sizes(config, kArithmetic, config.integers("data.arithmetic.rows"), space.size());
  return std::make_unique<Arithmetic>(settings, space, sizes);
}

}  // namespace

DatasetEntry arithmetic_dataset() {
  return {.name = kArithmetic,
          .summary = "chains of sums and differences",
          .add_keys = add_arithmetic_keys,
          .make = make_arithmetic};
}

}  // namespace mgpu::datasets
