#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/data/little_texts.hpp>
#include <mgpu/jobs/lm_data.hpp>
#include <mgpu/jobs/lm_examples.hpp>
#include <mgpu/jobs/model_folder.hpp>

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

/// Places as numbers, to be sent.
void share(const cluster::Group& world, std::vector<StoredPlace>& places) {
  std::vector<std::int64_t> numbers;
  for (const StoredPlace& place : places)
    numbers.insert(numbers.end(), {place.row, place.first});
  share(world, numbers);
  cluster::run_together(world, [&] {
    places.clear();
    for (std::size_t i = 0; i < numbers.size(); i += 2)
      places.push_back({numbers[i], numbers[i + 1]});
  });
}

bool has_targets(const LmTrainSettings& settings) {
  return settings.distill && !settings.distill->targets.empty();
}

void take_targets(const LmTrainSettings& settings, LmData& data) {
  const StoredTargets targets(*settings.distill);
  StoredExamples stored = targets.read_examples(settings.seq_len);
  data.training = std::move(stored.examples);
  data.places = std::move(stored.places);
  data.rows_without = stored.rows_without;
  data.teacher_crc = targets.check_bytes();
}

/// What generation_config.json says, and what completions in the data end with.
std::vector<std::int64_t> stops_of(const text::TextFolder& folder) {
  std::vector<std::int64_t> stops(folder.stop_ids.begin(), folder.stop_ids.end());
  if (folder.eos.id >= 0 && std::find(stops.begin(), stops.end(), folder.eos.id) == stops.end())
    stops.push_back(folder.eos.id);
  return stops;
}

void encode_training(const LmTrainSettings& settings, ExampleEncoder& encoder, LmData& data) {
  const bool makes = settings.data.empty();
  const std::string text =
      makes ? data::little_texts(settings.little_texts, settings.seed) : read_file(settings.data);
  const bool needs_prompts = settings.distill && settings.distill->on_policy > 0.0;
  data.training = encode_examples(text, makes ? "data.little_texts" : settings.data, encoder,
                                  needs_prompts ? ExampleKind::with_prompt : ExampleKind::any);
}

}  // namespace

LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    std::int64_t vocab) {
  LmData data;
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    if (settings.distill && !settings.distill->model.empty())
      data.teacher_crc = model_fingerprint(settings.distill->model);
    if (has_targets(settings)) take_targets(settings, data);
    if (has_targets(settings) && settings.eval_data.empty()) return;
    text::TextFolder folder = text::open_text_folder(settings.folder);
    data.stop_ids = stops_of(folder);
    ExampleEncoder encoder(std::move(folder), settings.seq_len, vocab);
    if (!has_targets(settings)) encode_training(settings, encoder, data);
    if (!settings.eval_data.empty())
      data.evaluation = encode_examples(read_file(settings.eval_data), settings.eval_data, encoder);
  });
  share(world, data.training);
  share(world, data.evaluation);
  share(world, data.places);
  share(world, data.stop_ids);
  world.broadcast(std::span(&data.teacher_crc, 1), 0);
  return data;
}

}  // namespace mgpu::jobs
