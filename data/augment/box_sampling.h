#pragma once

// Random parts of images, chosen by the objects in them (SSD's batch_sampler), and the transformation of objects
// together with the pixels.

#include <optional>
#include <span>
#include <vector>

#include "data/augment/augment_plan.h"
#include "data/augment/crop_box.h"
#include "data/object.h"

namespace cortado::data {

/// Draws one of the parts of `from` that the samplers found, or returns `from` if none found any. The coordinates of
/// objects' boxes are fractions of the source's sides; the source has height x width pixels.
CropBox sampled_part(const std::vector<PartSampler>& samplers, const CropBox& from, std::span<const Object> objects,
                     int height, int width, const SampleKey& key);

/// Returns `from` with each edge moved by up to `share` of the side, inwards or outwards (YOLO).
CropBox jittered(double share, const CropBox& from, const SampleKey& key);

/// The objects in the result: boxes in fractions of the result's sides, clipped at its edges unless `keep` has them
/// whole. Objects outside of it and those that `keep` rejects are dropped. `params` are those of the draw, before
/// resolve_params().
void carry_objects(const AugmentParams& params, std::span<const Object> objects, const KeepObjects& keep,
                   std::vector<Object>& carried);

}  // namespace cortado::data
