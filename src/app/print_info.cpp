#include <utility>
#include <vector>

#include <mgpu/app/environment_report.hpp>
#include <mgpu/app/print_info.hpp>
#include <mgpu/config/config_print.hpp>
#include <mgpu/config/nearest_name.hpp>

namespace mgpu::app {
namespace {

[[noreturn]] void refuse_topic(const KeyTable& table, std::span<const ErrorPage> pages,
                               const std::string& topic) {
  std::vector<std::string> names;
  for (const KeySpec& spec : table.keys())
    names.push_back(spec.name);
  for (const ErrorPage& page : pages)
    names.emplace_back(page.code);
  const std::string nearest = nearest_name(topic, names);
  throw ConfigFailure({{"E144",
                        "`" + topic + "` is neither a key nor an error code",
                        {},
                        "",
                        nearest.empty() ? "--print-config=full shows all keys"
                                        : "did you mean --explain " + nearest + "?"}},
                      ExitCode::usage);
}

/// Returns the --explain texts of all keys whose last part is `topic`, such as `max_steps`.
std::string pages_of_name(const KeyTable& table, const std::string& topic) {
  std::string pages;
  for (const KeySpec& spec : table.keys())
    if (spec.name.ends_with("." + topic)) pages += (pages.empty() ? "" : "\n") + key_page(spec);
  return pages;
}

/// Returns the names of all keys of a section, each with its summary and its values on the next
/// line.
std::string section_page(const KeyTable& table, const std::string& section) {
  std::string page;
  for (const KeySpec& spec : table.keys())
    if (spec.name.starts_with(section + ".")) {
      page += spec.name + "\n  " + spec.summary + " (" + values_in_words(spec) + ")\n";
    }
  return page;
}

std::string printed_config(const Options& options, const KeyTable& table,
                           const FileProvider& files) {
  const bool has_job_only = options.overrides.size() == 1 && options.overrides[0].key == "job";
  if (options.detail == "full" && options.config.empty() &&
      (options.overrides.empty() || has_job_only))
    return print_full(table, has_job_only ? options.overrides[0].value : "");
  if (options.detail == "markdown") return key_reference_markdown(table);
  const Config config = load_config(options, table, files);
  if (options.detail == "changed") return print_changed(config);
  if (options.detail == "full") return print_full(config);
  if (options.detail == "json") return print_json(config);
  return print_resolved(config);
}

}  // namespace

std::string explain(const KeyTable& table, std::span<const ErrorPage> pages,
                    const std::string& topic) {
  if (const ErrorPage* page = find_error_page(pages, topic)) return error_page_text(*page);
  if (const KeySpec* spec = table.find_called(topic)) return key_page(*spec);
  if (const AcceptedName* name = table.find_accepted(topic)) {
    return name->name + "\n  accepted without effect: " + name->why + "\n";
  }
  if (table.has_section(topic)) return section_page(table, table.canonical(topic));
  if (const ForeignName* foreign = table.find_foreign(topic)) {
    return topic + "\n  the " + foreign->program + " name: " + foreign->help + "\n";
  }
  if (const std::string keys = pages_of_name(table, topic); !keys.empty()) return keys;
  refuse_topic(table, pages, topic);
}

std::optional<ExitCode> print_info(const Options& options, const KeyTable& table,
                                   std::span<const ErrorPage> pages, const FileProvider& files,
                                   std::ostream& out) {
  switch (options.action) {
    case Action::help:
      out << help_text();
      return ExitCode::done;
    case Action::version:
      out << version_text(options.verbose);
      return ExitCode::done;
    case Action::environment:
      out << environment_text();
      return ExitCode::done;
    case Action::explain:
      out << explain(table, pages, options.detail);
      return ExitCode::done;
    case Action::print_config:
      out << printed_config(options, table, files);
      return ExitCode::done;
    case Action::run:
    case Action::check:
    case Action::plan:
    case Action::merge:
    case Action::export_rows:
    case Action::compare:
      break;
  }
  return std::nullopt;
}

}  // namespace mgpu::app
