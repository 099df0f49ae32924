#include <array>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_options.hpp>

namespace mgpu::input {
namespace {

struct OurName {
  const char* name;
  const char* text;
};

constexpr std::array kOurNames = {
    OurName{"text", "column with texts"},
    OurName{"prompt", "column with the text before a completion"},
    OurName{"completion", "column with what follows a prompt"},
    OurName{"chosen", "column with the better completion of a pair"},
    OurName{"rejected", "column with the worse completion of a pair"},
    OurName{"messages", "column with conversations: lists of {role, content}"},
    OurName{"token_ids", "column with lists of token ids"},
    OurName{"completion_ids", "column with the token ids that follow those of token_ids"},
    OurName{"answer", "column with the right answer, for rewards of completions"},
    OurName{"label", "column with the true label, or with a number that value models learn"},
    OurName{"cut", "column with the tokens of a completion that value models do not learn from"},
    OurName{"group", "column with the group that errors are counted by"},
    OurName{"id", "column that tells rows apart; an id that comes twice makes a bad row"},
};

std::string column_key(const char* name) {
  return std::string("data.columns.") + name;
}

RowFormat format_called(const std::string& word) {
  if (word == "jsonl") return RowFormat::jsonl;
  if (word == "csv") return RowFormat::csv;
  if (word == "tsv") return RowFormat::tsv;
  return word == "parquet" ? RowFormat::parquet : RowFormat::automatic;
}

}  // namespace

void add_input_keys(KeyTable& table) {
  table.add({.name = "data.format",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "format of data files; auto: by their names. jsonl may also be one list of "
                        "objects",
             .choices = {"auto", "jsonl", "csv", "tsv", "parquet"}});
  for (const OurName& ours : kOurNames) {
    table.add({.name = column_key(ours.name),
               .type = KeyType::text,
               .default_value = "null",
               .summary = std::string(ours.text) + "; null: it is called `" + ours.name + "`",
               .choices = {"null"}});
  }
  table.add({.name = "data.max_samples",
             .type = KeyType::integer,
             .default_value = "null",
             .summary = "rows at most; null: all",
             .unit = "rows",
             .min = 1,
             .max = 0x1p53,
             .choices = {"null"},
             .aliases = {"distillation.dataset.max_samples"}});
  table.add({.name = "data.start",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "first row that is read, counted from 0",
             .unit = "rows",
             .min = 0,
             .max = 0x1p53});
  table.add({.name = "data.on_bad_row",
             .type = KeyType::choice,
             .default_value = "stop",
             .summary =
                 "rows that cannot be used: stop before any work, or mark them in the results "
                 "and go on; job train leaves them out and counts them",
             .choices = {"stop", "mark"}});
  table.add({.name = "data.header",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "the first line of csv and tsv has the names of columns; false: they are "
                        "called 1, 2, 3"});
  table.add({.name = "data.quotes",
             .type = KeyType::flag,
             .default_value = "true",
             .summary =
                 "cells of csv and tsv may stand in double quotes (RFC 4180); false: a quote "
                 "is a character like others"});
}

bool is_format_key(std::string_view name) {
  return name == "data.format" || name == "data.header" || name == "data.quotes" ||
         name.starts_with("data.columns.");
}

RowOptions read_row_options(const Config& config) {
  RowOptions options;
  options.path = read_data_path(config);
  options.format = format_called(config.text("data.format"));
  for (const OurName& ours : kOurNames) {
    const std::string key = column_key(ours.name);
    if (!config.is(key, "null")) options.columns.emplace_back(ours.name, config.text(key));
  }
  options.start = config.integer("data.start");
  if (!config.is("data.max_samples", "null"))
    options.max_samples = config.integer("data.max_samples");
  options.on_bad_row = config.is("data.on_bad_row", "mark") ? BadRow::mark : BadRow::stop;
  options.has_header = config.flag("data.header");
  options.has_quotes = config.flag("data.quotes");
  return options;
}

}  // namespace mgpu::input
