#include "proto/weights/weights_npz.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/files/crc.h"
#include "core/rng.h"
#include "formats/npy.h"
#include "formats/zip.h"
#include "proto/weights/write_weights.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

std::string temporary() { return testing::TempDir() + "weights_npz_test_" + std::to_string(::getpid()); }

std::vector<LayerWeights> some_layers() {
  return {{"conv1/7x7_s2", "Convolution", {{Shape{2, 1, 1, 1}, {1, -2}}, {Shape{2}, {3, 4}}}},
          {"empty", "Bias", {{Shape{0}, {}}}},
          {"0", "Scale", {{Shape{}, {0.1f}}}}};
}

std::string written(bool halves = false) {
  write_weights_as({WeightsOrigin::kNpz, Dialect::kBvlc, halves}, temporary(), "net", some_layers());
  const std::string content = read_file(temporary());
  std::filesystem::remove(temporary());
  return content;
}

/// An archive encoded by hand, for what the writer does not write.
std::string archive(const std::vector<std::pair<std::string, std::string>>& files) {
  ZipWriter writer(temporary(), 0);
  for (const auto& [name, content] : files) {
    writer.begin(name, content.size(), crc_of(content));
    writer.append(content);
  }
  writer.commit();
  const std::string content = read_file(temporary());
  std::filesystem::remove(temporary());
  return content;
}

void expect_refusal(const std::string& content, const std::string& words) {
  const auto read = [&] {
    WeightsOrigin origin;
    read_weights_npz({"w.npz", content, ExitCode::kSnapshot}, origin);
  };
  expect_error(read, ExitCode::kSnapshot, words);
}

TEST(WeightsNpz, ReadsBackWhatWasWritten) {
  for (const bool halves : {false, true}) {
    std::vector<LayerWeights> layers = some_layers();
    if (halves) layers[2].blobs[0].data[0] = 0.0999755859375f;  // the binary16 nearest to 0.1
    WeightsOrigin origin;
    const std::vector<LayerWeights> read = weights_from_bytes(written(halves), "w.npz", &origin);
    EXPECT_EQ(origin.container, WeightsOrigin::kNpz);
    ASSERT_EQ(read.size(), layers.size());
    for (size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].name, layers[i].name);
      ASSERT_EQ(read[i].blobs.size(), layers[i].blobs.size());
      for (size_t k = 0; k < read[i].blobs.size(); ++k) {
        EXPECT_EQ(read[i].blobs[k].shape, layers[i].blobs[k].shape);
        EXPECT_EQ(read[i].blobs[k].data, layers[i].blobs[k].data);
      }
    }
  }
}

TEST(WeightsNpz, InvalidFilesAreErrors) {
  const std::string array = npy_header(Shape{1}) + std::string(4, '\0'), good = written();
  expect_refusal(good.substr(0, good.size() - 30), "directory is missing");
  expect_refusal(archive({{"conv1.npy", array}}), "not named as a blob");
  expect_refusal(archive({{"conv1/1.npy", array}}), "a blob before it is missing");
  expect_refusal(archive({{"conv1/0.npy", array}, {"conv1/0", array}}), "occurs twice");
  expect_refusal(archive({{"conv1/0.npy", array.substr(0, array.size() - 1)}}), "does not match");
  std::string flipped = good;
  flipped[good.find("NUMPY") + 70 + 64] ^= 1;
  expect_refusal(flipped, "is damaged");
  std::string deflated = good;
  deflated[good.find(std::string("PK\1\2", 4)) + 10] = 8;
  expect_refusal(deflated, "is compressed");
}

TEST(WeightsNpz, DamageNeverCrashes) {
  const std::string good = written();
  RandomStream random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = good;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      damaged[random.below(good.size())] ^= char(1 << random.below(8));
    if (random.below(3) == 0) damaged.resize(random.below(damaged.size()));
    try {
      WeightsOrigin origin;
      read_weights_npz({"w.npz", damaged, ExitCode::kSnapshot}, origin);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kSnapshot);
    }
  }
}

}  // namespace
}  // namespace cortado
