// Reads weights straight from the bytes, because a generated parser builds every message that a file claims to have,
// holds no more than 2 GiB, and a file of zeros and ones can claim a hundred times its own size. Only what weights need
// is looked at: names, types, blobs, and what tells the dialect.
#include "proto/weights/caffemodel_reader.h"

#include <algorithm>

#include "core/text/text.h"
#include "proto/upgrade/upgrade_layers.h"
#include "proto/weights/batch_norm_form.h"
#include "proto/weights/blob_reader.h"
#include "proto/weights/dialect_clues.h"

namespace cortado {

namespace {

constexpr size_t kMaxLayers = 100'000, kCaffemodelReaderMaxBlobs = 1'000'000;

/// Where the three generations of layers keep what weights need.
struct LayerFields {
  uint32_t name, type, blobs;
  int year = 0;
  uint32_t inner = 0;  // of 2014 around 2013: the layer inside
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
      straighten_batch_norm(layer);
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

}  // namespace cortado
