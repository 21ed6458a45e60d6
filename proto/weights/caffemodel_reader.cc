// Reads weights directly from the bytes, because generated parsers build every message that a file claims to have,
// support at most 2 GiB, and a file of zeros and ones can claim a hundred times its own size. Reads only what weights
// need: names, types, blobs, and evidence of the dialect.

#include "proto/weights/caffemodel_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/field_text.h"
#include "core/half.h"
#include "core/text/text.h"
#include "proto/upgrade/upgrade_layers.h"
#include "proto/weights/batch_norm_form.h"
#include "proto/weights/dialect_clues.h"

namespace cortado {

namespace {

constexpr size_t kMaxLayers = 100'000, kCaffemodelReaderMaxBlobs = 1'000'000;

/// Field numbers of the three generations of layers.
struct LayerFields {
  uint32_t name, type, blobs;
  int year = 0;
  uint32_t inner = 0;  // of 2014 around 2013: the inner layer
};
constexpr LayerFields kToday{1, 2, 7}, k2014{4, 5, 6, 2014, 1}, k2013{1, 2, 50, 2013};

class CaffemodelReader {
 public:
  CaffemodelReader(const WireFile& file, WeightsOrigin& origin) : file_(file), origin_(origin) {}

  std::vector<LayerWeights> read() {
    WireReader reader(file_, file_.content);
    for (WireField field; reader.next(field);) {
      clues_.net_field(field);
      if (field.is(1, WireField::kBytes)) origin_.net = field.bytes.substr(0, 1000);
      if (field.is(100, WireField::kBytes)) add(field.bytes, kToday);
      if (field.is(2, WireField::kBytes)) add(field.bytes, k2014);
    }
    origin_.dialect = clues_.dialect();
    return std::move(layers_);
  }

 private:
  void add(std::string_view message, const LayerFields& fields) {
    LayerWeights layer;
    if (fields.year == 0) clues_.layer(file_, message);
    origin_.year = fields.year;
    read_names(message, fields, layer);  // first, so that errors in blobs can name the layer
    read_blobs(message, fields, layer);
    if (layer.blobs.empty()) return;
    if (layers_.size() == kMaxLayers) file_.fail("more than " + std::to_string(kMaxLayers) + " layers");
    if (layer.type == "BatchNorm") {
      origin_.batch_norm_blobs = std::max(origin_.batch_norm_blobs, int(layer.blobs.size()));
      normalize_bn_blobs(layer);
    }
    layers_.push_back(std::move(layer));
  }

  void read_names(std::string_view message, const LayerFields& fields, LayerWeights& layer) {
    WireReader reader(file_, message);
    for (WireField field; reader.next(field);) {
      if (field.is(fields.name, WireField::kBytes)) layer.name = field.bytes;
      if (field.is(fields.type, WireField::kBytes))
        layer.type = fields.year ? type_of_2013(std::string(field.bytes.substr(0, 100))) : std::string(field.bytes);
      if (field.is(fields.type, WireField::kVarint)) layer.type = type_of_2014(field.value);
      if (fields.inner && field.is(fields.inner, WireField::kBytes)) {
        origin_.year = k2013.year;
        read_names(field.bytes, k2013, layer);
      }
    }
  }

  void read_blobs(std::string_view message, const LayerFields& fields, LayerWeights& layer) {
    WireReader reader(file_, message);
    for (WireField field; reader.next(field);) {
      if (fields.inner && field.is(fields.inner, WireField::kBytes)) read_blobs(field.bytes, k2013, layer);
      if (!field.is(fields.blobs, WireField::kBytes)) continue;
      if (++blobs_ > kCaffemodelReaderMaxBlobs)
        file_.fail("more than " + std::to_string(kCaffemodelReaderMaxBlobs) + " blobs");
      const std::string what = layer_text(layer.name.substr(0, 100)) + ", blob " + std::to_string(layer.blobs.size());
      layer.blobs.push_back(read_blob(file_, field.bytes, what, &origin_));
    }
  }

  const WireFile& file_;
  WeightsOrigin& origin_;
  DialectClues clues_;
  std::vector<LayerWeights> layers_;
  size_t blobs_ = 0;
};

}  // namespace

std::vector<LayerWeights> read_caffemodel(const WireFile& file, WeightsOrigin& origin) {
  return CaffemodelReader(file, origin).read();
}

namespace {

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Collects the fields of one blob and converts them to a BlobFile at the end.
class BlobReader {
 public:
  BlobReader(const WireFile& file, const std::string& what) : file_(file), what_(what) {}

  void take(const WireField& field);
  BlobFile finish();
  void tell(WeightsOrigin& origin) const;

 private:
  /// Appends bytes / sizeof(T) values, each converted to float by `convert`.
  template <typename T, typename Convert>
  void append(std::string_view bytes, const Convert& convert);
  void append_doubles(std::string_view bytes) {
    doubles_ = true;
    append<double>(bytes, [](double value) { return float(value); });
  }
  void take_shape(std::string_view message);
  void add_dim(uint64_t dim);
  void take_raw();
  Shape shape() const;
  [[noreturn]] void fail(const std::string& message) const { file_.fail(what_ + ": " + message); }

