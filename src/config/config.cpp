#include <utility>
#include <variant>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/config_print.hpp>
#include <mgpu/config/read_counts.hpp>

namespace mgpu {
namespace {

KeyValue value_or_throw(const KeySpec& spec, std::string_view text) {
  auto read = read_key_value(spec, text);
  if (const auto* problem = std::get_if<ValueProblem>(&read)) {
    throw Error("`" + spec.name + "` = \"" + std::string(text) + "\": " + problem->under);
  }
  return std::get<KeyValue>(std::move(read));
}

std::string list_text(const std::vector<std::int64_t>& list) {
  std::string text;
  for (const std::int64_t item : list)
    text += (text.empty() ? "" : ", ") + std::to_string(item);
  return "[" + text + "]";
}

}  // namespace

Config::Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
               std::vector<std::string> notes)
    : table_(&table), notes_(std::move(notes)) {
  for (auto& [name, given] : values) {
    const KeySpec* spec = table.find(name);
    if (spec == nullptr) throw Error("`" + name + "` is not in the table of keys");
    const std::string text = given.list.empty() ? given.text : list_text(given.list);
    entries_.emplace(
        name, Entry{value_or_throw(*spec, text), std::move(given.place), std::move(given.written)});
  }
  for (const KeySpec& spec : table.keys())
    if (!entries_.contains(spec.name)) {
      entries_.emplace(spec.name, Entry{default_value(spec), {}});
    }
}

Config::Config(const KeyTable& table, std::map<std::string, Value, std::less<>> values,
               std::set<std::string, std::less<>> refused)
    : Config(table, std::move(values)) {
  refused_ = std::move(refused);
}

std::int64_t Config::integer(std::string_view name) const {
  return value_of_type(name, KeyType::integer).integer;
}

double Config::number(std::string_view name) const {
  return value_of_type(name, KeyType::number).number;
}

bool Config::flag(std::string_view name) const {
  return value_of_type(name, KeyType::flag).integer != 0;
}

std::string Config::text(std::string_view name) const {
  count_read(name);
  const KeyValue& found = value(name);
  if (found.is_word) return found.text;
  const KeyType type = table_->find(name)->type;
  const bool is_text = type == KeyType::text || type == KeyType::path;
  if (!is_text) throw Error("`" + std::string(name) + "` is asked for as text");
  return found.text;
}

double Config::seconds(std::string_view name) const {
  return value_of_type(name, KeyType::duration).number;
}

std::int64_t Config::bytes(std::string_view name) const {
  return value_of_type(name, KeyType::bytes).integer;
}

std::vector<std::int64_t> Config::integers(std::string_view name) const {
  return value_of_type(name, KeyType::integers).integers;
}

std::vector<std::string> Config::texts(std::string_view name) const {
  return value_of_type(name, KeyType::texts).texts;
}

std::vector<std::string> Config::values(std::string_view name) const {
  const KeyValue& found = value_of_type(name, KeyType::texts);
  return found.values.empty() ? found.texts : found.values;
}

bool Config::is(std::string_view name, std::string_view word) const {
  count_read(name);
  const KeyValue& found = value(name);
  return found.is_word && found.text == word;
}

std::string Config::shown(std::string_view name) const {
  return value(name).text;
}

bool Config::is_given(std::string_view name) const {
  return !place(name).origin.empty();
}

const Place& Config::place(std::string_view name) const {
  return entry(name).place;
}

const std::string& Config::written(std::string_view name) const {
  return entry(name).written;
}

bool Config::is_changed(std::string_view name) const {
  return is_given(name) && value(name).text != default_value(*table_->find(name)).text;
}

std::vector<std::string> Config::not_default() const {
  std::vector<std::string> names;
  for (const KeySpec& spec : table_->keys())
    if (is_changed(spec.name)) names.push_back(spec.name);
  return names;
}

Failure Config::problem(std::string_view code, std::string_view name, std::string sentence,
                        std::string help) const {
  Problem found{std::string(code), std::move(sentence), place(name), "", std::move(help)};
  if (is_given(name)) {
    found.under = "`" + std::string(name) + "` is set here";
  } else {
    found.place.origin = "`" + std::string(name) + "` is " + shown(name) + " by default";
  }
  return Failure(to_report(found));
}

Config Config::with(std::string_view name, std::string_view text) const {
  const Place& known = place(name);
  Config changed = *this;
  changed.entries_.insert_or_assign(std::string(name),
                                    Entry{value_or_throw(*table_->find(name), text), known});
  return changed;
}

std::string Config::resolved_yaml() const {
  return print_resolved(*this);
}

std::vector<const KeySpec*> Config::keys() const {
  const std::string job = table_->find("job") == nullptr ? "" : value("job").text;
  std::vector<const KeySpec*> keys;
  for (const KeySpec& spec : table_->keys())
    if (spec.is_read_by(job)) keys.push_back(&spec);
  return keys;
}

std::string Config::identity() const {
  std::string text;
  for (const KeySpec* spec : keys())
    if (spec->identity) text += spec->name + "=" + value(spec->name).text + "\n";
  return sha256_hex(text);
}

const KeyValue& Config::value(std::string_view name) const {
  return entry(name).value;
}

const Config::Entry& Config::entry(std::string_view name) const {
  if (refused_.contains(name)) throw RefusedKey("`" + std::string(name) + "` was refused");
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error("no key is called `" + std::string(name) + "`");
  return found->second;
}

const KeyValue& Config::value_of_type(std::string_view name, KeyType type) const {
  count_read(name);
  const KeyValue& found = value(name);
  if (table_->find(name)->type != type) {
    throw Error("`" + std::string(name) + "` is not " + type_in_words(type));
  }
  if (found.is_word) throw Error("`" + std::string(name) + "` is the word " + found.text);
  return found;
}

}  // namespace mgpu
