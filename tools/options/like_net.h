#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/files/read_text.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// The net whose data layer says how images are prepared.
struct LikeNet {
  std::string path;
  std::shared_ptr<const NetFile> file;
  int layer = 0;       ///< its data layer
  bool found = false;  ///< not named by --like, but beside the deploy net

  const caffe::LayerParameter& data() const { return file->net.layer(layer); }
  /// The databases that it reads, the test's first.
  std::vector<std::string> sources() const;
};

/// --like, or train_val.prototxt beside `model` if it has layers of `deploy`; nothing with --like=none. Throws Error
/// for a net that cannot be read, Error(kUsage) where --like names one without images.
std::optional<LikeNet> find_like_net(const Arguments& arguments, const NetFile& deploy);

}  // namespace cortado::tools
