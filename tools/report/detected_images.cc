#include "tools/report/detected_images.h"

#include <algorithm>

#include "graph/graph.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTruth = 8;
constexpr float kLeastScore = 0.3f;
constexpr int kSide = 240;

/// The rows of `width` numbers that are of one image of the batch, whose index is the first number.
std::vector<float> rows_of_image(int64_t image, const std::vector<float>& rows, size_t width) {
  std::vector<float> own;
  for (size_t at = 0; at + width <= rows.size(); at += width)
    if (rows[at] == float(image)) own.insert(own.end(), rows.begin() + int64_t(at), rows.begin() + int64_t(at + width));
  return own;
}

std::vector<TrueObject> objects_of(int64_t image, const std::vector<float>& rows) {
  std::vector<TrueObject> objects;
  const std::vector<float> own = rows_of_image(image, rows, kTruth);
  for (size_t at = 0; at < own.size(); at += kTruth) {
    const float* row = own.data() + at;
    objects.push_back({int(row[1]), {row[3], row[4], row[5], row[6]}, row[7] != 0});
  }
  return objects;
}

Json box_json(const cortado::Box& box) { return {box.x0, box.y0, box.x1, box.y1}; }

}  // namespace

DetectorBlobs find_detector(const caffe::NetParameter& net, const caffe::NetState& state) {
  DetectorBlobs blobs;
  const caffe::LayerParameter* reader = nullptr;
  for (const caffe::LayerParameter& layer : net.layer()) {
    if (!graph::selected(layer, state)) continue;
    const LayerType* type = find_layer_type(layer.type());
    if (type && type->brings_objects && layer.top_size() == 2) reader = &layer;
    if (layer.has_detection_evaluate_param()) blobs.overlap = layer.detection_evaluate_param().overlap_threshold();
    if (layer.type() == type_names::kDetectionOutput && layer.top_size() == 1) blobs.detections = layer.top(0);
  }
  if (!reader || blobs.detections.empty()) return {};
  return {reader->top(0), reader->top(1), blobs.detections, reader, blobs.overlap};
}

DetectedImages::DetectedImages(DetectorBlobs blobs, const Net& net)
    : blobs_(std::move(blobs)), shown_(*blobs_.reader, net.blob_shape(blobs_.images), kSide) {}

std::map<int, std::string> object_names(const DetectorBlobs& blobs) {
  return names_of_objects({blobs.reader->data_param().source()});
}

std::string name_or_class(const std::map<int, std::string>& names, int label) {
  const auto found = names.find(label);
  return found == names.end() ? "class " + std::to_string(label) : found->second;
}

std::vector<bool> match_objects(const std::vector<Found>& found, float overlap, std::vector<TrueObject>& objects) {
  std::vector<bool> right;
  for (const Found& one : found) {
    TrueObject* best = nullptr;
    float most = overlap;
    for (TrueObject& object : objects) {
      const float common = object.label == one.label && !object.is_found ? box_overlap(object.box, one.box) : 0;
      if (common < most || common <= 0) continue;
      most = common;
      best = &object;
    }
    right.push_back(best != nullptr);
    if (best) best->is_found = true;
  }
  return right;
}

void DetectedImages::add_batch(const Net& net) {
  if (!shown_.can_show()) return;
  const std::vector<float> images = net.read_blob(blobs_.images), objects = net.read_blob(blobs_.objects),
                           found = net.read_blob(blobs_.detections);
  const int64_t batch = net.blob_shape(blobs_.images)[0];
  for (int64_t i = 0; i < batch; ++i, ++record_) {
    Judged one{
        record_, objects_of(i, objects), objects_in(rows_of_image(i, found, kDetectionRow), kLeastScore), {}, {}};
    one.right = match_objects(one.found, blobs_.overlap, one.objects);
    double highest = 0;
    for (size_t k = one.found.size(); k-- > 0;)
      if (!one.right[k]) highest = double(one.found[k].score);
    const auto missed = double(std::count_if(one.objects.begin(), one.objects.end(), [](const TrueObject& object) {
      return !object.is_found && !object.difficult;
    }));
    const bool shows_false = highest > 0 && false_detections_.wants(highest),
               shows_missed = missed > 0 && missed_objects_.wants(missed);
    if (!shows_false && !shows_missed) continue;
    one.image = shown_.show(images.data() + int64_t(images.size()) / batch * i);
    if (shows_false) false_detections_.add(highest, one);
    if (shows_missed) missed_objects_.add(missed, one);
  }
}

Json DetectedImages::images_json(const Foremost<Judged>& images, const std::map<int, std::string>& names) const {
  Json out = Json::array();
  for (const auto& [rank, one] : images.items()) {
    Json objects = Json::array(), detections = Json::array();
    for (const TrueObject& object : one.objects)
      objects.push_back({{"name", name_or_class(names, object.label)},
                         {"box", box_json(object.box)},
                         {"found", object.is_found || object.difficult}});
    for (size_t k = 0; k < one.found.size(); ++k)
      detections.push_back({{"name", name_or_class(names, one.found[k].label)},
                            {"score", one.found[k].score},
                            {"box", box_json(one.found[k].box)},
                            {"right", bool(one.right[k])}});
    out.push_back({{"record", one.record}, {"image", one.image}, {"objects", objects}, {"detections", detections}});
  }
  return out;
}

void DetectedImages::write(const std::map<int, std::string>& names, Json& to) const {
  to["false_detections"] = images_json(false_detections_, names);
  to["missed_objects"] = images_json(missed_objects_, names);
}

}  // namespace cortado::tools
