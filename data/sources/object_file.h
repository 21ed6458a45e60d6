#pragma once

// Window files in the format of MS-CNN's tools: images with their objects. For each image:
//   # INDEX
//   PATH
//   CHANNELS
//   HEIGHT
//   WIDTH
//   NUMBER OF OBJECTS
//   CLASS IGNORED X1 Y1 X2 Y2      one line for each; classes count from 1, IGNORED is 0 or 1. In files of Cascade
//                                  R-CNN's tools DIFFICULT, 0 or 1, follows IGNORED
//   NUMBER OF REGIONS
//   X1 Y1 X2 Y2                    one line for each: regions to ignore in training
// Numbers are separated by any white space. CHANNELS is not used.

#include <string>
#include <vector>

#include "data/object.h"

namespace cortado::data {

struct FileObject {
  Box box;
  int label = 0;
  bool ignored = false, difficult = false;
};

struct ObjectImage {
  std::string path;
  int line = 0;               ///< in the file, of its path
  int height = 0, width = 0;  ///< as listed; the image may differ
  std::vector<FileObject> objects;
  std::vector<Box> regions;  ///< to ignore in training
};

struct ObjectFile {
  std::string path;
  std::vector<ObjectImage> images;  ///< at least one
};

/// `difficult`: objects have that number. Throws Error(kIo), or Error(kData) with the place of the first error.
ObjectFile read_object_file(const std::string& path, bool difficult = false);

}  // namespace cortado::data
