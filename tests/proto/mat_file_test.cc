#include "formats/mat_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

template <typename T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string element(uint32_t type, const std::string& bytes) {
  return raw<uint32_t>({type, uint32_t(bytes.size())}) + bytes + std::string((8 - bytes.size() % 8) % 8, '\0');
}

std::string small_element(uint16_t type, const std::string& bytes) {
  return raw<uint16_t>({type, uint16_t(bytes.size())}) + bytes + std::string(4 - bytes.size(), '\0');
}

std::string header() { return std::string(124, 'x') + std::string("\0\1IM", 4); }

/// A variable as MATLAB writes it: names of up to four characters are small elements.
std::string variable(const std::string& name, uint32_t of_class, const std::vector<int32_t>& dims,
                     const std::string& values) {
  const std::string short_name = name.size() <= 4 ? small_element(1, name) : element(1, name);
  return element(14, element(6, raw<uint32_t>({of_class, 0})) + element(5, raw(dims)) + short_name + values);
}

TEST(MatFile, ReadsEveryType) {
  const auto check = [](uint32_t of_class, const std::string& values) {
    const std::string file = header() + variable("other", 6, {1, 1}, element(9, raw<double>({5}))) +
                             variable("data", of_class, {3, 2}, values);
    const MatArray array = parse_mat(file, "data", "x.mat");
    EXPECT_EQ(array.dims, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(array.values, (std::vector<float>{1, 2, 100, 4, 5, 6}));
    EXPECT_EQ(parse_mat(file, "other", "x.mat").values, std::vector<float>{5});
  };
  check(6, element(9, raw<double>({1, 2, 100, 4, 5, 6})));
  check(6, element(2, raw<uint8_t>({1, 2, 100, 4, 5, 6})));  // doubles that are stored as bytes
  check(7, element(7, raw<float>({1, 2, 100, 4, 5, 6})));
  check(8, element(1, raw<int8_t>({1, 2, 100, 4, 5, 6})));
  check(10, element(3, raw<int16_t>({1, 2, 100, 4, 5, 6})));
  check(11, element(4, raw<uint16_t>({1, 2, 100, 4, 5, 6})));
  check(12, element(5, raw<int32_t>({1, 2, 100, 4, 5, 6})));
  check(13, element(6, raw<uint32_t>({1, 2, 100, 4, 5, 6})));
  check(14, element(12, raw<int64_t>({1, 2, 100, 4, 5, 6})));
  check(15, element(13, raw<uint64_t>({1, 2, 100, 4, 5, 6})));
}

TEST(MatFile, ReadsSmallAndEmptyArrays) {
  EXPECT_EQ(parse_mat(header() + variable("data", 6, {1, 2}, small_element(2, "\1\2")), "data", "x").values,
            (std::vector<float>{1, 2}));
  EXPECT_EQ(parse_mat(header() + variable("data", 6, {0, 0}, element(9, "")), "data", "x").values.size(), 0u);
}

TEST(MatFile, WritesTheFormat) {
  const std::string path = testing::TempDir() + "mat_file_test_" + std::to_string(::getpid());
  const std::vector<float> values = {1, 2, 3};
  write_mat(path, "data", {3, 1}, values.data());
  const std::string file = read_file(path);
  ASSERT_EQ(file.size(), 128u + 8 + 16 + 16 + 16 + 8 + 16);
  EXPECT_EQ(file.substr(0, 19), "MATLAB 5.0 MAT-file");
  EXPECT_EQ(file.substr(124, 4), std::string("\0\1IM", 4));
  EXPECT_EQ(file.substr(128), element(14, element(6, raw<uint32_t>({7, 0})) + element(5, raw<int32_t>({3, 1})) +
                                              element(1, "data") + element(7, raw(values))));
  std::filesystem::remove(path);
}

TEST(MatFile, ReadsBack) {
  const std::string path = testing::TempDir() + "mat_file_back_" + std::to_string(::getpid());
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{2, 3}, {1, 1}, {4, 3, 2, 1}, {5, 1, 3}, {0, 4}, {2, 2, 2, 2, 2}}) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= size_t(dim);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = float(i) * 0.1f;
    write_mat(path, "a_long_name", dims, values.data());
    const MatArray array = read_mat(path, "a_long_name");
    EXPECT_EQ(array.dims, dims);
    EXPECT_EQ(array.values, values);
  }
  std::filesystem::remove(path);
}

TEST(MatFile, InvalidFilesAreErrors) {
  const auto refuses = [](const std::string& file, const std::string& part) {
    expect_error([&] { parse_mat(file, "data", "x.mat"); }, ExitCode::kData, part);
  };
  const std::string values = element(9, raw<double>({1, 2}));
  refuses("", "too short");
  refuses(std::string(128, 'x'), "not a MAT-file");
  refuses(std::string(124, 'x') + std::string("\1\0MI", 4), "big-endian");
  refuses(header(), "it has no variable 'data'");
  refuses(header() + element(15, std::string(16, 'z')), "compressed");
  refuses(header() + "1234", "truncated between elements");
  refuses(header() + variable("data", 6, {2, 1}, values).substr(0, 70), "truncated in an element");
  refuses(header() + variable("data", 6, {3, 1}, values), "do not match its dimensions");
  refuses(header() + variable("data", 6, {2}, values), "dimensions of a variable");
  refuses(header() + variable("data", 6, {-2, -1}, values), "dimensions of a variable");
  refuses(header() + variable("data", 6, {2147483647, 2147483647, 2147483647}, values), "do not match");
  refuses(header() + variable("data", 6, {2, 1}, element(77, "12345678")), "do not match");
  refuses(header() + variable("data", 6, {2, 1}, ""), "has no values");
  refuses(header() + variable("data", 1, {2, 1}, values), "not an array of real numbers");
  refuses(header() + variable("data", 6 | 0x800, {2, 1}, values), "not an array of real numbers");
}

TEST(MatFile, DamageNeverCrashes) {
  const std::string good = header() + variable("data", 6, {2, 1}, element(9, raw<double>({1, 2})));
  RandomStream random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = good;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      damaged[124 + random.below(good.size() - 124)] ^= char(1 << random.below(8));
    if (random.below(3) == 0) damaged.resize(random.below(damaged.size()));
    try {
      EXPECT_LE(parse_mat(damaged, "data", "x.mat").values.size(), good.size());
    } catch (const Error& error) {
      EXPECT_EQ(int(error.code()), int(ExitCode::kData));
    }
  }
}

}  // namespace
}  // namespace cortado
