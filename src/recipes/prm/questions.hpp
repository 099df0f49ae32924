#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/training/lm_windows.hpp>

// Selects, numbers and pairs the examples of recipe prm. An example is a solution, and a question
// may have several solutions.
namespace mgpu::recipes {

/// Key in LmExamples::texts. The text under this key identifies the question of a solution. It is
/// the index of the question in its data set if the row comes from a result file of job collect.
/// Otherwise it is the prompt.
inline constexpr const char* kQuestionTexts = "question";

/// Tells keep_questions() which questions to keep: those that are held out, or all others.
struct HeldOutPart {
  std::uint64_t seed = 0;
  double share = 0.0;  // share of the questions that are held out
  bool keeps_held_out = false;
};

/// Returns whether the question with this text is held out. The result depends only on the seed,
/// the share and the text.
bool holds_out(const HeldOutPart& part, const std::string& question);

/// Permutes labels[places[0]], labels[places[1]], ... at random. The permutation depends on the
/// seed, on `question` (the index of the question), and on the number of places.
void exchange_labels(std::uint64_t seed, std::uint64_t question,
                     std::span<const std::size_t> places, std::vector<double>& labels);

/// Removes the examples of questions that `part` does not keep. Whether a question is held out
/// depends only on the seed, the share, and the text of the question in kQuestionTexts.
void keep_questions(const HeldOutPart& part, lm::LmExamples& examples);

/// Replaces the texts kQuestionTexts by sequence column kQuestionColumn, which numbers the
/// questions in the order of their first solutions. Also adds kMostStepsColumn.
void number_questions(lm::LmExamples& examples);

/// Permutes the labels of the steps of each question at random.
void shuffle_labels(std::uint64_t seed, lm::LmExamples& examples);

/// Forms groups of two solutions of the same question. The first group of a question has the
/// solutions with the highest and the lowest mean label. The next group has the solutions with the
/// second highest and the second lowest mean label, and so on. The middle solution of an odd number
/// is left out, and so are groups whose steps all have the same label. The result may be empty.
void join_solutions(lm::LmExamples& examples);

}  // namespace mgpu::recipes
