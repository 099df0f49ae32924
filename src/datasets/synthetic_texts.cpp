#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <mgpu/base/random_streams.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/datasets/synthetic_texts.hpp>

namespace mgpu::datasets {
namespace {

constexpr std::array<std::string_view, 10> kNames = {"Mia",  "Tom", "Ada", "Ben", "Zoe",
                                                     "Finn", "Lea", "Max", "Eva", "Jon"};
constexpr std::array<std::string_view, 8> kAnimals = {"cat",  "dog",  "fox", "bear",
                                                      "bird", "frog", "hen", "mouse"};
constexpr std::array<std::string_view, 8> kMoods = {"small", "brave", "happy", "sleepy",
                                                    "young", "old",   "quick", "shy"};
constexpr std::array<std::string_view, 6> kDeeds = {"found", "lost", "wanted",
                                                    "saw",   "hid",  "carried"};
constexpr std::array<std::string_view, 8> kThings = {"lamp", "ball", "key",  "book",
                                                     "hat",  "cake", "boat", "drum"};
constexpr std::array<std::string_view, 6> kColors = {"red",   "blue",  "green",
                                                     "white", "black", "golden"};
constexpr std::array<std::string_view, 6> kPlaces = {"in the garden", "near the river",
                                                     "on the hill",   "under the tree",
                                                     "at the market", "behind the house"};

/// Draws the random numbers from which one row of the data set is made.
class Dice {
public:
  /// Purpose::source is also the purpose of random streams that generate learning histories of
  /// reinforcement learning (src/ad). Histories and texts may use equal random numbers, because no
  /// run has both.
  Dice(std::uint64_t seed, std::uint64_t line) : stream_(seed, Purpose::source, 0, line) {}

  std::uint32_t below(std::uint32_t n) { return stream_.below(n, next_++); }

  template <std::size_t kSize>
  std::string one_of(const std::array<std::string_view, kSize>& words) {
    return std::string(words[below(kSize)]);
  }

private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

std::string exchange(const std::string& prompt, const std::string& completion) {
  return R"({"prompt": ")" + prompt + R"(", "completion": " )" + completion + "\"}";
}

std::string sum(Dice& dice) {
  const std::uint32_t a = dice.below(21);
  const std::uint32_t b = dice.below(21);
  return exchange(std::to_string(a) + " + " + std::to_string(b) + " =", std::to_string(a + b));
}

std::string counting(Dice& dice) {
  const std::uint32_t first = dice.below(30);
  const std::uint32_t last = first + 1 + dice.below(6);
  std::string numbers = std::to_string(first);
  for (std::uint32_t n = first + 1; n <= last; ++n)
    numbers += " " + std::to_string(n);
  return exchange("Count from " + std::to_string(first) + " to " + std::to_string(last) + ":",
                  numbers);
}

std::string backwards(Dice& dice) {
  const std::string word = dice.below(2) == 0 ? dice.one_of(kThings) : dice.one_of(kAnimals);
  return exchange("Write " + word + " backwards:", {word.rbegin(), word.rend()});
}

std::string story(Dice& dice) {
  const std::string name = dice.one_of(kNames);
  const std::string animal = dice.one_of(kAnimals);
  const std::string mood = dice.one_of(kMoods);
  const std::string deed = dice.one_of(kDeeds);
  const std::string color = dice.one_of(kColors);
  const std::string thing = dice.one_of(kThings);
  const std::string place = dice.one_of(kPlaces);
  std::string text = name + " was a " + mood + " " + animal + ". One day " + name + " " + deed +
                     " a " + color + " " + thing + " " + place + ".";
  switch (dice.below(3)) {
    case 0:
      text += " What did " + name + " have to do with? A " + color + " " + thing + ".";
      break;
    case 1:
      text += " Where was it? It was " + place + ".";
      break;
    default:
      text += " Who was " + name + "? A " + mood + " " + animal + ".";
      break;
  }
  return R"({"text": ")" + text + "\"}";
}

class SyntheticTexts final : public Dataset {
public:
  SyntheticTexts(std::int64_t count, std::uint64_t seed) : count_(count), seed_(seed) {}

  std::int64_t rows(Split split) const override { return split == Split::train ? count_ : 0; }
  std::string row(Split /*split*/, std::int64_t index) const override {
    return synthetic_text(index, seed_);
  }

private:
  std::int64_t count_;
  std::uint64_t seed_;
};

constexpr const char* kCountKey = "data.synthetic_texts";

void add_keys(KeyTable& table) {
  table.add({.name = kCountKey,
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "number of rows of data set synthetic_texts; more than 0 chooses it",
             .unit = "texts",
             .min = 0,
             .max = 1e7,
             .aliases = {"data.little_texts"}});
}

std::unique_ptr<Dataset> make(const Config& config) {
  if (config.integer(kCountKey) == 0)
    throw config.problem("E124", kCountKey, "data set synthetic_texts has no rows",
                         std::string(kCountKey) + "=4000");
  return std::make_unique<SyntheticTexts>(config.integer(kCountKey), read_seed(config));
}

}  // namespace

std::string synthetic_text(std::int64_t index, std::uint64_t seed) {
  Dice dice(seed, static_cast<std::uint64_t>(index));
  switch (dice.below(8)) {
    case 0:
    case 1:
    case 2:
      return sum(dice);
    case 3:
      return counting(dice);
    case 4:
      return backwards(dice);
    default:
      return story(dice);
  }
}

DatasetEntry synthetic_texts_dataset() {
  return {.name = "synthetic_texts",
          .summary = "sums, counting, reversed words and short stories",
          .add_keys = add_keys,
          .chosen_by = kCountKey,
          .has_prompts = false,
          .make = make};
}

}  // namespace mgpu::datasets
