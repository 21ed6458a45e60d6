#include "data/convert/csv.h"

#include "data/convert/class_folders.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

using Cells = std::vector<std::string>;

TEST(Csv, SplitsCells) {
  std::string wrong;
  EXPECT_EQ(csv_cells("a,b c,,\"d,\"\"e\"\"\"\r", ',', wrong), (Cells{"a", "b c", "", "d,\"e\""}));
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(csv_cells("it's 5\" wide,2", ',', wrong), (Cells{"it's 5\" wide", "2"}));
  csv_cells("a,\"b", ',', wrong);
  EXPECT_NE(wrong, "");
}

TEST(Csv, FindsItsSeparator) {
  EXPECT_EQ(csv_separator("path,label"), ',');
  EXPECT_EQ(csv_separator("path;label;a,b"), ';');
  EXPECT_EQ(csv_separator("path\tlabel"), '\t');
}

TEST(ClassNumbers, AreKeptOrAssignedToNames) {
  Cells names;
  EXPECT_EQ(class_numbers({"3", "0", "7"}, names), (std::vector<int32_t>{3, 0, 7}));
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(class_numbers({"bee", "ant", "bee", "3"}, names), (std::vector<int32_t>{2, 1, 2, 0}));
  EXPECT_EQ(names, (Cells{"3", "ant", "bee"}));
}

}  // namespace

}  // namespace cortado::data::testing
