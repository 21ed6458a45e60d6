#pragma once

#include <string>

#include "tools/starter/choice.h"
#include "tools/starter/trunk.h"

namespace cortado::tools {

/// The user's options.
struct ProjectOptions {
  std::string data, from, weights, output;
  int side = 0;  ///< these three: 0 chooses
  int64_t batch = 0, epochs = 0;
  bool scratch = false;  ///< random weights, also for a net that has trained ones in models/
  Trunk trunk = Trunk::kAuto;
};

/// The texts of the files of a new training, and the choices.
struct Project {
  std::string folder, net, deploy, solver;  ///< net, deploy, solver: texts
  std::string labels;                       ///< the class names, one a line
  std::string data_line;                    ///< a description of the dataset
  Choices choices;
  std::string hint;    ///< advice; "": none
  int64_t images = 0;  ///< images of the whole training, repeated ones counted
  int64_t flops = 0;   ///< of the forward passes of an update

  std::string net_path() const, deploy_path() const, solver_path() const, labels_path() const, snapshots_path() const;
};

/// Chooses a classifier for the dataset, and builds it once in both phases to check that it trains. Throws Error.
Project make_classifier(const ProjectOptions& options);

/// The same for a detector. The dataset is a folder with train_lmdb and test_lmdb of annotated images, as `convert
/// annoset` writes them, and train_lmdb.labelmap.prototxt or labelmap.prototxt.
Project make_detector(const ProjectOptions& options);

/// Writes the files and creates snapshots/ in the folder, which exists. Keeps existing files unless `replace`. Throws
/// Error(kUsage/kIo); then it leaves no new files.
void write_project(const Project& project, bool replace);

}  // namespace cortado::tools
