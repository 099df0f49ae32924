#include <mgpu/base/secrets.hpp>
#include <mgpu/report/escape.hpp>
#include <mgpu/report/html_page.hpp>
#include <mgpu/report/svg_chart.hpp>
#include <mgpu/report/text_format.hpp>

#include "html_style.hpp"

namespace mgpu::report {
namespace {

std::string element(const std::string& tag, const std::string& css, const std::string& inner) {
  return '<' + tag + (css.empty() ? "" : " class=\"" + css + '"') + '>' + inner + "</" + tag +
         ">\n";
}

/// Formats an element with the text `words`. `key` is the JSON pointer to the number in
/// summary.json that the text shows. It becomes the attribute data-key. If `key` is empty, the
/// element has no attribute.
std::string marked(const std::string& tag, const std::string& words, const std::string& key) {
  const std::string mark = key.empty() ? "" : " data-key=\"" + escape_html(key) + '"';
  return '<' + tag + mark + '>' + escape_html(words) + "</" + tag + '>';
}

/// Formats a cell of a table of texts. A short word is not broken at the end of a line.
std::string text_cell(const std::string& words) {
  constexpr std::size_t kShort = 16;
  const bool is_word = words.size() <= kShort && words.find_first_of(" \n") == std::string::npos;
  return (is_word ? "<td class=\"word\">" : "<td>") + escape_html(words) + "</td>";
}

/// Returns the text with a no-break space in place of the space before each percent sign.
std::string unbroken(const std::string& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += words.compare(i, 2, " %") == 0 ? "\u00a0" : std::string(1, words[i]);
  return text;
}

std::string tile_html(const Tile& tile) {
  const std::string unit = tile.unit.empty() ? "" : "<small>" + escape_html(tile.unit) + "</small>";
  return element(
      "div", "tile",
      "<b>" + marked("span", tile.value, tile.key) + unit + "</b>" + marked("em", tile.label, ""));
}

std::string header_html(const HtmlPage& report, const RunSummary& summary) {
  const std::string status = word_of(summary.outcome);
  std::string line = element("span", "status " + status, status);
  const auto part = [&](const std::string& words) {
    if (!words.empty()) line += element("span", "", escape_html(words));
  };
  part(summary.name);
  part("job " + summary.job);
  part(summary.ended);
  const char* noun = summary.device == DeviceKind::cuda ? "GPU" : "CPU rank";
  if (summary.ranks > 0)  // 0: the page compares runs
    part(text_of("%s on %d %s%s", h_mm_ss(summary.wall_s).c_str(), summary.ranks, noun,
                 summary.ranks == 1 ? "" : "s"));
  std::string html = element("div", "eyebrow", line);
  html += element("h1", "", escape_html(unbroken(report.headline)));
  std::string tiles;
  for (const Tile& tile : report.tiles)
    tiles += tile_html(tile);
  return html + (tiles.empty() ? "" : element("div", "tiles", tiles));
}

std::string figure_html(const Figure& figure) {
  std::string inner = figure.title.empty() ? "" : element("h3", "", escape_html(figure.title));
  inner += figure.svg;
  if (!figure.caption.empty()) inner += element("figcaption", "", escape_html(figure.caption));
  return element("figure", "", inner);
}

Section machine_section(const HtmlPage& report, const RunSummary& summary) {
  return {"Where the time went",
          {{"", svg_timeline(report.phases),
            "Each row is a rank, from start to end; its colors show how much of every moment went "
            "into which phase. Red is waiting, orange communication that nothing hides."},
           {"Memory of each GPU", svg_memory(summary.gpus), "Peaks of the whole run."}}};
}

std::string notes_html(const RunSummary& summary) {
  std::string notes;
  for (const Note& note : summary.notes) {
    std::string text = escape_html(note.sentence());
    if (!note.key.empty()) text += ' ' + element("code", "", escape_html(note.key));
    notes += element("div", "card note", text);
  }
  return notes.empty() ? "" : element("h2", "", "Notes") + notes;
}

std::string provenance_html(const HtmlPage& report) {
  std::string rows;
  for (const auto& [name, value] : report.provenance) {
    const std::string shown = shown_value(name, value);
    rows += element("dt", "", escape_html(name)) + element("dd", "", escape_html(shown));
  }
  if (rows.empty()) return "";
  return element("h2", "", "Provenance") + element("dl", "card", rows);
}

std::string table_html(const Table& table) {
  std::string html = element("caption", "", escape_html(table.title));
  std::string head;
  for (const std::string& cell : table.head)
    head += element("th", "", escape_html(cell));
  html += element("tr", "", head);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    std::string row;
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
      const bool keyed = r < table.keys.size() && c < table.keys[r].size();
      row += table.is_text && !keyed
                 ? text_cell(table.rows[r][c])
                 : marked("td", table.rows[r][c], keyed ? table.keys[r][c] : "");
    }
    html += element("tr", "", row);
  }
  std::string css = table.is_text ? "texts" : "";
  if (table.is_stacked) css += css.empty() ? "stacked" : " stacked";
  return element("div", "card scroll", element("table", css, html));
}

