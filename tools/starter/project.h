#pragma once

#include <string>

#include "tools/starter/choice.h"

namespace cortado::tools {

/// What the user asked for.
struct ProjectOptions {
  std::string data, from, weights, output;
  int side = 0;  ///< these three: 0 is to be chosen
  int64_t batch = 0, epochs = 0;
};

/// The files of a new training, as texts, and what was decided.
struct Project {
  std::string folder, net, deploy, solver;  ///< net, deploy, solver: texts
  std::string labels;                       ///< the classes' names, one a line
  std::string data_line;                    ///< what the dataset is
  Choices choices;
  int64_t images = 0;  ///< that the training will see, repeated ones counted
  int64_t flops = 0;   ///< of an update's forward passes

  std::string net_path() const, deploy_path() const, solver_path() const, labels_path() const;
};

/// Decides about a classifier for the dataset and builds it once in both phases, so that what is written trains.
/// Throws Error for every mistake.
Project make_classifier(const ProjectOptions& options);

/// The same for a detector: the dataset is a folder with train_lmdb and test_lmdb of annotated images, as `convert
/// annoset` makes them, and train_lmdb.labelmap.prototxt or labelmap.prototxt.
Project make_detector(const ProjectOptions& options);

/// Makes the folder, and snapshots/ in it, and writes the files. What is there is kept unless `replace`. Throws
/// Error(kUsage/kIo).
void write_project(const Project& project, bool replace);

}  // namespace cortado::tools
