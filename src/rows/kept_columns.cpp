#include <algorithm>

#include <mgpu/base/utf8.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/rows/kept_columns.hpp>

namespace mgpu::rows {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kLongestName = 200;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the name in the file of the column that this program calls `name`. The function ours()
/// below is the inverse.
std::string theirs(const input::RowOptions& options, const std::string& name) {
  for (const auto& [ours, other] : options.columns)
    if (ours == name) return other;
  return name;
}

std::string ours(const input::RowOptions& options, const std::string& name) {
  for (const auto& [mine, other] : options.columns)
    if (other == name) return mine;
  return name;
}

/// Returns the names of the columns of a file. For JSON, these are the members of its first row.
Names columns_of(const input::RowFile& file, const input::RowOptions& options) {
  if (!file.columns().empty()) return file.columns();
  Names names;
  const std::vector<input::Row> rows = file.read(0, 1);
  if (rows.empty() || rows.front().object.members() == nullptr) return names;
  for (const auto& [name, value] : *rows.front().object.members())
    names.push_back(theirs(options, name));
  return names;
}

/// Returns why output.keep_columns cannot contain the name names[index]; nullptr if it can.
const char* why_bad(const Names& names, std::size_t index) {
  const std::string& name = names[index];
  if (name.empty()) return "a name is empty";
  if (name.find('/') != std::string::npos) return "a name has a slash";
  if (name.size() > kLongestName) return "a name has more than 200 bytes";
  const auto here = names.begin() + static_cast<std::ptrdiff_t>(index);
  return std::find(names.begin(), here, name) == here ? nullptr : "a name is there twice";
}

void check_names(const Config& config, const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const char* why = why_bad(names, i))
      throw config.problem("E107", "output.keep_columns", why, "output.keep_columns=[id]");
}

void require_columns(const input::RowFile& file, const input::RowOptions& options,
                     const Names& names) {
  if (file.columns().empty()) return;  // rows of JSON may have different columns
  for (const std::string& name : names) {
    if (contains(file.columns(), theirs(options, name))) continue;
    std::string help = "output.keep_columns=[";
    help.append(printable(nearest_name(name, file.columns()))).append("]");
    throw Failure({"E533",
                   ExitCode::data,
                   "a data file has no column `" + printable(name) + "`",
                   {"  --> " + file.path().string()},
                   help});
  }
}

std::string text_of_value(const formats::JsonValue* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->text() != nullptr ? *value->text() : formats::to_json_line(*value);
}

}  // namespace

void add_keep_columns_key(KeyTable& table) {
  table.add({.name = "output.keep_columns",
             .type = KeyType::texts,
             .default_value = "auto",
             .summary = "columns of data.path that results keep as row_<name>; auto: id and label",
             .choices = {"auto"}});
}

std::optional<Names> read_keep_columns(const Config& config) {
  if (config.is("output.keep_columns", "auto")) return std::nullopt;
  return config.texts("output.keep_columns");
}

KeptColumns::KeptColumns(const Config& config, const std::optional<Names>& keep_columns,
                         const input::RowFile& file, const input::RowOptions& options) {
  if (!keep_columns) {
    const Names there = columns_of(file, options);
    std::copy_if(options.keeps.begin(), options.keeps.end(), std::back_inserter(names_),
                 [&](const std::string& name) { return contains(there, theirs(options, name)); });
  } else {
    names_ = *keep_columns;
    check_names(config, names_);
    require_columns(file, options, names_);
  }
  for (const std::string& name : names_)
    members_.push_back(ours(options, name));
}

std::vector<std::string> KeptColumns::values_of(const input::Row& row) const {
  if (row.object.members() == nullptr) return {};
  std::vector<std::string> values;
  for (const std::string& member : members_)
    values.push_back(text_of_value(row.object.find(member)));
  return values;
}

}  // namespace mgpu::rows
