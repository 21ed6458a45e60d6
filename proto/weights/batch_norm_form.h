#pragma once

#include <deque>
#include <vector>

#include "proto/weights/weights_file.h"

namespace cortado {

/// What a BatchNorm does besides normalising, by its options. BVLC's has neither scale nor shift: a Scale layer
/// follows. NVIDIA's has both with scale_bias or one of its fillers. Intel's follows use_weight_bias and bias_term, but
/// only if one of Intel's options is set: a text without any may be BVLC's.
struct BatchNormForm {
  bool scales = false, shifts = false;  ///< blobs 3 and 4: scale and shift per channel
  bool nvidia = false;                  ///< running averages, as in NVIDIA's dialect
  float eps = 0;                        ///< what is added to variances: in NVIDIA's dialect at least 1e-5
};
BatchNormForm form_of(const caffe::BatchNormParameter& options);

/// Converts the blobs of a BatchNorm of any dialect to the order that the rest of the program uses: sums of means and
/// of variances, their divisor, then scale and shift per channel, if present. Other layers are unchanged.
void normalize_bn_blobs(LayerWeights& layer);

/// Divides the sums by their divisor, which becomes 1, as in NVIDIA's files. `layer` is a normalized BatchNorm.
void divide_by_factor(LayerWeights& layer);

/// Splits a BatchNorm with a scale into one without and a Scale layer `scale` after it.
std::vector<LayerWeights> split_batch_norm(const LayerWeights& layer, const std::string& scale);

/// The layers of a file, with some of them replaced.
struct FittedWeights {
  std::vector<const LayerWeights*> layers;
  std::deque<LayerWeights> made;       ///< storage of the replaced layers
  std::vector<std::string> converted;  ///< "bn1: its scale goes to the layer scale1", for the log
};

/// Adapts BatchNorms of `file` to `net`. Where the BatchNorm of the same name in `net` differs in having a scale, scale
/// and shift move between the BatchNorm and the Scale layer after it, in the net or in the file, so that the net
/// computes the same. What cannot be moved is unchanged. `file` must outlive the result.
FittedWeights fit_batch_norms(const std::vector<const caffe::LayerParameter*>& net,
                              const std::vector<LayerWeights>& file);

}  // namespace cortado
