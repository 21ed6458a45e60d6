#include "tools/infer/feature_file.h"

#include <vector>

#include "core/files/file.h"
#include "data/convert/dataset_builder.h"
#include "data/lmdb/lmdb_writer.h"
#include "formats/hdf5_file.h"
#include "formats/npy.h"
#include "proto/cortado.pb.h"
#include "tools/options/flags.h"

namespace cortado::tools {

namespace {

/// A Datum has three extents: missing extents of a row are 1, additional ones are multiplied.
class LmdbFeatures : public FeatureFile {
 public:
  LmdbFeatures(const std::string& path, const Shape& row, bool replace) : writer_(path, replace) {
    const auto extent = [&](int axis) { return row.axes() > axis ? int32_t(row[axis]) : 1; };
    count_ = row.count();
    datum_.set_channels(row.axes() > 3 ? int32_t(count_) : extent(0));
    datum_.set_height(row.axes() > 3 ? 1 : extent(1));
    datum_.set_width(row.axes() > 3 ? 1 : extent(2));
  }

  void add(const float* values, int64_t rows) override {
    for (int64_t i = 0; i < rows; ++i, values += count_) {
      datum_.mutable_float_data()->Assign(values, values + count_);
      writer_.put(data::number_key(written_++, 10), datum_.SerializeAsString());
    }
  }

  void commit() override { writer_.commit(); }

 private:
  data::LmdbWriter writer_;
  caffe::Datum datum_;
  int64_t count_ = 0, written_ = 0;
};

Shape with_rows(const Shape& row, int64_t rows) {
  std::vector<int64_t> dims = {rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return Shape(dims);
}

class NpyFeatures : public FeatureFile {
 public:
  NpyFeatures(const std::string& path, const Shape& row, int64_t rows)
      : header_(npy_header(with_rows(row, rows))),
        file_(path, int64_t(header_.size()) + rows * row.count() * int64_t(sizeof(float))),
        count_(row.count()) {
    file_.append(header_);
  }

  void add(const float* values, int64_t rows) override {
    file_.append({reinterpret_cast<const char*>(values), size_t(rows * count_) * sizeof(float)});
  }

  void commit() override { file_.commit(); }

 private:
  std::string header_;
  AtomicFile file_;
  int64_t count_;
};

class Hdf5Features : public FeatureFile {
 public:
  Hdf5Features(const std::string& path, const std::string& blob, const Shape& row, int64_t rows)
      : writer_(path, {{blob, "F32", with_rows(row, rows)}}), row_bytes_(size_t(row.count()) * sizeof(float)) {}

  void add(const float* values, int64_t rows) override { writer_.add(values, size_t(rows) * row_bytes_); }
  void commit() override { writer_.commit(); }

 private:
  Hdf5Writer writer_;
  size_t row_bytes_;
};

}  // namespace

std::unique_ptr<FeatureFile> open_feature_file(const std::string& format, const std::string& path,
                                               const std::string& blob, const Shape& row, int64_t rows, bool replace) {
  if (format == "lmdb") return std::make_unique<LmdbFeatures>(path, row, replace);
  if (format == "hdf5") return std::make_unique<Hdf5Features>(path, blob, row, rows);
  return std::make_unique<NpyFeatures>(path, row, rows);
}

}  // namespace cortado::tools
