#pragma once

#include <string>

#include "studio/folder.h"

namespace cortado::studio {

/// The images below a folder that have annotations, for `cortado convert annoset`.
struct AnnotationList {
  std::string text;      ///< lines of an image's and its annotation's path, relative to the folder
  int64_t images = 0;    ///< the number of lines
  int64_t left_out = 0;  ///< images without an annotation
};

/// Pairs images with annotations of the same name, as in images/1.jpg and annotations/1.xml: one in the image's own
/// folder, else one in any other. Annotations are .xml (PASCAL VOC) or .txt files. Throws RequestError: kInvalid
/// without any pair, or for names that a list cannot have; kTooLarge.
AnnotationList list_annotations(const Folder& folder, const std::string& path);

}  // namespace cortado::studio
