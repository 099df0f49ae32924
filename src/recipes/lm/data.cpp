#include "data.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/broadcast_list.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/rows/folder_facts.hpp>

#include "examples.hpp"

namespace mgpu::recipes {
namespace {

template <class T>
void share(const cluster::Group& world, std::vector<T>& values) {
  cluster::broadcast_list(world, values);
}

/// Broadcasts the texts of rank 0, which may have any content. Sends all texts as one joined text,
/// and the position at which each text ends.
void share(const cluster::Group& world, std::vector<std::string>& texts) {
  std::vector<std::int64_t> ends;
  std::string joined;
  for (const std::string& text : texts)
    ends.push_back(std::ssize(joined += text));
  share(world, ends);
  joined = world.broadcast(std::move(joined), 0);
  cluster::run_together(world, [&] {
    if (world.rank() == 0) return;
    texts.clear();
    for (std::size_t begin = 0; const std::int64_t end : ends) {
      texts.push_back(joined.substr(begin, static_cast<std::size_t>(end) - begin));
      begin = static_cast<std::size_t>(end);
    }
  });
}

/// Broadcasts the columns of rank 0: lists of values by name. Afterwards all ranks have the same
/// columns.
template <class T>
void share(const cluster::Group& world,
           std::map<std::string, std::vector<T>, std::less<>>& columns) {
  std::string names;  // each name ends with a line feed
  for (const auto& [name, values] : columns)
    names += name + '\n';
  std::istringstream lines(world.broadcast(names, 0));
  for (std::string name; std::getline(lines, name);)
    share(world, columns[name]);
}

void share(const cluster::Group& world, lm::LmExamples& examples) {
  share(world, examples.ids);
  share(world, examples.is_learned);
  share(world, examples.ends);
  share(world, examples.token_columns);
  share(world, examples.sequence_columns);
  share(world, examples.texts);
  world.broadcast(std::span(&examples.group_size, 1), 0);
}

/// Returns the token ids that end a completion: the stop ids of the folder, and the eos token,
/// which also ends completions in the data. The stop ids are eos_token_id of
/// generation_config.json, or else of config.json.
std::vector<std::int64_t> stops_of(const text::TextFolder& folder) {
  std::vector<std::int64_t> stops(folder.stop_ids.begin(), folder.stop_ids.end());
  if (folder.eos.id >= 0 && std::find(stops.begin(), stops.end(), folder.eos.id) == stops.end())
    stops.push_back(folder.eos.id);
  return stops;
}

/// Returns the examples of the rows of a file. If rows were left out, adds their number and the
/// first reason to LmData::left_out, or a note to LmData::notes.
lm::LmExamples encode_file(const input::RowOptions& options, const LmMethod& method, RowUse use,
                           ExampleEncoder& encoder, LmData& data) {
  EncodedExamples encoded = encode_examples(options, encoder, method, use);
  if (encoded.bad_rows > 0)
    data.left_out.push_back({encoded.bad_rows, std::move(encoded.first_bad)});
  if (!encoded.note.empty()) data.notes.push_back(std::move(encoded.note));
  return std::move(encoded.examples);
}

}  // namespace

LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    const LmMethod& method, std::int64_t vocab) {
  LmData data;
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    data.method = method.read(settings.seq_len, vocab);
    if (!settings.is_fresh) data.folder_crc = rows::model_fingerprint(settings.folder);
    const bool has_examples = data.method.examples.has_value();
    if (has_examples) data.training = *std::exchange(data.method.examples, std::nullopt);
    if (has_examples && !settings.eval_rows) return;
    const std::optional<text::TextFiles> files =
        rows::read_tokenizer_files(settings.folder, settings.chat);
    if (files && !settings.chat.chosen.empty() && !has_examples)
      data.chat_template = files->chat_template.value();
    std::optional<text::TextFolder> folder;
    if (files) folder = text::parse_text_folder(*files, settings.folder);
    if (folder) data.stop_ids = stops_of(*folder);
    ExampleEncoder encoder(std::move(folder), settings.seq_len,
                           {.vocab = vocab, .ends_texts = true, .folder = settings.folder});
    if (settings.row_template) encoder.set_template(*settings.row_template);
    if (settings.rows)
      data.training = encode_file(*settings.rows, method, RowUse::training, encoder, data);
    if (settings.eval_rows)
      data.evaluation = encode_file(*settings.eval_rows, method, RowUse::held_out, encoder, data);
  });
  share(world, data.training);
  share(world, data.evaluation);
  share(world, data.method.numbers);
  world.broadcast(std::span(&data.method.crc, 1), 0);
  world.broadcast(std::span(&data.folder_crc, 1), 0);
  share(world, data.stop_ids);
  return data;
}

}  // namespace mgpu::recipes
