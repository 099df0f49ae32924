#include "page_texts.hpp"

#include <cstddef>
#include <optional>

#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::recipes {
namespace {

/// Returns the examples whose prompts the model completes for the page: the held-out examples, or
/// the training examples if none are held out.
const lm::LmExamples& sampled_examples(const LmTask& task) {
  const lm::LmExamples& held_out = task.held_out().examples();
  return held_out.size() > 0 ? held_out : task.windows().examples();
}

/// Returns texts that rank 0 generates for the page with the current weights. Other ranks get no
/// texts. Rank 0 gets no texts if the folder has no tokenizer, if the model has no vocabulary head,
/// or if sample_texts() returns no texts.
/// Ranks:  collective over the world.
std::vector<SampleText> texts_of(const cluster::Group& world, const LmTask& task,
                                 const LmTrainSettings& settings) {
  std::vector<SampleText> texts;
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    const std::optional<lm::ModelHead> head = task.method().head(task.model().config());
    if (head && head->replaces_vocabulary) return;
    const std::optional<text::TextFiles> files =
        rows::read_tokenizer_files(settings.folder, settings.chat);
    if (!files) return;
    texts = sample_texts(task.model(), sampled_examples(task),
                         text::parse_text_folder(*files, settings.folder));
  });
  return texts;
}

}  // namespace

std::vector<SampleText> texts_before(const cluster::Group& world, const LmTask& task,
                                     const LmTrainSettings& settings) {
  const LmMethod& method = task.method();
  const bool changes_answers = method.needs_reference() || method.has_prompts_only();
  if (settings.is_fresh || !changes_answers) return {};
  return texts_of(world, task, settings);
}

void add_samples(const cluster::Group& world, const LmTask& task, const LmTrainSettings& settings,
                 const std::vector<SampleText>& before, LmPlots& plots) {
  plots.samples_are_held_out = task.held_out().examples().size() > 0;
  plots.samples = texts_of(world, task, settings);
  for (std::size_t i = 0; i < before.size(); ++i)
    plots.samples[i].before = before[i].generated;
}

}  // namespace mgpu::recipes
