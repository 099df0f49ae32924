#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/report/phases.hpp>
#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// A number that the top of the page shows in large type.
struct Tile {
  std::string value;   // "14.6"
  std::string label;   // "return in episode 8, goals never seen"
  std::string key{};   // JSON pointer into summary.json; "" for none
  std::string unit{};  // shown in smaller type after the value; "" for none
};

/// Returns the tile of a result. `label` replaces the label of the result if it is not empty.
Tile tile_of(const Result& result, const std::string& label = "");

/// A chart with a sentence that explains how to read it.
struct Figure {
  std::string title;
  std::string svg;  // from svg_*(); may also be HTML with several charts
  std::string caption{};
};

struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;    // aligned left in the first column, else right
  std::vector<std::vector<std::string>> keys{};  // JSON pointer of each cell, as in Tile::key
  bool is_text = false;                          // true: all columns are aligned left
  bool is_stacked = false;  // true: on a narrow screen, the cells of a row are stacked
};

/// Figures under one heading, and tables below them.
struct Section {
  std::string title;
  std::vector<Figure> figures;
  bool side_by_side = false;  // true: the figures are next to each other if there is room
  std::vector<Table> tables{};
};

/// The content of a page about one run, or about a comparison of runs. For a comparison,
/// RunSummary::ranks is 0.
struct HtmlPage {
  std::string headline;  // one sentence that states the result
  std::vector<Tile> tiles;
  std::vector<Section> sections;  // figures of the job
  PhaseTable phases;              // times of all ranks, for the time line
  std::vector<std::pair<std::string, std::string>> provenance;  // name, value
  std::vector<Table> tables;
  /// The files that contain all numbers of the page. The footer shows this text.
  std::string numbers_in = "summary.json and in the run's result file";
};

/// Returns a self-contained HTML file: it has no scripts and makes no requests, has a light and a
/// dark palette, and prints on A4.
std::string html_page(const HtmlPage& report, const RunSummary& summary);

/// Writes html_page() to `path`.
/// Errors: Failure E601 (cannot be created, exit 73), E602 (write failed, exit 74).
void write_html_page(const fs::path& path, const HtmlPage& report, const RunSummary& summary);

}  // namespace mgpu::report
