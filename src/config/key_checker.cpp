#include "key_checker.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <mgpu/base/utf8.hpp>
#include <mgpu/config/nearest_name.hpp>

#include "scalar_text.hpp"

namespace mgpu {
namespace {

constexpr std::int64_t kSchema = 1;

std::string ticked(std::string_view name) {
  return "`" + std::string(name) + "`";
}

std::string last_part(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));
}

/// Formats "`train.max_steps` is "eight"" or "`train` is a list".
std::string is_what(std::string_view name, const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return ticked(name) + " has no value";
    case YamlNode::Kind::sequence:
      return ticked(name) + " is a list";
    case YamlNode::Kind::mapping:
      return ticked(name) + " is a section";
    case YamlNode::Kind::scalar:
      break;
  }
  const bool bare = !node.quoted && parse_number(node.text).has_value();
  const std::string shown =
      node.text.size() > 60 ? node.text.substr(0, utf8_offset(node.text, 57)) + "..." : node.text;
  return ticked(name) + " is " + (bare ? shown : "\"" + shown + "\"");
}

Place place_in_argument(const Override& change, int column, std::string_view what) {
  const int length = std::max(1, static_cast<int>(utf8_length(printable(what))));
  Place place = place_in_line(change.origin, 0, printable(change.argument), column, length);
  return place;
}

/// Returns whether quotes around a value from the command line belong to items of a list, as in
/// `"a", "b"`. `inner` is the value without these quotes.
bool keeps_quotes(const KeySpec& spec, std::string_view inner) {
  return spec.type == KeyType::texts && !inner.empty() &&
         std::ranges::find(spec.choices, inner) == spec.choices.end();
}

}  // namespace

void KeyChecker::check_file(const YamlNode& root) {
  root_ = &root;
  if (root.kind != YamlNode::Kind::mapping) {
    add({"E108", "the top of the file is not `key: value` lines", root.place});
    return;
  }
  check_section(root, "");
}

void KeyChecker::check_section(const YamlNode& section, const std::string& name) {
  for (const YamlNode& entry : section.items) {
    if (layer_.problems.size() >= kMaxProblems) return;
    check_entry(entry, name.empty() ? entry.key : name + "." + entry.key);
  }
}

void KeyChecker::check_entry(const YamlNode& entry, const std::string& called) {
  if (entry.key.find('.') != std::string::npos) {
    add({"E102", ticked(entry.key) + " is written with a dot", entry.key_place, "",
         "a file nests sections: `" + entry.key.substr(0, entry.key.find('.')) +
             ":` with the rest indented below"});
    return;
  }
  if (const KeySpec* spec = table_.find_called(called)) {
    set(*spec, called, entry.key_place, entry);
    return;
  }
  if (note_accepted(called, entry.key_place)) return;
  const bool is_section = table_.has_section(called);
  if (!is_section) refuse_unknown(called, entry.key_place);
  if (entry.kind == YamlNode::Kind::mapping) {
    const std::string meant = is_section ? called : suggest_key(table_, called);
    if (is_section || table_.has_section(meant)) check_section(entry, meant);
  } else if (is_section && entry.kind != YamlNode::Kind::null) {
    const bool glued = entry.text.find(':') != std::string::npos;
    add({"E104", is_what(called, entry), entry.place, "expected a section of keys",
         glued ? "write a space after the `:`" : ""});
  }
}

void KeyChecker::check_override(const Override& change) {
  const std::string_view argument = change.argument;
  const Place key_place =
      place_in_argument(change, 1, argument.substr(0, argument.find_first_of(" =")));
  const KeySpec* spec = table_.find_called(change.key);
  if (spec == nullptr) {
    if (note_accepted(change.key, key_place)) return;
    if (table_.has_section(change.key)) {
      add({"E104", ticked(change.key) + " is a section", key_place, "expected one of its keys"});
    } else {
      refuse_unknown(change.key, key_place);
    }
    return;
  }
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  const std::string_view inner = unquoted(change.value);
  node.text = keeps_quotes(*spec, inner) ? change.value : inner;
  node.place = place_in_argument(change, change.value_column, change.value);
  if (find_bad_utf8(node.text) != std::string::npos) {
    add({"E110", "a byte is not UTF-8", node.place}, {spec->name});
    return;
  }
  if (has_control(node.text)) {
    add({"E110", "a control character is in a value", node.place}, {spec->name});
    return;
  }
  if (const auto earlier = layer_.values.find(spec->name); earlier != layer_.values.end()) {
    add({"E103", ticked(spec->name) + " is given twice", key_place, "second value", "",
         earlier->second.place},
        {spec->name});
    return;
  }
  set(*spec, change.key, key_place, node);
}

