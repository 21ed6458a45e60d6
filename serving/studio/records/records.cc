#include "studio/records/records.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/text/json.h"
#include "core/text/text.h"
#include "data/formats/datum.h"
#include "data/formats/text.h"
#include "data/image/image.h"
#include "data/image/png.h"
#include "data/lmdb/lmdb.h"
#include "data/sources/datum_reader.h"
#include "tools/canvas/canvas.h"
#include "tools/options/flags.h"

namespace cortado::studio {

namespace {

using RecordsJson = nlohmann::ordered_json;

constexpr int kPictureSide = 112;  ///< the longer side at most
constexpr int kPlainSide = 48;     ///< up to this side pictures are PNGs, whose pixels are exact

/// The sample as one gray or three colour planes of bytes. Floats up to 1 are taken as fractions.
data::Image image_of(const data::Sample& sample) {
  data::Image image;
  image.resize(sample.channels == 3 ? 3 : 1, sample.height, sample.width);
  const auto at = [&](int c, int y, int x) {
    return sample.interleaved ? (size_t(y) * size_t(sample.width) + size_t(x)) * size_t(sample.channels) + size_t(c)
                              : (size_t(c) * size_t(sample.height) + size_t(y)) * size_t(sample.width) + size_t(x);
  };
  const float most = sample.floats ? *std::max_element(sample.floats, sample.floats + sample.count()) : 255;
  const float factor = most <= 1 ? 255 : 1;
  size_t i = 0;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      for (int c = 0; c < image.channels; ++c, ++i)
        image.pixels[i] = sample.bytes ? sample.bytes[at(c, y, x)]
                                       : uint8_t(std::clamp(sample.floats[at(c, y, x)] * factor, 0.0f, 255.0f));
  return image;
}

/// The average of blocks of `side` x `side` pixels.
data::Image averaged(const data::Image& image, int side) {
  data::Image out;
  out.resize(image.channels, image.height / side, image.width / side);
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x)
      for (int c = 0; c < out.channels; ++c) {
        int64_t sum = 0;
        for (int dy = 0; dy < side; ++dy)
          for (int dx = 0; dx < side; ++dx)
            sum += image.pixels[(size_t(y * side + dy) * size_t(image.width) + size_t(x * side + dx)) *
                                    size_t(image.channels) +
                                size_t(c)];
        out.pixels[(size_t(y) * size_t(out.width) + size_t(x)) * size_t(out.channels) + size_t(c)] =
            uint8_t(sum / (int64_t(side) * side));
      }
  return out;
}

data::Image reduced(data::Image image) {
  const int longer = std::max(image.height, image.width);
  if (longer <= kPictureSide) return image;
  const int block = std::min({longer / kPictureSide, image.height, image.width});
  if (block > 1) image = averaged(image, block);
  const double scale = double(kPictureSide) / std::max(image.height, image.width);
  if (scale >= 1) return image;
  data::Image out;
  data::resize_bilinear(image, std::max(1, int(std::lround(image.height * scale))),
                        std::max(1, int(std::lround(image.width * scale))), out);
  return out;
}

data::Image with_boxes(const data::Image& image, const std::vector<data::Object>& objects) {
  data::Image colour;
  colour.resize(3, image.height, image.width);
  for (size_t i = 0; i < colour.pixels.size(); ++i) colour.pixels[i] = image.pixels[image.channels == 3 ? i : i / 3];
  tools::Canvas canvas(colour);
  for (const data::Object& object : objects) {
    const double width = image.width, height = image.height;
    canvas.outline({{object.box.x0 * width, object.box.y0 * height},
                    (object.box.x1 - object.box.x0) * width,
                    (object.box.y1 - object.box.y0) * height},
                   1.2, {255, 220, 0});
  }
  return canvas.image();
}

/// {"key", "type", "data", "height", "width"}: the size is that of the record's image, not of the picture.
RecordsJson picture_of(const std::string& key, data::Record record) {
  std::vector<data::Object> objects;
  if (data::is_annotated(record.value)) record.value = data::parse_annotated_datum(record.value, objects);
  data::DatumReader reader;
  data::Label label = 0;
  const data::Sample sample = reader.read(record, label);
  data::Image image = reduced(image_of(sample));
  if (!objects.empty()) image = with_boxes(image, objects);
  const bool is_small = std::max(image.height, image.width) <= kPlainSide;
  return {{"key", key},
          {"type", is_small ? "image/png" : "image/jpeg"},
          {"data", base64(is_small ? data::encode_png(image) : data::encode_image(image, "jpg"))},
          {"height", sample.height},
          {"width", sample.width}};
}

int run_records(const tools::Arguments& arguments) {
  std::map<std::string, RecordsJson> found;  // by key
  const int64_t first = arguments.integer("first");
  for (const RecordsJson& key : parse_json<RecordsJson>(read_file(arguments.text("keys"))))
    found[key.get<std::string>()] = nullptr;
  const std::shared_ptr<const data::Lmdb> database = data::Lmdb::open(arguments.operands()[0]);
  data::LmdbCursor cursor(database);
  size_t missing = found.size();
  for (int64_t i = 0; i < database->records() && (i < first || missing > 0); ++i) {
    const data::Record record = cursor.locate_next();
    const std::string key = data::printable(record.key);
    if (i < first && !found.contains(key)) {
      found[key] = nullptr;
      ++missing;
    }
    const auto wanted = found.find(key);
    if (wanted == found.end() || !wanted->second.is_null()) continue;
    --missing;
    try {
      wanted->second = database->is_whole(record) ? picture_of(wanted->first, record) : RecordsJson{};
    } catch (const data::SampleError&) {  // stays without a picture
    }
  }
  RecordsJson pictures = RecordsJson::array();
  for (const auto& [key, picture] : found)
    if (picture.is_object()) pictures.push_back(picture);
  std::cout << dumped_json(RecordsJson{{"pictures", pictures}}) << "\n";
  return 0;
}

}  // namespace

tools::Command records_command() {
  return {.name = "records",
          .summary = "Show records of a dataset as small pictures, for the studio",
          .flags = {{.name = "first",
                     .kind = tools::FlagKind::kInteger,
                     .value = "N",
                     .help = "show the first N records, too",
                     .fallback = "0",
                     .least = 0,
                     .most = 1000},
                    tools::required({.name = "keys",
                                     .kind = tools::FlagKind::kText,
                                     .value = "FILE",
                                     .help = "a JSON list of keys, as `cortado data stats` prints them"})},
          .operands = {"LMDB", "a dataset", 1, 1},
          .run = run_records};
}

}  // namespace cortado::studio
