#include "data/formats/datum.h"

#include <bit>
#include <cmath>

#include "proto/cortado.pb.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

TEST(Datum, ReadsWhatProtobufWrites) {
  caffe::Datum datum;
  datum.set_channels(2);
  datum.set_height(3);
  datum.set_width(5);
  datum.set_label(-7);
  datum.set_record_id(99);
  datum.set_data(std::string(30, 'p'));
  const std::string message = datum.SerializeAsString();
  std::vector<float> floats;
  const DatumView view = parse_datum(message, floats);
  EXPECT_EQ(view.raw.shape_str(), "2x3x5");
  EXPECT_EQ(view.label, -7);
  EXPECT_EQ(view.raw.bytes[29], 'p');
  EXPECT_EQ(view.raw.floats, nullptr);
  EXPECT_TRUE(view.encoded.empty());
}

TEST(Datum, ReadsFloatsPackedOrNot) {
  caffe::Datum datum;
  datum.set_channels(1);
  datum.set_height(1);
  datum.set_width(3);
  for (const float value : {1.5f, -2.0f, 3.25f}) datum.add_float_data(value);
  std::vector<float> floats;
  EXPECT_EQ(parse_datum(datum.SerializeAsString(), floats).raw.floats[2], 3.25f);

  datum.clear_float_data();
  const float values[] = {1.5f, -2.0f, 3.25f};
  const std::string packed =
      datum.SerializeAsString() + "\x32\x0c" + std::string(reinterpret_cast<const char*>(values), 12);
  EXPECT_EQ(parse_datum(packed, floats).raw.floats[1], -2.0f);
}

TEST(Datum, SkipsUnknownFields) {
  const std::string unknown(
      "\xF8\x01\x05\xFA\x01\x03"
      "abc\xFD\x01"
      "1234\xF9\x01"
      "12345678",
      25);
  const std::string message = unknown + make_datum(1, 1, 2, "xy", 3);
  std::vector<float> floats;
  EXPECT_EQ(parse_datum(message, floats).label, 3);
}

TEST(Datum, HoldsAnEncodedImage) {
  const std::string message = make_encoded_datum("JPEG...", 4);
  std::vector<float> floats;
  const DatumView view = parse_datum(message, floats);
  EXPECT_EQ(view.encoded, "JPEG...");
  EXPECT_EQ(view.label, 4);
  caffe::Datum datum;
  ASSERT_TRUE(datum.ParseFromString(message));
  EXPECT_TRUE(datum.encoded());
}

std::string datum_with_label(const std::string& label) {
  caffe::Datum datum;
  datum.ParseFromString(make_datum(1, 1, 2, "xy", 0));
  datum.clear_label();
  return datum.SerializeAsString() + label;
}

template <typename T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Forks declare the label of Datum as float, double or repeated.
TEST(Datum, ReadsLabelsOfEveryType) {
  std::vector<float> floats;
  const auto label = [&](const std::string& field) { return parse_datum(datum_with_label(field), floats).label; };
  EXPECT_EQ(label(""), 0);
  EXPECT_EQ(label("\x28\x03"), 3);
  EXPECT_EQ(label(std::string("\x28") + std::string(9, '\xff') + "\x01"), -1);
  EXPECT_EQ(label("\x2d" + bytes_of(2.5f)), 2.5);
  EXPECT_EQ(label("\x2d" + bytes_of(-1e10f)), -1e10f);
  EXPECT_EQ(label("\x29" + bytes_of(0.1)), 0.1);
  expect_sample_error("several labels", [&] { label(std::string("\x2a\x02\x01\x02", 4)); });
  expect_sample_error("several labels", [&] { label("\x28\x03\x28\x04"); });
  expect_sample_error("several labels", [&] { label("\x2d" + bytes_of(2.5f) + "\x2d" + bytes_of(3.5f)); });
  expect_sample_error("not a number", [&] { label("\x2d" + bytes_of(NAN)); });
  expect_sample_error("not a number", [&] { label("\x29" + bytes_of(double(INFINITY))); });
  expect_sample_error("truncated", [&] { label("\x2d\x01\x02"); });
}

