#include "unknown_words.hpp"

#include <algorithm>
#include <vector>

#include <mgpu/config/nearest_name.hpp>

#include "option_values.hpp"

namespace mgpu::app {
namespace {

std::string option_name_suggestion(const std::string& name) {
  std::vector<std::string> names;
  for (const OptionRow& row : option_rows()) {
    if (name.size() > 2 && row.name.starts_with(name)) return std::string(row.name);
    names.emplace_back(row.name);
  }
  return nearest_name(name, names);
}

/// Returns the value that the user gives to an unknown option: the text after its =, or the next
/// argument if that is neither an option nor KEY=VALUE. Otherwise returns "VALUE".
std::string value_of_option(const WrittenLine& line, std::size_t index) {
  const std::size_t equals = line[index].find('=');
  if (equals != std::string::npos) return line[index].substr(equals + 1);
  const bool has_next =
      index + 1 < line.size() && !line[index + 1].starts_with("-") && !is_override(line[index + 1]);
  return has_next ? line[index + 1] : "VALUE";
}

/// Returns the KEY=VALUE that an unknown option may mean, such as train.max_steps=10 for
/// --max_steps 10. `key` is the name of a key, or the last part of such a name. Several matches
/// are joined by " or ". Returns "" if no key matches.
std::string setting_for_option(const std::string& key, const std::string& value,
                               const KeyTable& table) {
  std::string settings;
  for (const KeySpec& spec : table.keys())
    if (spec.name == key || spec.name.ends_with("." + key))
      settings += (settings.empty() ? "" : " or ") + spec.name + "=" + value;
  return settings;
}

std::string help_for_option(const std::string& name, const std::string& value,
                            const KeyTable& table) {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  if (name == "np" || name == "n") return "that is mpirun's: mpirun -np 2 ./mgpu_spmd ...";
  if (name.starts_with("dry")) return "--plan shows the work, --check looks for mistakes first";
  if (const ForeignName* foreign = table.find_foreign(key)) return foreign->help;
  const std::string nearest = option_name_suggestion(name);
  const std::string setting = setting_for_option(key, value, table);
  const std::string set_key = setting.empty() ? "" : "a key has no dashes: " + setting;
  if (nearest.empty() && !set_key.empty()) return set_key;
  if (!nearest.empty())
    return "did you mean --" + nearest + "?" + (set_key.empty() ? "" : " Or " + set_key);
  return "--help shows all options; a key is written without dashes: KEY=VALUE";
}

std::string help_for_word(const std::string& text) {
  std::string name = text;
  std::replace(name.begin(), name.end(), '_', '-');
  if (text.find('=') != std::string::npos) return "a key has letters, digits, _, - and dots";
  if (find_row(name) != nullptr) return "did you mean --" + name + "?";
  if (text.find('.') != std::string::npos)
    return "write " + text + "=VALUE, without blanks around the =";
  return "write KEY=VALUE, or --help";
}

}  // namespace

Problem unknown_option(const WrittenLine& line, std::size_t index, const std::string& unknown,
                       const KeyTable& table) {
  // An option such as -gpus lacks the second dash of a long option.
  const std::string name = long_name(unknown.starts_with("--") ? unknown : "-" + unknown);
  return {"E142", "unknown option " + unknown, line.place(index), "",
          help_for_option(name, value_of_option(line, index), table)};
}

Problem unknown_word(const WrittenLine& line, std::size_t index) {
  const std::string& text = line[index];
  return {"E144", "\"" + text + "\" is neither the configuration nor KEY=VALUE", line.place(index),
          "", help_for_word(text)};
}

}  // namespace mgpu::app
