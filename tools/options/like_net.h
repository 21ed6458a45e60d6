#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/files/read_text.h"
#include "tools/options/flags.h"
#include "tools/options/inference_net.h"

namespace cortado::tools {

/// The net whose data layer prepares images for another net.
struct LikeNet {
  std::string path;
  std::shared_ptr<const NetFile> file;
  int layer = 0;       ///< the index of its data layer
  bool found = false;  ///< not named by --like

  const caffe::LayerParameter& data() const { return file->net.layer(layer); }
  /// The databases that it reads, those for testing first.
  std::vector<std::string> sources() const;
};

/// The net of --like. Without --like, the net for training that `net` was derived from, or train_val.prototxt next to
/// --model, if it shares layers with `net`. Nothing with --like=none. Throws Error if the net cannot be read,
/// Error(kUsage) if --like names a net without images.
std::optional<LikeNet> find_like_net(const Arguments& arguments, const InferenceNet& net);

}  // namespace cortado::tools