TEST(Datum, ClassesAreWholeNumbers) {
  EXPECT_EQ(class_of(3), 3);
  EXPECT_EQ(class_of(INT32_MIN), INT32_MIN);
  for (const Label label : {2.5, 2147483648.0, -1e10})
    expect_sample_error("which is not a class", [&] { class_of(label); });
}

/// Other types of the fields that are read would otherwise be skipped: protobuf takes them for unknown fields.
TEST(Datum, ReportsObjectsOfOtherTypes) {
  const std::string image = make_datum(1, 1, 2, "xy", 0);
  const auto objects = [&](const std::string& group) {
    std::vector<Object> found;
    const std::string message =
        "\x0a" + std::string(1, char(image.size())) + image + "\x1a" + std::string(1, char(group.size())) + group;
    parse_annotated_datum(message, found);
    return found.size();
  };
  const std::string coordinate = "\x0d" + bytes_of(0.5f);
  EXPECT_EQ(objects(std::string("\x08\x01\x12\x07\x12\x05", 6) + coordinate), 1u);
  expect_sample_error("group_label", [&] { objects("\x0d" + bytes_of(1.0f)); });
  expect_sample_error("xmin", [&] { objects("\x08\x01\x12\x0b\x12\x09\x09" + bytes_of(0.5)); });
}

TEST(Datum, WrongSizesAreErrors) {
  std::vector<float> floats;
  expect_sample_error("contains 11", [&] { parse_datum(make_datum(1, 3, 4, std::string(11, 'x'), 0), floats); });
  expect_sample_error("contains 13", [&] { parse_datum(make_datum(1, 3, 4, std::string(13, 'x'), 0), floats); });
  expect_sample_error("contains 0", [&] { parse_datum(make_datum(1, 3, 4, "", 0), floats); });
  expect_sample_error("the shape 0x3x4", [&] { parse_datum(make_datum(0, 3, 4, "", 0), floats); });
  expect_sample_error("the shape 1x-3x-4",
                      [&] { parse_datum(make_datum(1, -3, -4, std::string(12, 'x'), 0), floats); });
  expect_sample_error("the shape", [&] { parse_datum(make_datum(1 << 30, 1 << 30, 16, "x", 0), floats); });
  expect_sample_error("empty", [&] { parse_datum(make_encoded_datum("", 0), floats); });
  expect_sample_error("the shape", [&] { parse_datum("", floats); });
}

/// Also of another type, which protobuf takes for an unknown field.
Label label_by_protobuf(const caffe::Datum& datum) {
  const auto& unknown = datum.GetReflection()->GetUnknownFields(datum);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() != caffe::Datum::kLabelFieldNumber) continue;
    if (field.type() == field.TYPE_FIXED32) return std::bit_cast<float>(field.fixed32());
    if (field.type() == field.TYPE_FIXED64) return std::bit_cast<double>(field.fixed64());
  }
  return datum.label();
}

TEST(Datum, AgreesWithProtobufOnDamage) {
  RandomStream random(3);
  std::vector<float> floats;
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string message = make_datum(1, 2, 8, random_bytes(random, 16), int32_t(random.next_word()));
    if (random.below(2)) message.resize(random.below(message.size()));
    for (uint64_t flips = random.below(4); flips > 0 && !message.empty(); --flips)
      message[random.below(message.size())] ^= char(1 << random.below(8));
    try {
      const DatumView view = parse_datum(message, floats);
      caffe::Datum datum;
      ASSERT_TRUE(datum.ParseFromString(message));  // accepts nothing that protobuf refuses
      EXPECT_EQ(view.label, label_by_protobuf(datum));
      EXPECT_TRUE(view.raw.bytes == nullptr || int64_t(datum.data().size()) == view.raw.count());
      ++accepted;
    } catch (const SampleError&) {
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace

}  // namespace cortado::data::testing
