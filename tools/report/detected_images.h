#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "net/net.h"
#include "tools/report/shown_image.h"

namespace cortado::tools {

/// The blobs of a detector: images and objects from AnnotatedData, and the results of DetectionOutput.
struct DetectorBlobs {
  std::string images, objects, detections;
  const caffe::LayerParameter* reader = nullptr;  ///< null: the net is not a detector
};
DetectorBlobs find_detector(const caffe::NetParameter& net, const caffe::NetState& state);

/// The first test images, with their objects and the detections.
class DetectedImages {
 public:
  DetectedImages(DetectorBlobs blobs, const Net& net);

  /// Adds a batch, whose DetectorBlobs the net keeps. Drops images after the first few.
  void add_batch(const Net& net);
  /// [{"image":..,"objects":[[label,x0,y0,x1,y1],..],"found":[[label,score,x0,y0,x1,y1],..]}], corners as fractions of
  /// the image.
  nlohmann::ordered_json json() const { return list_; }

 private:
  DetectorBlobs blobs_;
  SampleImages shown_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::array();
};

}  // namespace cortado::tools
