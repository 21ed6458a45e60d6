#pragma once

// The label maps of the branches of ImageGtData and DetectionData (the layout is in common/branch_labels.h).

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/box.h"

namespace cortado {

/// The positions of a branch, and the template centred on each of them.
struct ObjectBranch {
  float rate;                     ///< pixels between two positions
  float field_w, field_h;         ///< template size in pixels
  int64_t height = 0, width = 0;  ///< positions

  Box field(int64_t h, int64_t w) const {
    const float x = (float(w) + 0.5f) * rate, y = (float(h) + 0.5f) * rate;
    return {x - field_w / 2, y - field_h / 2, x + field_w / 2, y + field_h / 2};
  }
};

/// An object in the coordinates of a sample.
struct SampleObject {
  Box box;
  float label;
  bool ignored, difficult = false;
};

/// The objects and the valid part of a sample.
struct SampleObjects {
  std::vector<SampleObject> objects;
  std::vector<Box> regions;      ///< ignored regions
  int left, top, width, height;  ///< the part of the sample that shows the image, not padding
};

/// How positions are assigned objects.
struct ObjectRule {
  float fg_threshold = 0.5f;    ///< templates that overlap an object by more have its class
  float in_regions = 0.4f;      ///< templates with this fraction in ignored regions are ignored
  float least_match = 0.2f;     ///< objects that overlap every template by less get no label
  float border = 0;             ///< sides are longer than the difference of corners by this
  bool objects_first = false;   ///< templates in ignored regions may have an object
  bool labels_overlap = false;  ///< positions of otherwise unmatched objects have the largest overlap as theirs
  float margin = INFINITY;      ///< templates that extend out of the image by more than half this fraction are ignored
  float least_inside = -1;      ///< and so are those of which less than this fraction is in the image
};

class ObjectLabels {
 public:
  ObjectLabels(std::vector<ObjectBranch> branches, const ObjectRule& rule)
      : branches_(std::move(branches)), rule_(rule) {}

  const std::vector<ObjectBranch>& branches() const { return branches_; }

  /// Writes the labels of one sample. to[i], the map of branch i, must hold 6 x height x width zeros.
  void write(const SampleObjects& sample, const std::vector<float*>& to);

 private:
  /// The match of an object.
  struct Found {
    bool matched = false;  ///< assigned to a position
    float overlap = 0;     ///< the largest overlap with a template
    size_t branch = 0;     ///< the branch of that template
  };

  void write_branch(const SampleObjects& sample, size_t branch, float* to);
  void write_place(const SampleObjects& sample, size_t branch, int64_t p, float* to);
  bool is_inside(const SampleObjects& sample, const Box& field) const;
  void write_missed(const SampleObjects& sample, const std::vector<float*>& to);

  std::vector<ObjectBranch> branches_;
  ObjectRule rule_;
  std::vector<Found> found_;  ///< per object
};

}  // namespace cortado
