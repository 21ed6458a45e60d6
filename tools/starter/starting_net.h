#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/files/read_text.h"

namespace cortado::tools {

/// How a net was trained by those who published it, as its solver says.
struct Recipe {
  std::string source;  ///< whose it is: "lenet's solver"; "": nobody's, and these are usual values
  std::string type = "SGD";
  float base_lr = 0.01F, momentum = 0.9F, momentum2 = 0.999F, weight_decay = 0.0005F;
  int64_t batch = 64;          ///< images of an update
  int64_t batch_at_once = 64;  ///< of a pass
};

/// The net that a new one is made from.
struct StartingNet {
  std::string name;  ///< "resnet18", or the file's path
  std::shared_ptr<const NetFile> file;
  int side = 0;                              ///< of the images it was made for; 0: not known
  bool small_form = false;                   ///< the form of models/ for small images, which begins with a stride of 1
  caffe::TransformationParameter transform;  ///< of its training data
  Recipe recipe;
};

/// models/ of an installation, a wheel or the tree that this program was built in; "": nowhere.
std::string models_folder();

/// `from` is a prototxt, a folder with a train_val.prototxt, or the name of a folder of models/ (beside the source
/// tree's build, or installed). `small_images`: a form for these is taken where there is one. Throws Error(kUsage) with
/// the names that there are, and what reading throws.
StartingNet read_starting_net(const std::string& from, bool small_images);

/// The recipe of the net in models/ that is called so in its file ("ResNet18"); nothing where there is none.
struct KnownRecipe {
  std::string name;  ///< the folder
  Recipe recipe;
};
std::optional<KnownRecipe> recipe_for_net(const std::string& net_name);

/// The names in models/ whose nets tell classes, sorted; empty where models/ is nowhere.
std::vector<std::string> known_starts(const std::string& kind);

}  // namespace cortado::tools