void KeyChecker::set(const KeySpec& spec, std::string_view called, const Place& key_place,
                     const YamlNode& written) {
  layer_.meant.insert(spec.name);
  if (called != spec.name) {
    layer_.notes.push_back(source_of(key_place) + ": " + ticked(called) + " is read as " +
                           ticked(spec.name) +
                           (spec.alias_note.empty() ? "" : ": " + spec.alias_note));
  }
  const bool may_have_variables = spec.type == KeyType::path || spec.name == "include";
  const std::optional<YamlNode> literal =
      may_have_variables ? written : without_escapes(spec, written);
  if (!literal) return;
  const YamlNode& node = *literal;
  const auto read = read_key_value(spec, node);
  if (const auto* problem = std::get_if<ValueProblem>(&read)) {
    Place place = problem->place.origin.empty() ? node.place : problem->place;
    // If a value begins on another line than its key, the caret points at the key.
    if (node.place.line != key_place.line) place = key_place;
    add({problem->code, is_what(spec.name, node), std::move(place), problem->under, problem->help},
        {spec.name});
    return;
  }
  KeyValue value = std::get<KeyValue>(read);
  if (spec.name == "schema" && value.integer != kSchema) {
    add({"E112", "schema " + value.text + " is not known to this program", node.place,
         "this program reads schema " + std::to_string(kSchema)});
    return;
  }
  if (const auto earlier = layer_.values.find(spec.name); earlier != layer_.values.end()) {
    add({"E103", ticked(spec.name) + " is given twice", key_place, "second value", "",
         earlier->second.place},
        {spec.name});
    return;
  }
  const Place& place = node.place.origin.empty() ? key_place : node.place;
  if (!value.is_word && is_path(spec, value.text)) {
    store_path(spec, value.text, node, place);
  } else {
    layer_.values.emplace(spec.name, Config::Value{std::move(value.text), {}, place});
  }
}

void KeyChecker::store_path(const KeySpec& spec, const std::string& text, const YamlNode& node,
                            const Place& place) {
  const auto expanded = expand_path(text, sources_.variable);
  if (const auto* problem = std::get_if<ValueProblem>(&expanded)) {
    add({problem->code, is_what(spec.name, node), place, problem->under, problem->help},
        {spec.name});
    return;
  }
  const std::string& written = std::get<std::string>(expanded);
  Config::Value value{(folder_ / written).lexically_normal().string(), {}, place};
  value.written = written;
  layer_.values.emplace(spec.name, std::move(value));
}

/// Returns the value `node` with each `$${` replaced by `${`. Values from the command line do not
/// change. If a value from a file has another `${`, adds a problem and returns nullopt. Do not call
/// it for keys whose values are paths, which may contain variables.
std::optional<YamlNode> KeyChecker::without_escapes(const KeySpec& spec, const YamlNode& node) {
  if (node.place.line == 0) return node;  // from the command line
  const auto key = literal_text(node.key);
  const auto text = literal_text(node.text);
  if (!key || !text) {
    add({"E109", "`${` stands in a value", node.place, "",
         "variables are replaced in paths only; write $${ if the text has `${`"},
        {spec.name});
    return std::nullopt;
  }
  YamlNode literal = node;
  literal.key = *key;
  literal.text = *text;
  for (YamlNode& item : literal.items) {
    std::optional<YamlNode> inner = without_escapes(spec, item);
    if (!inner) return std::nullopt;
    item = *std::move(inner);
  }
  return literal;
}

