#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "net/net.h"
#include "tools/report/shown_image.h"

namespace cortado::tools {

/// The blobs of a net that detects: images and their objects, as AnnotatedData makes them, and what DetectionOutput
/// makes of them.
struct DetectorBlobs {
  std::string images, objects, detections;
  const caffe::LayerParameter* reader = nullptr;  ///< null: the net does not detect
};
DetectorBlobs find_detector(const caffe::NetParameter& net, const caffe::NetState& state);

/// The first test images, with the objects that are there and those that were found.
class DetectedImages {
 public:
  DetectedImages(DetectorBlobs blobs, const Net& net);

  /// Of a batch; DetectorBlobs' are kept by the net. Images beyond the first few are left out.
  void add_batch(const Net& net);
  /// [{"image":..,"objects":[[label,x0,y0,x1,y1],..],"found":[[label,score,x0,y0,x1,y1],..]}], corners in parts of the
  /// image.
  nlohmann::ordered_json json() const { return list_; }

 private:
  DetectorBlobs blobs_;
  SampleImages shown_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
};

}  // namespace cortado::tools
