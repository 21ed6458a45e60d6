#include "data/formats/annotations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "core/text/json.h"
#include "data/formats/text.h"
#include "data/sample.h"

namespace cortado::data {

namespace {

/// Converts corners from pixels to fractions of the sides.
Box in_parts(double x0, double y0, double x1, double y1, ImageExtent extent) {
  for (const double v : {x0, y0, x1, y1}) {
    if (std::isnan(v)) throw SampleError("the corner of a box is not a number");
    if (!is_near_enough(v)) throw SampleError("the corner of a box is beyond the maximum image size");
  }
  if (x0 > x1 || y0 > y1) throw SampleError("a box ends before it begins");
  const double h = double(extent.height), w = double(extent.width);
  return {float(x0 / w), float(y0 / h), float(x1 / w), float(y1 / h)};
}

/// Prefixes the errors of reading one object with its place.
template <typename Where, typename Read>
void read_object_of(const Where& where, const Read& read) {
  try {
    read();
  } catch (const SampleError& error) {
    throw SampleError(where() + ": " + error.what(), error.hint());
  }
}

std::string line_text(int64_t line) { return "line " + std::to_string(line); }

pugi::xml_node child_of(const pugi::xml_node& parent, const char* name) {
  const pugi::xml_node child = parent.child(name);
  if (!child) throw SampleError("<" + std::string(parent.name()) + "> has no <" + name + ">");
  return child;
}

double number_in(const pugi::xml_node& parent, const char* name) {
  const std::string text = child_of(parent, name).child_value();
  std::istringstream stream(text);
  double value = 0;
  if (!(stream >> value))
    throw SampleError("<" + std::string(name) + "> is '" + text.substr(0, 40) + "', not a number");
  return value;
}

int64_t side_in(const pugi::xml_node& size, const char* name) {
  const double side = number_in(size, name);
  if (!(side >= 1 && side <= 1e6)) throw SampleError("the image's " + std::string(name) + " is not a valid size");
  return int64_t(side);
}

using Json = nlohmann::json;

/// An integer that fits, in any notation. Throws SampleError.
int64_t integer_of(const Json& number) {
  const double value = number.get<double>();
  if (!(std::abs(value) <= 9e15) || value != std::floor(value)) throw SampleError(number.dump() + " is not an integer");
  return int64_t(value);
}

CocoSet coco_of(const Json& set) {
  CocoSet made;
  std::map<int64_t, size_t> places;
  const auto check_new = [](bool is_new, const Json& item, const char* what) {
    if (!is_new) throw SampleError("two " + std::string(what) + " have the id " + item.at("id").dump());
  };
  for (const Json& category : set.at("categories"))
    check_new(made.categories.emplace(integer_of(category.at("id")), category.at("name").get<std::string>()).second,
              category, "categories");
  for (const Json& image : set.at("images")) {
    Annotation one{
        image.at("file_name").get<std::string>(), {integer_of(image.at("height")), integer_of(image.at("width"))}, {}};
    if (one.extent.height < 1 || one.extent.width < 1) throw SampleError("image '" + one.file + "' has no size");
    check_new(places.emplace(integer_of(image.at("id")), made.images.size()).second, image, "images");
    made.images.push_back(std::move(one));
  }
  for (const Json& given : set.at("annotations")) {
    const auto place = places.find(integer_of(given.at("image_id")));
    const auto category = made.categories.find(integer_of(given.at("category_id")));
    if (place == places.end() || category == made.categories.end())
      throw SampleError("annotation " + given.at("id").dump() + " refers to an unknown image or category");
    Annotation& image = made.images[place->second];
    const auto box = given.at("bbox").get<std::vector<double>>();
    if (box.size() != 4) throw SampleError("annotation " + given.at("id").dump() + ": bbox must have four numbers");
    read_object_of([&] { return "annotation " + given.at("id").dump(); },
                   [&] {
                     image.objects.push_back({category->second,
                                              in_parts(box[0], box[1], box[0] + box[2], box[1] + box[3], image.extent),
                                              given.contains("iscrowd") && integer_of(given.at("iscrowd")) != 0});
                   });
  }
  return made;
}

NamedObject voc_object(const pugi::xml_node& object, ImageExtent extent) {
  const pugi::xml_node box = child_of(object, "bndbox");
  const std::string name = object.child_value("name");
  if (name.empty()) throw SampleError("an <object> has no <name>");
  const double x0 = number_in(box, "xmin"), y0 = number_in(box, "ymin");
  const double x1 = number_in(box, "xmax"), y1 = number_in(box, "ymax");
  const bool difficult = object.child("difficult") && number_in(object, "difficult") != 0;
  return {name, in_parts(x0, y0, x1, y1, extent), difficult};
}

NamedObject object_in_line(const std::string& line, ImageExtent extent) {
  std::istringstream words(line);
  std::string name;
  double x0, y0, x1, y1;
  if (!(words >> name >> x0 >> y0 >> x1 >> y1))
    throw SampleError("'" + line.substr(0, 60) + "' is not LABEL XMIN YMIN XMAX YMAX");
  return {name, in_parts(x0, y0, x1, y1, extent), false};
}

}  // namespace

Annotation parse_voc(std::string_view xml, const std::function<ImageExtent()>& image_extent) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size());
  if (!result) throw SampleError("not XML: " + std::string(result.description()));
  const pugi::xml_node root = document.child("annotation");
  if (!root) throw SampleError("<annotation> is missing", "use PASCAL VOC's format");
  Annotation made{root.child_value("filename"), {}, {}};
  const pugi::xml_node size = root.child("size");
  made.extent = size ? ImageExtent{side_in(size, "height"), side_in(size, "width")} : image_extent();
  for (const pugi::xml_node& object : root.children("object")) {
    const auto where = [&] {
      return line_text(1 + std::count(xml.begin(), xml.begin() + object.offset_debug(), '\n'));
    };
    read_object_of(where, [&] { made.objects.push_back(voc_object(object, made.extent)); });
  }
  return made;
}

Annotation parse_box_lines(std::string_view text, ImageExtent extent) {
  Annotation made{"", extent, {}};
  std::istringstream lines{std::string(without_bom(text))};
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    read_object_of([&] { return line_text(number); }, [&] { made.objects.push_back(object_in_line(line, extent)); });
  }
  return made;
}

CocoSet parse_coco(std::string_view json) {
  try {
    return coco_of(parse_json<Json>(json));
  } catch (const JsonError& error) {
    throw SampleError(std::string("not JSON: ") + error.what());
  } catch (const Json::exception& error) {
    throw SampleError("not COCO's format: " + json_reason(error.what()));
  }
}

}  // namespace cortado::data
