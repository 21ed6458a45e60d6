#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/box.h"
#include "net/net.h"
#include "tools/infer/detections.h"
#include "tools/report/foremost.h"
#include "tools/report/shown_image.h"

namespace cortado::tools {

/// The blobs of a detector: images and objects from AnnotatedData, and the results of DetectionOutput.
struct DetectorBlobs {
  std::string images, objects, detections;
  const caffe::LayerParameter* reader = nullptr;  ///< null: the net is not a detector
  float overlap = 0.5f;                           ///< of a detection and the object that it finds, at least
};
DetectorBlobs find_detector(const caffe::NetParameter& net, const caffe::NetState& state);

/// The class names of the datasets that a net's reader names, by label.
std::map<int, std::string> object_names(const DetectorBlobs& blobs);

/// An object of the ground truth.
struct TrueObject {
  int label;
  cortado::Box box;  ///< as fractions of the image
  bool difficult;
  bool is_found = false;
};

/// Assigns detections, the highest score first, to the object of their label that they overlap most and that no other
/// detection found. Returns for each whether it found one, and sets TrueObject::is_found.
std::vector<bool> match_objects(const std::vector<Found>& found, float overlap, std::vector<TrueObject>& objects);

/// The test images with the worst results, with their objects and the detections of a score of at least 0.3.
class DetectedImages {
 public:
  DetectedImages(DetectorBlobs blobs, const Net& net);

  /// Adds a batch, whose DetectorBlobs the net keeps.
  void add_batch(const Net& net);

  /// Adds "false_detections", the images with the highest score of a detection that found no object, and
  /// "missed_objects", the images with the most objects that were not found: [{"record":..,"image":..,
  /// "objects":[{"name":..,"box":[x0,y0,x1,y1],"found":..}],"detections":[{"name":..,"score":..,"box":..,
  /// "right":..}]}], corners as fractions of the image.
  void write(const std::map<int, std::string>& names, nlohmann::ordered_json& to) const;

 private:
  struct Judged {
    int64_t record;
    std::vector<TrueObject> objects;
    std::vector<Found> found;
    std::vector<bool> right;
    std::string image;
  };
  static constexpr size_t kShown = 12;

  nlohmann::ordered_json images_json(const Foremost<Judged>& images, const std::map<int, std::string>& names) const;

  DetectorBlobs blobs_;
  SampleImages shown_;
  Foremost<Judged> false_detections_{kShown}, missed_objects_{kShown};
  int64_t record_ = 0;
};

/// The name of a label, or "class 3".
std::string name_or_class(const std::map<int, std::string>& names, int label);

}  // namespace cortado::tools
