#include "data/formats/hdf5_rows.h"

#include <cstring>
#include <numeric>
#include <sstream>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "data/formats/text.h"
#include "formats/hdf5_file.h"

namespace cortado::data {

namespace {

// Each separates its draws from others with the same seed.
constexpr uint64_t kFileKey = 0x4835464C45ull, kRowKey = 0x4835524F57ull, kCropKey = 0x483543524Full;
constexpr double kMaxPacked = 1100;  // the maximum compression ratio of deflate is 1032

std::vector<uint32_t> permutation(uint64_t n, uint64_t key) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  RandomStream random(key);
  for (size_t i = n; i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

Hdf5Request request_for(const std::string& path, const std::vector<std::string>& names, bool values) {
  return {.path = path, .names = names, .values = values, .most_growth = kMaxPacked, .code = ExitCode::kData};
}

/// The shapes of the reader's datasets in the order of `names`; throws if their rows do not match.
std::vector<Shape> shapes_by_name(const Hdf5Reader& reader, const std::vector<std::string>& names) {
  std::vector<Shape> shapes(names.size());
  for (size_t i = 0; i < names.size(); ++i)
    for (const TensorEntry& entry : reader.entries())
      if (entry.name == names[i]) shapes[i] = entry.shape;
  for (size_t i = 0; i < names.size(); ++i) {
    if (shapes[i].axes() == 0) reader.fail("dataset '" + names[i] + "' is a scalar, so it has no rows");
    if (shapes[i][0] != shapes[0][0])
      reader.fail("dataset '" + names[i] + "' has " + std::to_string(shapes[i][0]) + " rows, '" + names[0] + "' has " +
                      std::to_string(shapes[0][0]),
                  "use datasets with one row for each sample");
  }
  if (shapes[0][0] > int64_t(UINT32_MAX)) reader.fail("more than 4294967295 rows", "write several files");
  return shapes;
}

std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\f\v"), end = text.find_last_not_of(" \t\r\f\v");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

std::vector<std::string> read_path_list(const std::string& path) {
  const std::string content = read_file(path, 64 << 20);
  const std::string hint = "use a text file with one path on each line";
  if (content.find('\0') != std::string::npos)
    throw file_error(ExitCode::kData, path, "this is not a list of files", hint);
  std::vector<std::string> paths;
  std::istringstream lines{std::string(without_bom(content))};
  for (std::string line; std::getline(lines, line);) {
    line = without_blanks(line);
    if (file_exists(line)) {
      paths.push_back(line);
      continue;
    }
    std::istringstream parts(line);
    for (std::string part; parts >> part;) paths.push_back(part);
  }
  if (paths.empty()) throw file_error(ExitCode::kData, path, "the list is empty", hint);
  return paths;
}

Hdf5Rows::Hdf5Rows(Hdf5RowsOptions options)
    : options_(std::move(options)), files_(read_path_list(options_.source)), rows_(files_.size(), -1) {
  seek(0);
  begin_file();
}

size_t Hdf5Rows::file_at(uint64_t place) const { return file_order_.empty() ? place : file_order_[place]; }

/// The shape of such a row in next(). `first`: the shape of the first dataset's row.
Shape Hdf5Rows::cropped(const Shape& row, const Shape& first, const std::string& name, const std::string& path) const {
  const std::array<int64_t, 3>& crop = options_.crop;
  const auto fail = [&](const std::string& what) {
    throw file_error(ExitCode::kData, path, "a row of dataset '" + name + "' is " + row.str() + what,
                     "use volumes of C x L x H x W with the same L x H x W in all datasets");
  };
  if (row.axes() != 4) fail(", which is not a volume that can be cropped");
  for (int axis = 1; axis < 4; ++axis) {
    if (row[axis] < crop[size_t(axis) - 1])
      fail(", smaller than the crop of " + Shape{crop[0], crop[1], crop[2]}.str());
    if (first.axes() != 4 || row[axis] != first[axis])
      fail(", and of dataset '" + options_.names[0] + "' " + first.str());
  }
  return {row[0], crop[0], crop[1], crop[2]};
}

void Hdf5Rows::take_shapes(const std::vector<Shape>& shapes, const std::string& path) {
  std::vector<Shape> rows;
  for (const Shape& shape : shapes)
    rows.emplace_back(std::vector<int64_t>(shape.dims().begin() + 1, shape.dims().end()));
  whole_shapes_ = rows;
  for (size_t i = 0; crops() && i < rows.size(); ++i)
    rows[i] = cropped(rows[i], whole_shapes_[0], options_.names[i], path);
  if (row_shapes_.empty()) row_shapes_ = rows;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i] != row_shapes_[i])
      throw file_error(ExitCode::kData, path,
                       "a row of dataset '" + options_.names[i] + "' is " + rows[i].str() + ", where it is " +
                           row_shapes_[i].str() + " in the previous file");
}

uint64_t Hdf5Rows::rows_of(size_t file) {
  if (rows_[file] < 0) {
    const Hdf5Reader reader(request_for(files_[file], options_.names, false));
    rows_[file] = shapes_by_name(reader, options_.names)[0][0];
  }
  return uint64_t(rows_[file]);
}

void Hdf5Rows::load(size_t file) {
  loaded_ = -1;
  values_.clear();
  Hdf5Reader reader(request_for(files_[file], options_.names, true));
  const std::vector<Shape> shapes = shapes_by_name(reader, options_.names);
  take_shapes(shapes, files_[file]);
  values_.resize(shapes.size());
  for (const TensorEntry& entry : reader.entries())
    for (size_t i = 0; i < shapes.size(); ++i)
      if (entry.name == options_.names[i]) {
        values_[i].resize(size_t(entry.shape.count()));
        reader.read(values_[i].data());
      }
  reader.finish();
  rows_[file] = shapes[0][0];
  loaded_ = int64_t(file);
}

/// Loads the file at place_ and makes row_ valid, skipping files without rows.
void Hdf5Rows::begin_file() {
  for (size_t empty = 0; !begun_; ++empty) {
    const size_t file = file_at(place_);
    if (loaded_ < 0 || files_[size_t(loaded_)] != files_[file]) load(file);
    rows_[file] = rows_[size_t(loaded_)];  // a list may contain a file twice
    const uint64_t rows = uint64_t(rows_[file]);
    if (row_ < rows) {
      row_order_.clear();
      if (options_.shuffle)
        row_order_ = permutation(rows, mix_key(mix_key(mix_key(options_.seed, kRowKey), epoch_), file));
      begun_ = true;
    } else if (empty > files_.size()) {
      throw file_error(ExitCode::kData, options_.source, "none of its files has a row");
    } else {
      step_over_file();
    }
  }
}

void Hdf5Rows::step_over_file() {
  row_ = 0;
  begun_ = false;
  if (++place_ < files_.size()) return;
  place_ = 0;
  ++epoch_;
  if (options_.shuffle) file_order_ = permutation(files_.size(), mix_key(mix_key(options_.seed, kFileKey), epoch_));
}

void Hdf5Rows::copy_part(size_t dataset, const float* row, float* to) const {
  const Shape &whole = whole_shapes_[dataset], &part = row_shapes_[dataset];
  int64_t start[4] = {};
  const Philox::Words words = Philox(mix_key(options_.seed, kCropKey))(0, position_);
  for (int axis = 1; axis < 4; ++axis) {
    const uint64_t spare = uint64_t(whole[axis] - part[axis]);
    start[axis] = int64_t(options_.random_crop ? (words.v[axis - 1] * (spare + 1)) >> 32 : spare / 2);
  }
  for (int64_t c = 0; c < part[0]; ++c)
    for (int64_t l = 0; l < part[1]; ++l)
      for (int64_t h = 0; h < part[2]; ++h, to += part[3]) {
        const int64_t line = (c * whole[1] + start[1] + l) * whole[2] + start[2] + h;
        std::memcpy(to, row + line * whole[3] + start[3], size_t(part[3]) * sizeof(float));
      }
}

void Hdf5Rows::next(const std::vector<float*>& rows) {
  begin_file();
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t width = size_t(whole_shapes_[i].count());
    const float* from = values_[i].data() + row() * width;
    if (crops())
      copy_part(i, from, rows[i]);
    else
      std::memcpy(rows[i], from, width * sizeof(float));
  }
  ++position_;
  if (++row_ == uint64_t(rows_[file_at(place_)])) step_over_file();
}

std::string Hdf5Rows::about_next(const std::string& what) {
  begin_file();
  return files_[file_at(place_)] + ": row " + std::to_string(row()) + ": " + what;
}

void Hdf5Rows::seek(uint64_t position) {
  position_ = position;
  begun_ = false;
  epoch_ = place_ = row_ = 0;
  if (position > 0) {
    uint64_t total = 0;
    for (size_t file = 0; file < files_.size(); ++file) total += rows_of(file);
    epoch_ = position / total;
    row_ = position % total;
  }
  if (options_.shuffle) file_order_ = permutation(files_.size(), mix_key(mix_key(options_.seed, kFileKey), epoch_));
  for (; row_ > 0 && row_ >= rows_of(file_at(place_)); ++place_) row_ -= rows_of(file_at(place_));
}

}  // namespace cortado::data
