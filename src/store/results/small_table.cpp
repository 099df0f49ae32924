#include <span>
#include <type_traits>

#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/small_table.hpp>

namespace mgpu::store {
namespace {

ColumnType type_of(const SmallColumn& column) {
  if (std::holds_alternative<std::vector<std::int64_t>>(column.values)) return ColumnType::i64;
  if (std::holds_alternative<std::vector<double>>(column.values)) return ColumnType::f64;
  return ColumnType::text;
}

TableSpec spec_of(const std::string& path, const std::vector<SmallColumn>& columns,
                  const SmallPlot& plot) {
  TableSpec spec{.path = path, .rows = 0, .columns = {}, .signal = plot.signal, .axis = plot.axis};
  for (const SmallColumn& column : columns) {
    spec.rows = std::visit([](const auto& values) { return std::ssize(values); }, column.values);
    spec.columns.push_back({column.name, type_of(column), 1, column.description, column.units});
  }
  return spec;
}

}  // namespace

SmallTable make_small_table(const std::string& path, const std::vector<SmallColumn>& columns,
                            const SmallPlot& plot) {
  const TableSpec spec = spec_of(path, columns, plot);
  ChunkEncoder rows(spec, 0, spec.rows);
  for (const SmallColumn& column : columns) {
    std::visit(
        [&]<class T>(const std::vector<T>& values) {
          if constexpr (std::is_same_v<T, std::string>) {
            rows.text(column.name, std::span(values));
          } else {
            rows.column(column.name, std::span(values));
          }
        },
        column.values);
  }
  return {spec, rows.finish()};
}

}  // namespace mgpu::store
