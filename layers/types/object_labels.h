#pragma once

// The label maps of ImageGtData's branches (the layout is in common/branch_labels.h).

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
  bool ignored;
};

/// The objects and the valid part of a sample.
struct SampleObjects {
  std::vector<SampleObject> objects;
  std::vector<Box> regions;      ///< ignored regions
  int left, top, width, height;  ///< the part of the sample that shows the image, not padding
};

class ObjectLabels {
 public:
  ObjectLabels(std::vector<ObjectBranch> branches, float fg_threshold)
      : branches_(std::move(branches)), fg_threshold_(fg_threshold) {}

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
  void write_missed(const SampleObjects& sample, const std::vector<float*>& to);

  std::vector<ObjectBranch> branches_;
  float fg_threshold_;
  std::vector<Found> found_;  ///< per object
};

}  // namespace cortado
