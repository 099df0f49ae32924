#include "row_fields.hpp"

#include <algorithm>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/config/nearest_name.hpp>

#include "json_row.hpp"
#include "row_error.hpp"

namespace mgpu::input {
namespace {

using formats::JsonValue;
using Names = std::vector<std::string>;

constexpr std::size_t kShownNames = 12;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the names as a text such as "`a`, `b` and `c`". `last` is the word before the last name.
std::string listed(const Names& names, const std::string& last) {
  std::string text;
  const std::size_t shown = std::min(names.size(), kShownNames);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " " + last + " " : ", ";
    text += "`" + printable(names[i]) + "`";
  }
  return names.size() > shown ? text + " and others" : text;
}

Names names_of(const JsonValue::Members& members) {
  Names names;
  for (const auto& [name, value] : members)
    names.push_back(name);
  return names;
}

/// Returns a clause for messages, such as "it has `a` and `b`; did you mean `a`?".
std::string what_there_is(const std::string& missing, const Names& there) {
  std::string text = there.empty() ? "it has nothing" : "it has " + listed(there, "and");
  const std::string nearest = nearest_name(missing, there);
  return nearest.empty() ? text : text + "; did you mean `" + printable(nearest) + "`?";
}

/// Returns the name in `there` that is most similar to `missing`, or the first name if no name is
/// similar. Puts the name in quotes if a shell needs them. Returns "COLUMN" if `there` is empty.
std::string column_for(const std::string& missing, const Names& there) {
  std::string column = nearest_name(missing, there);
  if (column.empty()) column = there.empty() ? "COLUMN" : there.front();
  const bool is_word = column.find_first_of(" \t'\"$\\`;&|<>()*?") == std::string::npos;
  return printable(is_word ? column : "'" + column + "'");
}

const JsonValue* find_value(const JsonValue& row, const std::string& name) {
  const JsonValue* value = row.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void check_text(const JsonValue* value, const std::string& name) {
  if (value == nullptr || value->text() == nullptr) throw RowError("`" + name + "` is not a text");
}

void check_messages(const JsonValue& value, const std::string& name) {
  if (value.list() == nullptr || value.list()->empty())
    throw RowError("`" + name + "` is not a list of messages");
  for (const JsonValue& message : *value.list())
    for (const char* part : {"role", "content"})
      check_text(message.find(part), part);
}

void check_text_or_messages(const JsonValue& value, const std::string& name) {
  if (value.text() != nullptr) return;
  if (value.list() == nullptr)
    throw RowError("`" + name + "` is neither a text nor a list of messages");
  check_messages(value, name);
}

bool is_id_list(const std::string& name) {
  return name == "token_ids" || name == "completion_ids";
}

void check_ids(const std::string& name, const JsonValue& value) {
  if (value.list() == nullptr || value.list()->empty())
    throw RowError("`" + name + "` is not a list of ids");
  for (const JsonValue& id : *value.list())
    if (id.integer() == nullptr || *id.integer() < 0)
      throw RowError("`" + name + "` has a value that is no id");
}

void check_kind(const std::string& name, const JsonValue& value, bool has_pairs) {
  const bool is_of_pair = name == "prompt" || name == "chosen" || name == "rejected";
  if (has_pairs && is_of_pair) return check_text_or_messages(value, name);
  if (name == "text" || name == "prompt" || name == "completion") check_text(&value, name);
  if (name == "messages") check_messages(value, name);
  if (is_id_list(name)) check_ids(name, value);
  if (name == "answer" && value.text() == nullptr && value.integer() == nullptr &&
      value.real() == nullptr)
    throw RowError("`answer` is neither a text nor a number");
  if (name == "cut" && value.text() == nullptr && value.integer() == nullptr)
    throw RowError("`cut` is no whole number");
  if (name == "id" && value.text() == nullptr && value.integer() == nullptr)
    throw RowError("`id` is neither a text nor a whole number");
}

/// Parses a cell of CSV or TSV as JSON if its column contains lists; returns other cells unchanged.
JsonValue parse_list_cell(const std::string& name, const JsonValue& cell) {
  const bool is_list = name == "messages" || is_id_list(name);
  if (!is_list || cell.text() == nullptr) return cell;
  try {
    return parse_cell(*cell.text());
  } catch (const RowError& error) {
    throw RowError("`" + name + "` is not JSON: " + error.why());
  }
}

}  // namespace

RowFields::RowFields(const RowOptions& options)
    : columns_(options.columns), all_of_(options.all_of) {
  const auto counts = [&](const std::string& name) { return is_mapped(name); };
  const bool has_choice = std::any_of(options.one_of.begin(), options.one_of.end(), counts);
  for (const std::string& name : options.one_of)
    (has_choice && !counts(name) ? left_out_ : one_of_).push_back(name);
  checked_ = one_of_;
  checked_.insert(checked_.end(), all_of_.begin(), all_of_.end());
  checked_.insert(checked_.end(), options.may_have.begin(), options.may_have.end());
  if (has_ids() && !contains(checked_, "id")) checked_.emplace_back("id");
  if (is_mapped("id") && !contains(all_of_, "id")) all_of_.emplace_back("id");
}

bool RowFields::is_mapped(const std::string& ours) const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [&](const auto& column) { return column.first == ours; });
}

