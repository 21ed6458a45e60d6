#include "formats/hdf5_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/files/file.h"
#include "tests/harness/errors.h"
#include "tests/harness/hdf5_here.h"

namespace cortado {
namespace {

class Hdf5File : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_HDF5();
    std::filesystem::create_directories(folder_);
  }
  ~Hdf5File() override { std::filesystem::remove_all(folder_); }

  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }

  /// Writes three datasets, in a group and at the root.
  std::string sample() const {
    const std::string path = *this / "sample.h5";
    Hdf5Writer writer(path, {{"b", "F32", {2, 3}}, {"g/a", "I64", {2}}, {"word", "STR", {5}}});
    const float b[6] = {0, 1, 2, 3, 4.5f, -5};
    const int64_t a[2] = {7, -8};
    writer.add(b, sizeof b);
    writer.add(a, sizeof a);
    writer.add("hello", 5);
    const std::string digest = writer.commit();
    EXPECT_EQ(digest, digest_of(read_file(path)));
    return path;
  }

  std::string folder_ = testing::TempDir() + "cortado_hdf5_" + std::to_string(::getpid());
};

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST_F(Hdf5File, ReadsBackWhatWasWritten) {
  Hdf5Reader reader({.path = sample(), .names = {}});
  ASSERT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.entries()[0].name, "b");
  EXPECT_EQ(reader.entries()[1].name, "g/a");
  EXPECT_EQ(reader.entries()[1].type, "I64");
  std::vector<float> b(6), a(2);
  reader.read(b.data());
  EXPECT_EQ(b, (std::vector<float>{0, 1, 2, 3, 4.5f, -5}));
  reader.read(a.data());
  EXPECT_EQ(a, (std::vector<float>{7, -8}));
  EXPECT_EQ(reader.read_bytes(), "hello");
  reader.finish();
}

TEST_F(Hdf5File, ReadsOnlyRequestedDatasets) {
  const std::string path = sample();
  Hdf5Reader group({.path = path, .names = {"g/"}});
  ASSERT_EQ(group.entries().size(), 1u);
  EXPECT_EQ(group.entries()[0].name, "g/a");
  Hdf5Reader list({.path = path, .names = {"b"}, .values = false});
  EXPECT_EQ(list.entries()[0].shape, Shape({2, 3}));
  list.finish();
}

TEST_F(Hdf5File, EqualContentsGiveEqualBytes) {
  const std::string first = read_file(sample());
  ::sleep(1);  // libhdf5 stores the creation time in seconds unless disabled
  EXPECT_TRUE(read_file(sample()) == first);
}

TEST_F(Hdf5File, TypesAreWidened) {
  const std::string path = *this / "types.h5";
  const uint8_t u8 = 200;
  const int8_t i8 = -3;
  const uint16_t u16 = 60000;
  const int16_t i16 = -30000;
  const uint32_t u32 = 3000000000u;
  const int32_t i32 = -5;
  const uint64_t u64 = uint64_t(1) << 63;
  const double f64 = 0.1;
  Hdf5Writer writer(path, {{"0", "U8", {}},
                           {"1", "I8", {}},
                           {"2", "U16", {}},
                           {"3", "I16", {}},
                           {"4", "U32", {}},
                           {"5", "I32", {}},
                           {"6", "U64", {}},
                           {"7", "F64", {}},
                           {"8", "F32", {0, 4}}});
  writer.add(&u8, 1), writer.add(&i8, 1), writer.add(&u16, 2), writer.add(&i16, 2), writer.add(&u32, 4);
  writer.add(&i32, 4), writer.add(&u64, 8), writer.add(&f64, 8);
  writer.commit();
  Hdf5Reader reader({.path = path, .names = {}});
  for (const float expected : {200.f, -3.f, 60000.f, -30000.f, 3e9f, -5.f, 9223372036854775808.f, 0.1f}) {
    float got = 0;
    reader.read(&got);
    EXPECT_EQ(got, expected);
  }
  EXPECT_EQ(reader.entries()[8].shape, Shape({0, 4}));
}

