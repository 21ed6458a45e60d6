// Tables: rows of a path and a label, or of a label and pixels, a common format of MNIST. A first line without data is
// a header.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"
#include "data/convert/class_folders.h"
#include "data/convert/convert_images.h"
#include "data/convert/csv.h"
#include "data/formats/datum.h"
#include "data/formats/labels.h"
#include "data/formats/text.h"
#include "data/sources/list_file.h"

namespace cortado::data {

namespace {

using Cells = std::vector<std::string>;

struct Row {
  Cells cells;
  int64_t line = 0;
};

struct Table {
  Cells header;  ///< empty if the first line contains data
  std::vector<Row> rows;
  std::vector<Rejected> bad;
};

bool is_byte(const std::string& cell, int& value) {
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return failure == std::errc() && end == cell.data() + cell.size() && value >= 0 && value <= 255;
}

/// The column of one of these names, or `otherwise`.
size_t column(const Cells& header, const std::vector<std::string>& names, size_t otherwise) {
  for (const std::string& name : names)
    for (size_t i = 0; i < header.size(); ++i)
      if (lower_case(header[i]) == name) return i;
  return otherwise;
}

const std::vector<std::string> kPathNames = {"path", "file", "filename", "file_name", "image", "image_path", "img"};
const std::vector<std::string> kLabelNames = {"label", "class", "class_name", "category", "target", "y"};

/// Whether the first line is a header: it contains one of the usual names.
bool names_columns(const Cells& cells) {
  return column(cells, kPathNames, cells.size()) < cells.size() ||
         column(cells, kLabelNames, cells.size()) < cells.size();
}

Table read_table(const std::string& path) {
  Table table;
  char separator = ',';
  size_t columns = 0;
  for_each_line(read_file_or_pipe(path, int64_t(1) << 32), [&](std::string_view line, int64_t number) {
    if (line.empty() || line == "\r") return;
    if (columns == 0) separator = csv_separator(line);
    std::string wrong;
    Cells cells = csv_cells(line, separator, wrong);
    if (columns == 0) {
      columns = cells.size();
      if (names_columns(cells)) {
        table.header = cells;
        return;
      }
    }
    if (wrong.empty() && cells.size() != columns)
      wrong = "it has " + std::to_string(cells.size()) + " columns, the first line has " + std::to_string(columns);
    if (wrong.empty())
      table.rows.push_back({std::move(cells), number});
    else
      table.bad.push_back({path, number, wrong});
  });
  if (columns < 2)
    throw file_error(ExitCode::kData, path, "not a table with at least two columns, separated by , ; or tabs");
  return table;
}

bool has_pixels(const Table& table) {
  int value = 0;
  if (table.rows.empty() || table.rows[0].cells.size() < 5) return false;
  const Cells& cells = table.rows[0].cells;
  return std::count_if(cells.begin(), cells.end(), [&](const std::string& cell) { return is_byte(cell, value); }) >=
         int64_t(cells.size()) - 1;
}

/// Grey if `pixels` is a square number, otherwise three planes.
Sample shape_of(const std::string& path, int64_t pixels) {
  for (const int channels : {1, 3}) {
    const int side = int(std::lround(std::sqrt(double(pixels) / channels)));
    if (int64_t(side) * side * channels == pixels) return {channels, side, side, nullptr, nullptr, false};
  }
  throw file_error(
      ExitCode::kData, path,
      std::to_string(pixels) + " columns of pixels do not form a square image, grey or with three colours");
}

ConvertReport convert_pixels(const Table& table, const CsvOptions& options) {
  if (options.test_share > 0)
    throw Error(ExitCode::kUsage, options.table + " contains pixels, but --split is for files",
                "convert it, then `cortado data split`");
  if (options.gray || options.shuffle || options.resize_height > 0 || options.short_side > 0 || options.check_size ||
      options.encoded)
    throw Error(ExitCode::kUsage, options.table + " contains pixels, which cannot be changed",
                "flags that change images, or their order, are for tables of paths");
  const size_t label_column = column(table.header, kLabelNames, 0);
  const Sample shape = shape_of(options.table, int64_t(table.rows[0].cells.size()) - 1);
  Cells labels;
  for (const Row& row : table.rows) labels.push_back(row.cells[label_column]);
  std::vector<std::string> classes;
  const std::vector<int32_t> numbers = class_numbers(labels, classes);
  DatasetBuilder builder(options, int64_t(table.rows.size() + table.bad.size()), {labels_text(classes), ""});
  for (const Rejected& bad : table.bad) builder.reject(bad.file, bad.line, bad.reason);
  std::string pixels;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    pixels.clear();
    int value = 0;
    for (size_t k = 0; k < row.cells.size(); ++k) {
      if (k == label_column) continue;
      if (!is_byte(row.cells[k], value)) {
        builder.reject(options.table, row.line, "'" + printable(row.cells[k]) + "' is not a pixel from 0 to 255");
        break;
      }
      pixels += char(value);
    }
    if (int64_t(pixels.size()) == shape.count())
      builder.add(number_key(int64_t(i), 8), make_datum(shape.channels, shape.height, shape.width, pixels, numbers[i]),
                  numbers[i], shape);
  }
  ConvertReport report = builder.finish();
  report.classes = classes;
  return report;
}

ConvertReport convert_paths(const Table& table, const CsvOptions& options) {
  FoundImages found;
  found.list = options.table;
  found.bad_lines = table.bad;
  const size_t path_column = column(table.header, kPathNames, 0);
  const size_t label_column = column(table.header, kLabelNames, path_column == 1 ? 0 : 1);
  Cells labels;
  for (const Row& row : table.rows) {
    const std::string& name = row.cells[path_column];
    labels.push_back(row.cells[label_column]);
    found.entries.push_back({join_path(folder_of(options.table), name), name, 0, row.line});
  }
  const std::vector<int32_t> numbers = class_numbers(labels, found.classes);
  for (size_t i = 0; i < numbers.size(); ++i) found.entries[i].label = numbers[i];
  return convert_images(std::move(found), options);
}

}  // namespace

ConvertReport convert_csv(const CsvOptions& options) {
  check_image_options(options);
  const Table table = read_table(options.table);
  return has_pixels(table) ? convert_pixels(table, options) : convert_paths(table, options);
}

}  // namespace cortado::data
