#pragma once

#include <deque>
#include <vector>

#include "proto/weights/weights_file.h"

namespace cortado {

/// How a BatchNorm works besides normalising, told by its options. BVLC's has neither factor nor term: a Scale layer
/// follows. NVIDIA's has both with scale_bias or one of its fillers; Intel's has what use_weight_bias and bias_term
/// say, which count only where an option of Intel's is written out, since a text without any may be BVLC's.
struct BatchNormForm {
  bool scales = false, shifts = false;  ///< blobs 3 and 4: a factor and a term for each channel
  bool nvidia = false;                  ///< running averages as NVIDIA keeps them
};
BatchNormForm form_of(const caffe::BatchNormParameter& options);

/// Gives a BatchNorm's blobs, of whatever dialect, the order and the meaning that all the rest of the program knows:
/// sums of means and of variances, the factor to divide both by, then a factor and a term for each channel, if it has
/// them. Leaves alone what is no BatchNorm.
void normalize_bn_blobs(LayerWeights& layer);

/// Divides the sums by their factor, which becomes 1: what NVIDIA's files hold. `layer` is a straightened BatchNorm.
void divide_by_factor(LayerWeights& layer);

/// A BatchNorm that scales becomes one that does not and a Scale layer of the name `scale` behind it.
std::vector<LayerWeights> split_batch_norm(const LayerWeights& layer, const std::string& scale);

/// The layers of a file, some of them replaced.
struct FittedWeights {
  std::vector<const LayerWeights*> layers;
  std::deque<LayerWeights> made;       ///< what of `layers` is not the file's
  std::vector<std::string> converted;  ///< "bn1: its scale goes to the layer scale1", for the log
};

/// Where a BatchNorm of `net` and the one of its name in `file` disagree on who scales, moves factors and terms between
/// the BatchNorm and the Scale layer behind it, in the net or in the file, so that the net computes what the file's
/// did. What cannot be moved stays as it is. `file` outlives the result.
FittedWeights fit_batch_norms(const std::vector<const caffe::LayerParameter*>& net,
                              const std::vector<LayerWeights>& file);

}  // namespace cortado