void KeyChecker::refuse_unknown(std::string_view called, const Place& key_place) {
  if (refuse_foreign(called, key_place) || refuse_misplaced(called, key_place)) return;
  Problem problem{"E101", "unknown key " + ticked(called), key_place};
  const std::string nearest = suggest_key(table_, called);
  layer_.meant.insert(nearest);
  const bool in_file = key_place.line > 0;
  const std::string mine = table_.canonical(called);
  const bool same_section =
      mine.substr(0, mine.rfind('.') + 1) == nearest.substr(0, nearest.rfind('.') + 1);
  if (!nearest.empty()) {
    problem.under =
        "did you mean " + ticked(in_file && same_section ? last_part(nearest) : nearest) + "?";
  } else {
    problem.help = "--print-config=full shows all keys";
  }
  add(std::move(problem), nearest.empty() ? std::vector<std::string>{} : std::vector{nearest});
}

bool KeyChecker::note_accepted(std::string_view called, const Place& key_place) {
  const AcceptedName* name = table_.find_accepted(called);
  if (name == nullptr) return false;
  layer_.notes.push_back(source_of(key_place) + ": " + ticked(called) +
                         " has no effect: " + name->why);
  return true;
}

/// Returns whether `called` is in a section, and one edit (edit_distance()) turns it into another
/// key of that section. The author more likely meant this key than a key of another section with
/// the same last part.
bool KeyChecker::has_near_sibling(std::string_view called) const {
  const std::size_t section = called.rfind('.') + 1;  // 0: the top level
  return section > 0 && std::ranges::any_of(table_.keys(), [&](const KeySpec& spec) {
           return spec.name.rfind('.') + 1 == section &&
                  spec.name.starts_with(called.substr(0, section)) &&
                  edit_distance(called, spec.name) == 1;
         });
}

bool KeyChecker::refuse_misplaced(std::string_view called, const Place& key_place) {
  const std::string last = last_part(called);
  std::vector<std::string> homes;
  for (const KeySpec& spec : table_.keys())
    if (last_part(spec.name) == last && spec.name != called) homes.push_back(spec.name);
  if (homes.empty() || last.empty() || has_near_sibling(called)) return false;

  const bool at_top = last.size() == called.size();
  const std::string section(at_top ? "" : called.substr(0, called.size() - last.size() - 1));
  Problem problem{"E102", "", key_place};
  problem.sentence = at_top ? ticked(last) + " does not belong to the top level"
                            : ticked(last) + " does not belong to " + ticked(section);
  for (const std::string& home : homes)
    problem.help += (problem.help.empty() ? "it is read at " : " and at ") + ticked(home);
  const std::string home_section = homes[0].substr(0, homes[0].rfind('.') + 1);
  if (homes.size() == 1 && !home_section.empty()) {
    const std::string name = home_section.substr(0, home_section.size() - 1);
    if (const Place place = place_of_section(name); place.line > 0) {
      problem.help += " (line " + std::to_string(place.line) + " sets " + ticked(name) + ")";
    }
  }
  layer_.meant.insert(homes.begin(), homes.end());
  add(std::move(problem), homes);
  return true;
}

bool KeyChecker::refuse_foreign(std::string_view called, const Place& key_place) {
  const ForeignName* foreign = table_.find_foreign(called);
  if (foreign == nullptr) return false;
  add({"E111", ticked(last_part(called)) + " is the " + foreign->program + " name", key_place, "",
       foreign->help});
  return true;
}

Place KeyChecker::place_of_section(std::string_view name) const {
  if (root_ == nullptr) return {};
  for (const YamlNode& entry : root_->items)
    if (entry.key == name) return entry.key_place;
  return {};
}

/// Adds a problem. `wrong` lists the keys that have no valid value because of the problem. `wrong`
/// is empty if these keys are unknown, for example because a name resembles no key.
void KeyChecker::add(Problem problem, const std::vector<std::string>& wrong) {
  layer_.problems.push_back(std::move(problem));
  layer_.wrong.insert(wrong.begin(), wrong.end());
  if (wrong.empty()) layer_.has_unknown_names = true;
}

}  // namespace mgpu
