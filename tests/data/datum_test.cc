#include "data/formats/datum.h"

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
      EXPECT_EQ(view.label, datum.label());
      EXPECT_TRUE(view.raw.bytes == nullptr || int64_t(datum.data().size()) == view.raw.count());
      ++accepted;
    } catch (const SampleError&) {
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace

}  // namespace cortado::data::testing
