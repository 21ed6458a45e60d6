#include "tools/report/detected_images.h"

#include "graph/graph.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxImages = 16, kFound = 7, kTruth = 8;
constexpr float kLeastScore = 0.3f;
constexpr int kSide = 240;

/// Rows of `width` numbers, of which the first is the index of the image in the batch.
template <typename Use>
void for_rows_of(int64_t image, const std::vector<float>& rows, size_t width, const Use& use) {
  for (size_t at = 0; at + width <= rows.size(); at += width)
    if (rows[at] == float(image)) use(rows.data() + at);
}

}  // namespace

DetectorBlobs find_detector(const caffe::NetParameter& net, const caffe::NetState& state) {
  DetectorBlobs blobs;
  const caffe::LayerParameter* reader = nullptr;
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (!graph::selected(layer, state)) continue;
    const LayerType* type = find_layer_type(layer.type());
    if (type && type->brings_objects && layer.top_size() == 2) reader = &layer;
    if (layer.type() == type_names::kDetectionOutput && layer.top_size() == 1) blobs.detections = layer.top(0);
  }
  if (!reader || blobs.detections.empty()) return {};
  return {reader->top(0), reader->top(1), blobs.detections, reader};
}

DetectedImages::DetectedImages(DetectorBlobs blobs, const Net& net)
    : blobs_(std::move(blobs)), shown_(*blobs_.reader, net.blob_shape(blobs_.images), kSide) {}

void DetectedImages::add_batch(const Net& net) {
  if (list_.size() >= kMaxImages || !shown_.can_show()) return;
  const std::vector<float> images = net.read_blob(blobs_.images), objects = net.read_blob(blobs_.objects),
                           found = net.read_blob(blobs_.detections);
  const int64_t batch = net.blob_shape(blobs_.images)[0];
  for (int64_t i = 0; i < batch && list_.size() < kMaxImages; ++i) {
    Json one = {{"image", shown_.show(images.data() + int64_t(images.size()) / batch * i)},
                {"objects", Json::array()},
                {"found", Json::array()}};
    for_rows_of(i, objects, kTruth, [&](const float* row) {
      one["objects"].push_back({int(row[1]), row[3], row[4], row[5], row[6]});
    });
    for_rows_of(i, found, kFound, [&](const float* row) {
      if (row[2] >= kLeastScore) one["found"].push_back({int(row[1]), row[2], row[3], row[4], row[5], row[6]});
    });
    list_.push_back(std::move(one));
  }
}

}  // namespace cortado::tools
