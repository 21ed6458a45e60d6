#include "formats/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

/// A file as numpy.save() writes it.
std::string npy(const std::string& descr, const std::string& fortran, const std::string& shape,
                const std::string& elements, char version = 1) {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  while ((dict.size() + 11 + (version > 1 ? 2 : 0)) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string file = std::string("\x93NUMPY") + version + '\0' + char(dict.size() & 255) + char(dict.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + dict + elements;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(Npy, ReadsEveryType) {
  const std::vector<float> expected{1, 2, 250, 4, 5, 6};
  const auto check = [&](const std::string& file) {
    const NpyArray array = parse_npy(file, "x.npy");
    EXPECT_EQ(array.shape, (Shape{2, 3}));
    EXPECT_EQ(array.values, expected);
  };
  check(npy("<f4", "False", "(2, 3)", bytes_of<float>({1, 2, 250, 4, 5, 6})));
  check(npy("<f2", "False", "(2, 3)", bytes_of<uint16_t>({0x3C00, 0x4000, 0x5BD0, 0x4400, 0x4500, 0x4600})));
  check(npy("<f8", "False", "(2, 3)", bytes_of<double>({1, 2, 250, 4, 5, 6})));
  check(npy("<i4", "False", "(2, 3)", bytes_of<int32_t>({1, 2, 250, 4, 5, 6})));
  check(npy("<i8", "False", "(2, 3)", bytes_of<int64_t>({1, 2, 250, 4, 5, 6}), 2));
  check(npy("|u1", "False", "(2, 3)", bytes_of<uint8_t>({1, 2, 250, 4, 5, 6}), 3));
  check(npy("<f4", "True", "(2, 3)", bytes_of<float>({1, 4, 2, 5, 250, 6})));
}

TEST(Npy, ReadsScalarsVectorsAndEmptyArrays) {
  EXPECT_EQ(parse_npy(npy("<f4", "False", "()", bytes_of<float>({7})), "x").shape, Shape{});
  EXPECT_EQ(parse_npy(npy("<f4", "False", "(2,)", bytes_of<float>({7, 8})), "x").values[1], 8);
  EXPECT_EQ(parse_npy(npy("<f4", "False", "(2, 0)", ""), "x").values.size(), 0u);
}

TEST(Npy, ReadsBack) {
  const std::string path = testing::TempDir() + "npy_test_" + std::to_string(::getpid());
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{2, 3}, Shape{1, 2, 3, 1}, Shape{0, 4}}) {
    std::vector<float> values(size_t(shape.count()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i) * 0.1f;
    write_npy(path, shape, values.data());
    const NpyArray array = read_npy(path);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.values, values);
    EXPECT_EQ((read_file(path).size() - values.size() * 4) % 64, 0u);
  }
  std::filesystem::remove(path);
}

TEST(Npy, InvalidFilesAreErrors) {
  const auto expect_refusal = [](const std::string& file, const std::string& part) {
    expect_error([&] { parse_npy(file, "x.npy"); }, ExitCode::kData, part);
  };
  const std::string good = npy("<f4", "False", "(2, 3)", std::string(24, 'x'));
  expect_refusal(good.substr(0, good.size() - 1), "does not match");
  expect_refusal(good + "x", "does not match");
  expect_refusal("", "not a .npy");
  expect_refusal("PK\3\4 some zip archive", "not a .npy");
  expect_refusal(npy(">f4", "False", "(2, 3)", std::string(24, 'x')), "'>f4'");
  expect_refusal(npy("|O", "False", "(2, 3)", std::string(24, 'x')), "'|O'");
  expect_refusal(npy("<f4", "False", "(99999999, 99999999, 99999999)", std::string(24, 'x')), "does not match");
  expect_refusal(npy("<f4", "False", "(99999999999999999999, 3)", std::string(24, 'x')), "shape is damaged");
  expect_refusal(npy("<f4", "False", "(-2, 3)", std::string(24, 'x')), "shape is damaged");
  expect_refusal(npy("<f4", "False", "(2, 3", std::string(24, 'x')), "");
}

TEST(Npy, DamageNeverCrashes) {
  const std::string good = npy("<f4", "False", "(2, 3)", std::string(24, 'x'));
  RandomStream random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = good;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      damaged[random.below(good.size())] ^= char(1 << random.below(8));
    if (random.below(3) == 0) damaged.resize(random.below(damaged.size()));
    try {
      const NpyArray array = parse_npy(damaged, "x.npy");
      EXPECT_EQ(int64_t(array.values.size()), array.shape.count());
    } catch (const Error& error) {
      EXPECT_EQ(int(error.code()), int(ExitCode::kData));
    }
  }
}

}  // namespace
}  // namespace cortado
