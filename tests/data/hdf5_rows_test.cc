#include "data/formats/hdf5_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "tests/harness/errors.h"
#include "tests/harness/hdf5_here.h"

namespace cortado::data {
namespace {

class Hdf5RowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_HDF5();
    std::filesystem::create_directories(folder_);
  }
  ~Hdf5RowsTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  /// Writes rows first, first + 1, ...: x is (row, -row), y is the row.
  void write(const std::string& name, int64_t rows, float first) const {
    Hdf5Writer writer(path(name), {{"x", "F32", {rows, 2}}, {"y", "F32", {rows}}});
    std::vector<float> x, y;
    for (int64_t i = 0; i < rows; ++i) {
      x.insert(x.end(), {first + float(i), -first - float(i)});
      y.push_back(first + float(i));
    }
    writer.add(x.data(), x.size() * sizeof(float));
    writer.add(y.data(), y.size() * sizeof(float));
    writer.commit();
  }

  /// Writes files of 5, 0, 1 and 4 rows, together rows 0 to 9.
  Hdf5RowsOptions options(bool shuffle = false) const {
    write("a", 5, 0), write("b", 0, 0), write("c", 1, 5), write("d", 4, 6);
    std::string list;
    for (const char* name : {"a", "b", "c", "d"}) list += path(name) + "\n";
    write_file_atomically(path("list"), list);
    return {.source = path("list"), .names = {"x", "y"}, .shuffle = shuffle, .seed = 3};
  }

  std::string folder_ = ::testing::TempDir() + "cortado_rows_" + std::to_string(::getpid());
};

int next(Hdf5Rows& rows) {
  float x[2] = {}, y = 0;
  rows.next({x, &y});
  EXPECT_EQ(x[0], y);
  EXPECT_EQ(x[1], -y);
  return int(y);
}

std::vector<int> take(Hdf5Rows& rows, int n) {
  std::vector<int> taken;
  for (int i = 0; i < n; ++i) taken.push_back(next(rows));
  return taken;
}

TEST_F(Hdf5RowsTest, AreReadInOrderInEachEpoch) {
  Hdf5Rows rows(options());
  EXPECT_EQ(rows.row_shape(0), Shape({2}));
  EXPECT_EQ(rows.row_shape(1), Shape());
  for (int i = 0; i < 35; ++i) {
    EXPECT_EQ(rows.position(), uint64_t(i));
    EXPECT_EQ(next(rows), i % 10);
  }
}

TEST_F(Hdf5RowsTest, ShuffledEpochsHoldEachRowOnceAndDiffer) {
  Hdf5Rows rows(options(true));
  std::set<std::vector<int>> orders;
  std::set<int> firsts;
  for (int epoch = 0; epoch < 30; ++epoch) {
    std::vector<int> order = take(rows, 10);
    orders.insert(order);
    firsts.insert(order[0] < 5 ? 0 : order[0] == 5 ? 1 : 2);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  EXPECT_GT(orders.size(), 25u);
  EXPECT_EQ(firsts.size(), 3u) << "each file begins some epoch";
}

TEST_F(Hdf5RowsTest, ContinueFromEveryPosition) {
  for (const bool shuffle : {false, true}) {
    Hdf5Rows all(options(shuffle));
    const std::vector<int> expected = take(all, 40);
    Hdf5Rows rows(options(shuffle));
    for (const int from : {0, 33, 5, 4, 6, 9, 10, 11, 29, 30, 1}) {
      rows.seek(uint64_t(from));
      EXPECT_EQ(rows.position(), uint64_t(from));
      EXPECT_EQ(take(rows, 7), std::vector<int>(expected.begin() + from, expected.begin() + from + 7)) << from;
    }
  }
}

TEST_F(Hdf5RowsTest, TheOrderDependsOnTheSeed) {
  Hdf5RowsOptions one = options(true), other = one;
  other.seed = 4;
  Hdf5Rows a(one), b(one), c(other);
  const std::vector<int> order = take(a, 20);
  EXPECT_EQ(take(b, 20), order);
  EXPECT_NE(take(c, 20), order);
}

TEST_F(Hdf5RowsTest, FilesThatDoNotFitAreRefused) {
  Hdf5RowsOptions given = options();
  const auto open = [&] {
    Hdf5Rows rows(given);
    take(rows, 10);
  };
  given.names = {"x", "z"};
  EXPECT_NE(error_of(open, ExitCode::kData).find("no dataset 'z'"), std::string::npos);
  given.names = {"x", "y"};
  {
    Hdf5Writer writer(path("d"), {{"x", "F32", {1, 3}}, {"y", "F32", {1}}});
    writer.add("0123456789abcdef", 16);
    writer.commit();
  }
  EXPECT_NE(error_of(open, ExitCode::kData).find("a row of dataset 'x' is 3, where it is 2"), std::string::npos)
      << error_of(open, ExitCode::kData);
  {
    Hdf5Writer writer(path("a"), {{"x", "F32", {2}}, {"y", "F32", {1}}});
    writer.add("0123456789ab", 12);
    writer.commit();
  }
  EXPECT_NE(error_of(open, ExitCode::kData).find("'y' has 1 rows, 'x' has 2"), std::string::npos)
      << error_of(open, ExitCode::kData);
  {
    Hdf5Writer writer(path("a"), {{"x", "F32", {}}, {"y", "F32", {1}}});
    writer.add("01234567", 8);
    writer.commit();
  }
  EXPECT_NE(error_of(open, ExitCode::kData).find("is a scalar"), std::string::npos);
  write_file_atomically(path("list"), path("b") + "\n" + path("b"));
  EXPECT_NE(error_of(open, ExitCode::kData).find("none of its files has a row"), std::string::npos);
  write_file_atomically(path("list"), path("gone"));
  EXPECT_NE(error_of(open, ExitCode::kIo).find("gone"), std::string::npos);
}

TEST_F(Hdf5RowsTest, ListsAreReadAsInCaffe) {
  write_file_atomically(path("with blank"), "");
  write_file_atomically(path("list"), "a\r\n\n  b  \nc d\n" + path("with blank") + "\ne");
  EXPECT_EQ(read_path_list(path("list")), (std::vector<std::string>{"a", "b", "c", "d", path("with blank"), "e"}));
  write_file_atomically(path("list"), "\n \n");
  EXPECT_NE(error_of([&] { read_path_list(path("list")); }, ExitCode::kData).find("the list is empty"),
            std::string::npos);
}

}  // namespace
}  // namespace cortado::data