TEST_F(Hdf5File, ReportsErrors) {
  const std::string path = sample();
  error_of([&] { Hdf5Reader({.path = *this / "nowhere", .names = {}}); }, ExitCode::kIo);
  error_of([&] { Hdf5Reader({.path = folder_, .names = {}}); }, ExitCode::kIo);
  write_file_atomically(*this / "text", "no HDF5 at all");
  expect_has(error_of([&] { Hdf5Reader({.path = *this / "text", .names = {}}); }, ExitCode::kSnapshot),
             "not an HDF5 file");
  expect_has(error_of([&] { Hdf5Reader({.path = path, .names = {"c"}, .code = ExitCode::kData}); }, ExitCode::kData),
             "no dataset 'c'; it has 'b', 'g/a', 'word'");
  expect_has(error_of([&] { Hdf5Reader({.path = path, .names = {"word"}}); }, ExitCode::kSnapshot),
             "does not hold numbers");
}

TEST_F(Hdf5File, EveryTruncationIsNoticed) {
  const std::string whole = read_file(sample()), path = *this / "cut.h5";
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 40) {
    write_file_atomically(path, whole.substr(0, size));
    EXPECT_NE(error_of([&] { Hdf5Reader({.path = path, .names = {}}).finish(); }, ExitCode::kSnapshot), "") << size;
  }
}

TEST_F(Hdf5File, WithoutCommitKeepsTheOldContent) {
  const std::string path = sample(), before = read_file(path);
  {
    Hdf5Writer writer(path, {{"x", "F32", {1000}}});
    writer.add(std::string(400, 'a').data(), 400);
  }
  EXPECT_TRUE(read_file(path) == before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "no temporary file is left";
}

TEST_F(Hdf5File, FailsIfItCannotWrite) {
  const std::string path = *this / "no/such/folder.h5";
  const float x = 1;
  const auto write = [&] {
    Hdf5Writer writer(path, {{"x", "F32", {1}}});
    writer.add(&x, sizeof x);
    writer.commit();
  };
  expect_has(error_of(write, ExitCode::kIo), "cannot write");
  expect_has(error_of([&] { Hdf5Writer(*this / "a.h5", {{"\xff", "F32", {1}}}); }, ExitCode::kSnapshot), "UTF-8");
}

TEST_F(Hdf5File, AppendedRowsFollowEachOther) {
  const std::string path = *this / "rows.h5";
  {
    Hdf5Appender appender(path);
    std::vector<float> values(3000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    for (const int64_t rows : {2, 700, 1}) {
      appender.add({{"x", "F32", {rows, 4}}, {"y", "F32", {rows}}}, {values.data(), values.data() + 5});
      EXPECT_FALSE(file_exists(path));
    }
    appender.commit();
  }
  Hdf5Reader reader({.path = path, .names = {}});
  ASSERT_EQ(reader.entries()[0].shape, Shape({703, 4}));
  ASSERT_EQ(reader.entries()[1].shape, Shape({703}));
  std::vector<float> x(703 * 4), y(703);
  reader.read(x.data());
  reader.read(y.data());
  for (size_t row = 0; row < 703; ++row) {
    const size_t within = row < 2 ? row : row < 702 ? row - 2 : row - 702;
    EXPECT_EQ(x[4 * row + 3], float(4 * within + 3));
    EXPECT_EQ(y[row], float(within + 5));
  }
}

TEST_F(Hdf5File, AFileOfRowsHasOneWriter) {
  const std::string path = *this / "rows.h5";
  {
    Hdf5Appender one(path), other(*this / "other.h5");
    expect_has(error_of([&] { Hdf5Appender again(path); }, ExitCode::kIo), "another layer writes");
  }
  Hdf5Appender later(path);
}

TEST_F(Hdf5File, AnUnfinishedFileOfRowsIsInvalid) {
  const std::string path = *this / "rows.h5";
  const float x = 1;
  {
    Hdf5Appender appender(path);
    appender.add({{"x", "F32", {1}}}, {&x});
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 0);
}

}  // namespace
}  // namespace cortado