bool RowFields::has_ids() const {
  return is_mapped("id") || contains(all_of_, "id");
}

Names RowFields::theirs(const Names& ours) const {
  Names names = ours;
  for (std::string& name : names)
    for (const auto& [mine, other] : columns_)
      if (mine == name) {
        name = other;
        break;
      }
  return names;
}

void RowFields::check_columns(const fs::path& path, const Names& columns) const {
  const auto refuse = [&](const std::string& sentence, const std::string& missing,
                          const std::string& mine) {
    throw Failure({"E533",
                   ExitCode::data,
                   sentence,
                   {"  --> " + path.string(), "  " + what_there_is(missing, columns)},
                   "data.columns." + mine + "=" + column_for(missing, columns) +
                       " takes that column of the file"});
  };
  for (const std::string& mine : all_of_)
    if (const std::string name = theirs({mine}).front(); !contains(columns, name))
      refuse("a data file has no column `" + printable(name) + "`", name, mine);
  for (const auto& [mine, other] : columns_)
    if (!contains(columns, other))
      refuse("a data file has no column `" + printable(other) + "`", other, mine);
  const Names choices = theirs(one_of_);
  const bool has_one = std::any_of(choices.begin(), choices.end(),
                                   [&](const auto& name) { return contains(columns, name); });
  if (!has_one && !choices.empty())
    refuse("a data file has no column " + listed(choices, "or"), choices.front(), one_of_.front());
}

JsonValue RowFields::apply(const JsonValue& row, bool has_cells) const {
  Members members = rename(*row.members());
  drop(members);
  for (auto& [name, value] : members)
    if (has_cells && contains(checked_, name)) value = parse_list_cell(name, value);
  JsonValue renamed(std::move(members));
  check(renamed);
  return renamed;
}

/// Returns the row with this program's names of columns. If the user maps a column of the file to a
/// name of this program, a second column that already has this name in the file is dropped.
RowFields::Members RowFields::rename(const Members& members) const {
  if (columns_.empty()) return members;
  Members renamed;
  std::size_t found = 0;
  for (const auto& [name, value] : members) {
    const std::size_t before = found;
    for (const auto& [mine, other] : columns_) {
      if (other != name) continue;
      renamed.emplace_back(mine, value);
      ++found;
    }
    if (found == before && !is_mapped(name)) renamed.emplace_back(name, value);
  }
  if (found == columns_.size()) return renamed;
  const Names there = names_of(members);
  for (const auto& [mine, other] : columns_)
    if (!contains(there, other))
      throw RowError("there is no `" + printable(other) + "`: " + what_there_is(other, there));
  throw Error("a row has a column twice");
}

/// Removes the columns in left_out_, and the columns in checked_ whose value is null.
void RowFields::drop(Members& members) const {
  std::erase_if(members, [&](const auto& member) {
    return contains(left_out_, member.first) ||
           (member.second.is_null() && contains(checked_, member.first));
  });
}

void RowFields::check(const JsonValue& row) const {
  const auto given = std::count_if(one_of_.begin(), one_of_.end(), [&](const std::string& name) {
    return find_value(row, name) != nullptr;
  });
  if (!one_of_.empty() && given != 1) {
    const std::string many = one_of_.size() == 1 ? "no " : "none of ";
    throw RowError("it has " + (given == 0 ? many : "more than one of ") + listed(one_of_, "and"));
  }
  for (const std::string& name : all_of_)
    if (find_value(row, name) == nullptr) throw RowError("it has no `" + name + "`");
  const bool has_pairs = contains(all_of_, "chosen");
  for (const std::string& name : checked_) {
    // In a row without `token_ids`, the program does not use `completion_ids`. So this column may
    // have any type in such a row.
    if (name == "completion_ids" && find_value(row, "token_ids") == nullptr) continue;
    if (const JsonValue* value = find_value(row, name)) check_kind(name, *value, has_pairs);
  }
}

std::string id_of(const JsonValue& row) {
  const JsonValue* id = row.find("id");
  if (id == nullptr) return "";
  return id->text() != nullptr ? *id->text() : std::to_string(*id->integer());
}

}  // namespace mgpu::input