std::string section_html(const Section& section) {
  std::string content;
  for (const Figure& figure : section.figures)
    if (!figure.svg.empty()) content += figure_html(figure);
  if (section.side_by_side && !content.empty()) content = element("div", "side", content);
  for (const Table& table : section.tables)
    if (!table.rows.empty()) content += table_html(table);
  return content.empty() ? "" : element("h2", "", escape_html(section.title)) + content;
}

Table phase_table(const RunSummary& summary) {
  Table table{
      "Time per phase", {"phase", "mean over ranks", "share", "min", "max", "rank"}, {}, {}};
  const bool tenths = summary.wall_s < 600;
  for (std::size_t i = 0; i < summary.phases.size(); ++i) {
    const PhaseRow& row = summary.phases[i];
    table.rows.push_back({row.phase, m_ss(row.mean_s, tenths), percent(row.share),
                          m_ss(row.min_s, tenths), m_ss(row.max_s, tenths),
                          std::to_string(row.max_rank)});
    const std::string at = "/phases/" + std::to_string(i);
    table.keys.push_back({"", "", at + "/share", "", "", at + "/max_rank"});
  }
  return table;
}

Table results_table(const RunSummary& summary) {
  Table table{"Results", {"number", "value"}, {}, {}};
  for (const Result& result : summary.results) {
    const std::string interval = result.interval();
    table.rows.push_back({result.label, result.text()});
    if (!interval.empty()) table.rows.back().front() += ", 95 % " + interval;
    table.keys.push_back({"", "/results/" + result.key + "/value"});
  }
  return table;
}

}  // namespace

Tile tile_of(const Result& result, const std::string& label) {
  const std::string interval = result.interval();
  return {result.number(),
          (label.empty() ? result.label : label) + (interval.empty() ? "" : ", 95 % " + interval),
          "/results/" + result.key + "/value", result.unit};
}

std::string html_page(const HtmlPage& report, const RunSummary& summary) {
  std::string body = header_html(report, summary);
  for (const Section& section : report.sections)
    body += section_html(section);
  body += section_html(machine_section(report, summary));
  body += notes_html(summary) + provenance_html(report);
  std::string tables;
  if (!summary.results.empty()) tables += table_html(results_table(summary));
  for (const Table& table : report.tables)
    tables += table_html(table);
  if (!summary.phases.empty()) tables += table_html(phase_table(summary));
  if (!tables.empty()) body += element("h2", "", "Tables") + tables;
  body += element("footer", "",
                  "mgpu_spmd " + escape_html(summary.version) +
                      ". The numbers of this page are in " + escape_html(report.numbers_in) + ".");
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape_html(summary.name) + " - mgpu_spmd</title>\n<style>" + kStyle +
         "</style></head>\n<body><main>\n" + body + "</main></body></html>\n";
}

void write_html_page(const fs::path& path, const HtmlPage& report, const RunSummary& summary) {
  write_file_durably(path, html_page(report, summary), "report");
}

}  // namespace mgpu::report
