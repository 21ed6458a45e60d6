#pragma once

#include <string>
#include <vector>

#include "tools/starter/choice.h"
#include "tools/starter/dataset_folder.h"
#include "tools/starter/starting_net.h"

namespace cortado::tools {

/// What is done to images on their way to the net.
struct TransformChoice {
  caffe::TransformationParameter train, test;
  int height = 0, width = 0;  ///< of what the net sees
  Choices choices;
};

struct TransformOptions {
  int side = 0;              ///< the user's word; 0: to be chosen
  bool any_side = false;     ///< the net takes images of other sizes than the one it was made for
  bool keep_values = false;  ///< weights expect the starting net's mean and scale
};

/// Sizes, colours and random changes for the images of `data`. Small images of one size stay as they are and move a
/// little; others are brought to a size, of which training sees random parts and testing the middle.
TransformChoice choose_transform(const DatasetFolder& data, const StartingNet& start, const TransformOptions& options);

/// Why images of classes with these names must not be mirrored: most are digits, letters or numbers, by themselves or
/// spelt out ("7", "seven", "letter_b", "Alpha"), or one names a side ("TurnLeft"). "": nothing speaks against it.
std::string why_not_mirrored(const std::vector<std::string>& names);

}  // namespace cortado::tools
