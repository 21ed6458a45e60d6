#pragma once

// Random parts of images chosen by what they show of the objects (SSD's batch_sampler), and objects that go along with
// the pixels.

#include <optional>
#include <span>
#include <vector>

#include "data/augment/augment_plan.h"
#include "data/augment/crop_box.h"
#include "data/object.h"

namespace cortado::data {

/// A part of `from` that a sampler found, one of all by chance; `from` itself where none found any. Objects' boxes are
/// in parts of the source, whose size is height x width.
CropBox sampled_part(const std::vector<PartSampler>& samplers, const CropBox& from, std::span<const Object> objects,
                     int height, int width, const SampleKey& key);

/// `from` with each edge moved by up to `share` of the side, inwards or outwards (YOLO).
CropBox jittered(double share, const CropBox& from, const SampleKey& key);

/// The objects as the result shows them: boxes in parts of the result, cut off at its edges. Those that `keep` drops or
/// that lie outside are left out. `params` are those of the draw, before resolve_params().
void carry_objects(const AugmentParams& params, std::span<const Object> objects, const KeepObjects& keep,
                   std::vector<Object>& carried);

}  // namespace cortado::data
