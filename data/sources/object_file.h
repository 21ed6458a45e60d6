#pragma once

// Window files as MS-CNN's tools write them: images with the objects in them. For each image:
//   # INDEX
//   PATH
//   CHANNELS
//   HEIGHT
//   WIDTH
//   NUMBER OF OBJECTS
//   CLASS IGNORED X1 Y1 X2 Y2      one line for each; classes count from 1, IGNORED is 0 or 1
//   NUMBER OF REGIONS
//   X1 Y1 X2 Y2                    one line for each: nothing is to be learned there
// Any white space parts the numbers. CHANNELS, HEIGHT and WIDTH must be there; what counts is how large the image is.

#include <string>
#include <vector>

#include "data/object.h"

namespace cortado::data {

struct FileObject {
  Box box;
  int label = 0;
  bool ignored = false;
};

struct ObjectImage {
  std::string path;
  int line = 0;  ///< of the file, where its path is
  std::vector<FileObject> objects;
  std::vector<Box> regions;  ///< where nothing is to be learned
};

struct ObjectFile {
  std::string path;
  std::vector<ObjectImage> images;  ///< one at least
};

/// Throws Error(kIo), or Error(kData) with the place of the first mistake.
ObjectFile read_object_file(const std::string& path);

}  // namespace cortado::data
