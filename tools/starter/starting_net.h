#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/files/read_text.h"

namespace cortado::tools {

/// The hyperparameters of the published solver of a net.
struct Recipe {
  std::string source;  ///< "lenet's solver"; "": none, with common values
  std::string type = "SGD";
  float base_lr = 0.01F, momentum = 0.9F, momentum2 = 0.999F, weight_decay = 0.0005F;
  int64_t batch = 64;          ///< images in an update
  int64_t batch_at_once = 64;  ///< images in a pass
};

/// The net that a new one is derived from.
struct StartingNet {
  std::string name;  ///< "resnet18", or the file's path
  std::shared_ptr<const NetFile> file;
  int side = 0;                              ///< of its images; 0: unknown
  bool small_form = false;                   ///< the variant of models/ for small images, which starts with stride 1
  caffe::TransformationParameter transform;  ///< of its training data
  Recipe recipe;
};

/// models/ of an installation, a wheel or the source tree of the build; "": none.
std::string models_folder();

/// `from` is a prototxt, a folder with a train_val.prototxt, or the name of a folder in models/. `small_images`: use
/// the net's variant for small images, if it has one. Throws Error(kUsage) with the names that exist, and as reading
/// does.
StartingNet read_starting_net(const std::string& from, bool small_images);

/// The recipe of the net of models/ with this name in its file ("ResNet18"); nothing if there is none.
struct KnownRecipe {
  std::string name;  ///< the folder
  Recipe recipe;
};
std::optional<KnownRecipe> recipe_for_net(const std::string& net_name);

/// The trained weights of a folder or a net of models/: NAME/NAME.caffemodel. "": there are none, or `from` is a
/// prototxt. Throws as read_starting_net().
std::string trained_weights(const std::string& from);

/// The names in models/ of nets of this kind ("classifier", "detector"), sorted; empty without models/.
std::vector<std::string> known_starts(const std::string& kind);

}  // namespace cortado::tools
