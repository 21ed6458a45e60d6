#include "data/sources/object_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/files/file.h"
#include "data/sources/token_reader.h"

namespace cortado::data {

namespace {

const std::string kObjectFileHint =
    "an image has the lines '# INDEX', path, channels, height, width, number of objects, 'CLASS IGNORED X1 Y1 X2 Y2' "
    "for each, number of ignored regions, and 'X1 Y1 X2 Y2' for each";

constexpr int kMaxLabel = 1 << 24;  ///< a float represents every class up to it

Box read_box(TokenReader& words) {
  Box box;
  box.x0 = words.number<float>("x1", -kFarthestCorner);
  box.y0 = words.number<float>("y1", -kFarthestCorner);
  box.x1 = words.number<float>("x2", box.x0);
  box.y1 = words.number<float>("y2", box.y0);
  if (std::max(box.x1, box.y1) > kFarthestCorner) words.fail({}, "the box is beyond the maximum image size");
  return box;
}

FileObject read_object(TokenReader& words) {
  FileObject object;
  object.label = words.number<int>("an object's class, which is 1 or more,", 1);
  if (object.label > kMaxLabel) words.fail({}, "class " + std::to_string(object.label) + " is too large");
  const int ignored = words.number<int>("whether an object is ignored, 0 or 1,", 0);
  if (ignored > 1) words.fail({}, std::to_string(ignored) + " where 0 or 1 is expected: whether an object is ignored");
  object.ignored = ignored == 1;
  object.box = read_box(words);
  return object;
}

ObjectImage read_object_image(TokenReader& words) {
  ObjectImage image;
  words.begin_image();
  image.path = words.path("the image's path");
  image.line = words.line();
  words.number<int>("the number of channels", 1);
  words.number<int>("the height", 1);
  words.number<int>("the width", 1);
  const int objects = words.number<int>("the number of objects", 0);
  for (int i = 0; i < objects; ++i) image.objects.push_back(read_object(words));
  const int regions = words.number<int>("the number of ignored regions", 0);
  for (int i = 0; i < regions; ++i) image.regions.push_back(read_box(words));
  return image;
}

}  // namespace

ObjectFile read_object_file(const std::string& path) {
  const std::string text = read_file(path, int64_t(1) << 33);
  if (text.find('\0') != std::string::npos) throw file_error(ExitCode::kData, path, "this is not a text file");
  ObjectFile file;
  file.path = path;
  TokenReader words(path, text, kObjectFileHint);
  while (!words.at_end()) file.images.push_back(read_object_image(words));
  if (file.images.empty()) words.fail({}, "the file lists no image");
  return file;
}

}  // namespace cortado::data
