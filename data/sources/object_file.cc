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

constexpr const char* kDifficultHint = "; DIFFICULT follows IGNORED";

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

bool read_flag(TokenReader& words, const char* what, const std::string& meaning) {
  const int flag = words.number<int>(what, 0);
  if (flag > 1) words.fail({}, std::to_string(flag) + " where 0 or 1 is expected: whether an object is " + meaning);
  return flag == 1;
}

FileObject read_object(TokenReader& words, bool difficult) {
  FileObject object;
  object.label = words.number<int>("an object's class, which is 1 or more,", 1);
  if (object.label > kMaxLabel) words.fail({}, "class " + std::to_string(object.label) + " is too large");
  object.ignored = read_flag(words, "whether an object is ignored, 0 or 1,", "ignored");
  if (difficult) object.difficult = read_flag(words, "whether an object is difficult, 0 or 1,", "difficult");
  object.box = read_box(words);
  return object;
}

ObjectImage read_object_image(TokenReader& words, bool difficult) {
  ObjectImage image;
  words.begin_image();
  image.path = words.path("the image's path");
  image.line = words.line();
  words.number<int>("the number of channels", 1);
  image.height = words.number<int>("the height", 1);
  image.width = words.number<int>("the width", 1);
  const int objects = words.number<int>("the number of objects", 0);
  for (int i = 0; i < objects; ++i) image.objects.push_back(read_object(words, difficult));
  const int regions = words.number<int>("the number of ignored regions", 0);
  for (int i = 0; i < regions; ++i) image.regions.push_back(read_box(words));
  return image;
}

}  // namespace

ObjectFile read_object_file(const std::string& path, bool difficult) {
  const std::string text = read_file(path, int64_t(1) << 33);
  if (text.find('\0') != std::string::npos) throw file_error(ExitCode::kData, path, "this is not a text file");
  ObjectFile file;
  file.path = path;
  const std::string hint = std::string(kObjectFileHint) + (difficult ? kDifficultHint : "");
  TokenReader words(path, text, hint);
  while (!words.at_end()) file.images.push_back(read_object_image(words, difficult));
  if (file.images.empty()) words.fail({}, "the file lists no image");
  return file;
}

}  // namespace cortado::data
