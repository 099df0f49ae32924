// Reads GSM8K (Cobbe et al. 2021) from a folder of the user.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/input/row_file.hpp>

namespace mgpu::datasets {
namespace {

constexpr const char* kPathKey = "data.gsm8k.path";
constexpr const char* kValidationKey = "data.gsm8k.validation_rows";
constexpr const char* kRepair = "repair or remove these rows";

struct WordProblem {
  std::string question{};
  std::string solution{};  // the text before the last `####`
  std::string answer{};    // stated_answer() of the column `answer`, usually the text after `####`
};

using WordProblems = std::vector<WordProblem>;

/// Reads a row, and splits its `answer` at the last `####`. Returns nullopt in these cases:
///
/// - `question` or `answer` is missing, or is not a text.
/// - `answer` has no `####`, or only blanks follow the last `####` on its line.
std::optional<WordProblem> problem_in(const formats::JsonValue& row) {
  const formats::JsonValue* question = row.find("question");
  const formats::JsonValue* answer = row.find("answer");
  if (question == nullptr || question->text() == nullptr || answer == nullptr ||
      answer->text() == nullptr)
    return std::nullopt;
  const std::string& text = *answer->text();
  const std::size_t mark = text.rfind("####");
  if (mark == std::string::npos) return std::nullopt;
  const std::size_t first = text.find_first_not_of(" \t", mark + 4);
  if (first == std::string::npos || text[first] == '\r' || text[first] == '\n') return std::nullopt;
  WordProblem problem{*question->text(), text.substr(0, mark), stated_answer(text)};
  while (problem.solution.ends_with('\n') || problem.solution.ends_with('\r'))
    problem.solution.pop_back();
  return problem;
}

/// Reads a file of the folder. `seen` contains the questions of the files that were read before.
/// Adds the questions of this file to `seen`. Errors: those of input::open_rows(); Failure E531 if
/// a row cannot be used, or has a question of
///         an earlier file.
WordProblems read_problems(const std::filesystem::path& path, std::set<std::string>& seen) {
  input::RowOptions options;
  options.path = path;
  const input::RowFile file = input::open_rows(options);
  formats::LineProblems problems(path);
  WordProblems read;
  for (const input::Row& row : file.read(0, file.rows())) {
    std::optional<WordProblem> problem = problem_in(row.object);
    if (!problem) {
      problems.add(row.line,
                   "it has no texts `question` and `answer` with a line #### in the answer");
    } else if (seen.contains(problem->question)) {
      problems.add(row.line,
                   "its question is also in the other file, so two splits would share it");
    } else {
      read.push_back(std::move(*problem));
    }
  }
  problems.throw_if_any(kRepair);
  for (const WordProblem& problem : read)
    seen.insert(problem.question);
  return read;
}

/// Returns the path of the first file that exists: SPLIT.jsonl, SPLIT.parquet, or the Hub's file
/// name SPLIT-00000-of-00001.parquet. If none exists, returns the path of SPLIT.jsonl.
std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& split) {
  for (const char* ending : {".jsonl", ".parquet", "-00000-of-00001.parquet"})
    if (std::filesystem::exists(folder / (split + ending))) return folder / (split + ending);
  return folder / (split + ".jsonl");
}

class Gsm8k final : public Dataset {
public:
  Gsm8k(WordProblems train, WordProblems test, std::int64_t validation)
      : train_(std::move(train)), test_(std::move(test)), validation_(validation) {}

  std::int64_t rows(Split split) const override {
    if (split == Split::test) return std::ssize(test_);
    return split == Split::validation ? validation_ : std::ssize(train_) - validation_;
  }

  std::string row(Split split, std::int64_t index) const override {
    const WordProblem& problem = problem_of(split, index);
    return formats::to_json_line(formats::JsonValue::Members{
        {"prompt", "Problem:\n" + problem.question +
                       "\n\nWrite the final answer in \\boxed{}.\n\nSolution:\n"},
        {"completion", problem.solution + "\nThe answer is \\boxed{" + problem.answer + "}."},
        {"answer", problem.answer}});
  }

  bool has_check() const override { return true; }

  double score(Split split, std::int64_t index, const Answer& answer) const override {
    return is_right(answer.text, problem_of(split, index).answer) ? 1.0 : 0.0;
  }

private:
  const WordProblem& problem_of(Split split, std::int64_t index) const {
    if (split == Split::test) return test_.at(static_cast<std::size_t>(index));
    const std::int64_t first = split == Split::validation ? std::ssize(train_) - validation_ : 0;
    return train_.at(static_cast<std::size_t>(first + index));
  }

  WordProblems train_;
  WordProblems test_;
  std::int64_t validation_;
};

void add_gsm8k_keys(KeyTable& table) {
  table.add(
      {.name = kPathKey,
       .type = KeyType::path,
       .default_value = "null",
       .summary =
           "folder with train.jsonl and test.jsonl of GSM8K, or the Parquet files of the Hub, "
           "for data set gsm8k",
       .choices = {"null"}});
  table.add({.name = kValidationKey,
             .type = KeyType::integer,
             .default_value = "500",
             .summary = "the last rows of the training file of GSM8K, which are split validation",
             .unit = "rows",
             .min = 0,
             .max = 1e9});
}

std::unique_ptr<Dataset> make_gsm8k(const Config& config) {
  if (config.is(kPathKey, "null"))
    throw config.problem("E124", kPathKey, "data set gsm8k needs the folder of its files",
                         std::string(kPathKey) + "=FOLDER");
  const std::filesystem::path folder = config.text(kPathKey);
  std::set<std::string> seen;
  const std::filesystem::path path = file_of(folder, "train");
  WordProblems train = read_problems(path, seen);
  WordProblems test = read_problems(file_of(folder, "test"), seen);
  const std::int64_t validation = config.integer(kValidationKey);
  if (validation >= std::ssize(train))
    throw config.problem("E124", kValidationKey,
                         path.filename().string() + " has " + std::to_string(train.size()) +
                             " rows, and split train would be empty",
                         std::string(kValidationKey) + "=" + std::to_string(train.size() / 10));
  return std::make_unique<Gsm8k>(std::move(train), std::move(test), validation);
}

}  // namespace

DatasetEntry gsm8k_dataset() {
  return {.name = "gsm8k",
          .summary = "school mathematics from the files in data.gsm8k.path",
          .add_keys = add_gsm8k_keys,
          .make = make_gsm8k};
}

}  // namespace mgpu::datasets