  const WireFile& file_;
  const std::string& what_;
  std::vector<float> data_;
  std::optional<std::vector<int64_t>> dims_;
  std::optional<int64_t> old_dims_[4];
  std::optional<uint64_t> raw_type_;
  std::string_view raw_;
  bool doubles_ = false;
};

template <typename T, typename Convert>
void BlobReader::append(std::string_view bytes, const Convert& convert) {
  if (bytes.size() % sizeof(T) != 0)
    fail(std::to_string(bytes.size()) + " bytes of values of " + std::to_string(sizeof(T)) + " bytes each");
  const size_t old = data_.size(), more = bytes.size() / sizeof(T);
  data_.resize(old + more);
  for (size_t i = 0; i < more; ++i) data_[old + i] = convert(load<T>(bytes.data() + i * sizeof(T)));
}

void BlobReader::take(const WireField& field) {
  const auto same = [](float value) { return value; };
  if (field.number >= 1 && field.number <= 4 && field.type == WireField::kVarint)
    old_dims_[field.number - 1] = int64_t(field.value);
  else if (field.is(5, WireField::kBytes))
    append<float>(field.bytes, same);
  else if (field.is(5, WireField::kFixed32))
    data_.push_back(load<float>(reinterpret_cast<const char*>(&field.value)));
  else if (field.is(7, WireField::kBytes))
    take_shape(field.bytes);
  else if (field.is(8, WireField::kBytes))
    append_doubles(field.bytes);
  else if (field.is(8, WireField::kFixed64))
    append_doubles({reinterpret_cast<const char*>(&field.value), sizeof field.value});
  else if (field.is(10, WireField::kVarint))
    raw_type_ = field.value;
  else if (field.is(12, WireField::kBytes))
    raw_ = field.bytes;
}

void BlobReader::add_dim(uint64_t dim) {
  if (int64_t(dim) < 0) fail("its shape has the extent " + std::to_string(int64_t(dim)));
  if (dims_->size() == size_t(Shape::kMaxAxes))
    fail("its shape has more than " + std::to_string(Shape::kMaxAxes) + " axes");
  dims_->push_back(int64_t(dim));
}

void BlobReader::take_shape(std::string_view message) {
  dims_.emplace();
  WireReader reader(file_, message);
  for (WireField field; reader.next(field);) {
    if (field.is(1, WireField::kVarint)) add_dim(field.value);
    if (field.is(1, WireField::kBytes))
      for (std::string_view rest = field.bytes; !rest.empty();) add_dim(take_varint(file_, rest));
  }
}

void BlobReader::take_raw() {
  if (raw_.empty()) return;
  if (!raw_type_) fail("raw_data without a type");
  if (!data_.empty()) fail("both data and raw_data");
  switch (*raw_type_) {
    case caffe::DOUBLE:
      return append_doubles(raw_);
    case caffe::FLOAT:
      return append<float>(raw_, [](float value) { return value; });
    case caffe::FLOAT16:
      return append<uint16_t>(raw_, half_value);
    default:
      fail("raw_data of type " + std::to_string(*raw_type_) + ", which is not supported for weights");
  }
}

Shape BlobReader::shape() const {
  if (dims_) return Shape(*dims_);
  const bool old = std::any_of(old_dims_, old_dims_ + 4, [](const auto& dim) { return dim.has_value(); });
  if (!old) return {};
  std::vector<int64_t> dims;
  for (const auto& dim : old_dims_) {
    if (dim.value_or(0) < 0) fail("its shape has the extent " + std::to_string(*dim));
    dims.push_back(dim.value_or(0));
  }
  return Shape(dims);
}

BlobFile BlobReader::finish() {
  take_raw();
  BlobFile blob{shape(), std::move(data_)};
  try {
    if (blob.shape.count() == int64_t(blob.data.size())) return blob;
  } catch (const FieldError& error) {
    fail(with_field(error));
  }
  fail("its shape is " + blob.shape.str() + ", which is " + std::to_string(blob.shape.count()) +
       " values, but it has " + std::to_string(blob.data.size()));
}

void BlobReader::tell(WeightsOrigin& origin) const {
  origin.halves |= !raw_.empty() && raw_type_ == uint64_t(caffe::FLOAT16);
  origin.doubles |= doubles_;
  origin.four_extents |= !dims_ && old_dims_[0].has_value();
}

}  // namespace

BlobFile read_blob(const WireFile& file, std::string_view message, const std::string& what, WeightsOrigin* origin) {
  BlobReader blob(file, what);
  WireReader reader(file, message);
  for (WireField field; reader.next(field);) blob.take(field);
  BlobFile result = blob.finish();
  if (origin) blob.tell(*origin);
  return result;
}

}  // namespace cortado
