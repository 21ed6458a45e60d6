#pragma once

// What ImageGtData says of the places of its branches (the layout is common/branch_labels.h's).

#include <cstdint>
#include <vector>

#include "core/box.h"

namespace cortado {

/// The places of a branch, and the template that stands about the middle of each.
struct ObjectBranch {
  float rate;                     ///< pixels between two places
  float field_w, field_h;         ///< of the template, in pixels
  int64_t height = 0, width = 0;  ///< places

  Box field(int64_t h, int64_t w) const {
    const float x = (float(w) + 0.5f) * rate, y = (float(h) + 0.5f) * rate;
    return {x - field_w / 2, y - field_h / 2, x + field_w / 2, y + field_h / 2};
  }
};

/// An object in the pixels of a sample.
struct SampleObject {
  Box box;
  float label;
  bool ignored;
};

/// What a sample shows.
struct SampleObjects {
  std::vector<SampleObject> objects;
  std::vector<Box> regions;      ///< where nothing is to be learned
  int left, top, width, height;  ///< the part of the sample that is image
};

class ObjectLabels {
 public:
  ObjectLabels(std::vector<ObjectBranch> branches, float fg_threshold)
      : branches_(std::move(branches)), fg_threshold_(fg_threshold) {}

  const std::vector<ObjectBranch>& branches() const { return branches_; }

  /// Writes one sample's labels; to[i], of branch i, holds 6 x height x width zeros.
  void write(const SampleObjects& sample, const std::vector<float*>& to);

 private:
  /// How an object fared.
  struct Found {
    bool matched = false;  ///< a place has it
    float overlap = 0;     ///< the largest with a template
    size_t branch = 0;     ///< the one with that template
  };

  void write_branch(const SampleObjects& sample, size_t branch, float* to);
  void write_place(const SampleObjects& sample, size_t branch, int64_t p, float* to);
  void write_missed(const SampleObjects& sample, const std::vector<float*>& to);

  std::vector<ObjectBranch> branches_;
  float fg_threshold_;
  std::vector<Found> found_;  ///< per object
};

}  // namespace cortado
