#pragma once

#include <string>
#include <vector>

#include "tools/starter/choice.h"
#include "tools/starter/dataset_folder.h"
#include "tools/starter/starting_net.h"

namespace cortado::tools {

/// The transformations of images for the net.
struct TransformChoice {
  caffe::TransformationParameter train, test;
  int height = 0, width = 0;  ///< of the net's input
  Choices choices;
};

struct TransformOptions {
  int side = 0;              ///< chosen by the user; 0: choose
  bool any_side = false;     ///< the net accepts other image sizes than its own
  bool keep_values = false;  ///< weights need the starting net's mean and scale
};

/// Sizes, colours and augmentation for the images of `data`. Small images of one size keep it and are shifted a little.
/// Others are resized; training reads random parts, testing the centre.
TransformChoice choose_transform(const DatasetFolder& data, const StartingNet& start, const TransformOptions& options);

/// Why images of classes with these names must not be mirrored. Most names are digits, letters or numbers, alone or
/// spelt out ("7", "seven", "letter_b", "Alpha"), or one names a side ("TurnLeft"). "": no reason.
std::string why_not_mirrored(const std::vector<std::string>& names);

}  // namespace cortado::tools
