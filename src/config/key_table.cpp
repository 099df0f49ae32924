#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/config/key_value.hpp>

namespace mgpu {
namespace {

bool is_below(std::string_view name, std::string_view section) {
  return name.size() > section.size() + 1 && name.starts_with(section) &&
         name[section.size()] == '.';
}

}  // namespace

std::string type_in_words(KeyType type) {
  switch (type) {
    case KeyType::integer:
      return "an integer";
    case KeyType::number:
      return "a number";
    case KeyType::flag:
      return "true or false";
    case KeyType::text:
      return "text";
    case KeyType::path:
      return "a path";
    case KeyType::choice:
      return "one of a few words";
    case KeyType::duration:
      return "a duration such as 90, 30min or 24:00:00";
    case KeyType::bytes:
      return "a size such as 1000, 512MiB or 48GiB";
    case KeyType::integers:
      return "a list of integers such as [1, 3, 5]";
    case KeyType::texts:
      return "a list such as [a, b]";
  }
  throw Error("unknown key type");
}

bool is_marked_text(const KeySpec& spec, std::string_view value) {
  return !spec.text_mark.empty() && value.find(spec.text_mark) != std::string_view::npos;
}

bool is_path(const KeySpec& spec, std::string_view value) {
  if (spec.type != KeyType::path || value.empty() || is_marked_text(spec, value)) return false;
  return value.find('/') != std::string_view::npos || value.ends_with(spec.file_ending);
}

void KeyTable::add(KeySpec spec) {
  std::vector<std::string> names = spec.aliases;
  names.push_back(spec.name);
  for (const std::string& name : names) {
    if (name.empty() || find_called(name) != nullptr) {
      throw Error("key `" + name + "` is in the table twice, or has no name");
    }
  }
  const bool is_section = std::any_of(keys_.begin(), keys_.end(), [&](const KeySpec& other) {
    return is_below(other.name, spec.name) || is_below(spec.name, other.name);
  });
  if (is_section) throw Error("key `" + spec.name + "` is a section as well");
  default_value(spec);  // throws if the default does not parse
  for (ForeignName name : spec.foreign) {
    if (name.help.empty()) name.help = "here it is `" + spec.name + "`";
    add_foreign(std::move(name));
  }
  keys_.push_back(std::move(spec));
}

void KeyTable::accept(AcceptedName name) {
  if (find_called(name.name) != nullptr) throw Error("`" + name.name + "` is a key");
  accepted_.push_back(std::move(name));
}

void KeyTable::add_foreign(ForeignName name) {
  if (find_foreign(name.name) != nullptr) throw Error("`" + name.name + "` is foreign twice");
  foreign_.push_back(std::move(name));
}

const ForeignName* KeyTable::find_foreign(std::string_view path) const {
  const std::string_view last = path.substr(path.rfind('.') + 1);
  const std::string whole = canonical(path);
  const auto found =
      std::find_if(foreign_.begin(), foreign_.end(), [&](const ForeignName& foreign) {
        if (foreign.name == whole) return true;
        return foreign.name == last && (!foreign.top_level_only || path == last);
      });
  return found == foreign_.end() ? nullptr : &*found;
}

const AcceptedName* KeyTable::find_accepted(std::string_view name) const {
  const std::string mine = canonical(name);
  const auto found =
      std::find_if(accepted_.begin(), accepted_.end(),
                   [&](const AcceptedName& accepted) { return accepted.name == mine; });
  return found == accepted_.end() ? nullptr : &*found;
}

void KeyTable::add_section_alias(std::string alias, std::string section) {
  section_aliases_.emplace_back(std::move(alias), std::move(section));
}

bool KeySpec::is_read_by(std::string_view job) const {
  return jobs.empty() || std::find(jobs.begin(), jobs.end(), job) != jobs.end();
}

void KeyTable::add_reader(std::string_view name, std::string job) {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const KeySpec& spec) { return spec.name == name; });
  if (found == keys_.end()) throw Error("no key is called `" + std::string(name) + "`");
  if (found->jobs.empty() || !found->is_read_by(job)) found->jobs.push_back(std::move(job));
}

const KeySpec* KeyTable::find(std::string_view name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const KeySpec& spec) { return spec.name == name; });
  return found == keys_.end() ? nullptr : &*found;
}

const KeySpec* KeyTable::find_called(std::string_view name) const {
  if (const KeySpec* spec = find(name)) return spec;
  for (const KeySpec& spec : keys_) {
    const auto& aliases = spec.aliases;
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &spec;
  }
  const std::string canonical_name = canonical(name);
  return canonical_name == name ? nullptr : find(canonical_name);
}

bool KeyTable::has_section(std::string_view name) const {
  const std::string canonical_name = canonical(name);
  return std::any_of(keys_.begin(), keys_.end(), [&](const KeySpec& spec) {
    const auto below = [&](const std::string& called) { return is_below(called, name); };
    return is_below(spec.name, canonical_name) ||
           std::any_of(spec.aliases.begin(), spec.aliases.end(), below);
  });
}

std::string KeyTable::canonical(std::string_view name) const {
  for (const auto& [alias, section] : section_aliases_) {
    if (name == alias || is_below(name, alias)) {
      return section + std::string(name.substr(alias.size()));
    }
  }
  return std::string(name);
}

}  // namespace mgpu
