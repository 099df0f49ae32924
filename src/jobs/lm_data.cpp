#include <span>

#include <mgpu/base/file_io.hpp>
#include <mgpu/data/little_texts.hpp>
#include <mgpu/jobs/lm_data.hpp>
#include <mgpu/jobs/lm_examples.hpp>

namespace mgpu::jobs {
namespace {

template <class T>
void share(const cluster::Group& world, std::vector<T>& values) {
  std::int64_t size = std::ssize(values);
  world.broadcast(std::span<std::int64_t>(&size, 1), 0);
  cluster::run_together(world, [&] { values.resize(static_cast<std::size_t>(size)); });
  world.broadcast(std::span(values), 0);
}

void share(const cluster::Group& world, algorithms::LmExamples& examples) {
  share(world, examples.ids);
  share(world, examples.is_learned);
  share(world, examples.ends);
}

}  // namespace

LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    std::int64_t vocab) {
  LmData data;
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    ExampleEncoder encoder(text::open_text_folder(settings.folder), settings.seq_len, vocab);
    const bool makes = settings.data.empty();
    const std::string text =
        makes ? data::little_texts(settings.little_texts, settings.seed) : read_file(settings.data);
    data.training = encode_examples(text, makes ? "data.little_texts" : settings.data, encoder);
    if (!settings.eval_data.empty())
      data.evaluation = encode_examples(read_file(settings.eval_data), settings.eval_data, encoder);
  });
  share(world, data.training);
  share(world, data.evaluation);
  return data;
}

}  // namespace mgpu::jobs
