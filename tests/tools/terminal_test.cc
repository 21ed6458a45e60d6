#include "tools/output/terminal.h"

#include <gtest/gtest.h>

namespace cortado::tools {
namespace {

TEST(Terminal, ColoursSeverities) {
  EXPECT_EQ(coloured("error: x"), "\033[1;31merror:\033[0m x");
  EXPECT_EQ(coloured("n.prototxt:1:2: error: x"), "n.prototxt:1:2: \033[1;31merror:\033[0m x");
  EXPECT_EQ(coloured("f: hint: error: x"), "f: hint: \033[1;31merror:\033[0m x");
}

/// Whatever is before the word: nothing, too little for a place, and text that is not a place.
TEST(Terminal, ColoursNoWordWithinText) {
  for (const std::string word : {"error: ", "warning: ", "note: ", "hint: "})
    for (const std::string before : {"x", "\n", " ", ":", ": ", "x:", "no", "a b", ":: "}) {
      const std::string line = before + word + "text";
      const bool is_place = before.ends_with(": ");
      EXPECT_EQ(coloured(line) != line, is_place) << line;
    }
  for (const std::string line : {"", "e", "error:", "error", "terror: x"}) EXPECT_EQ(coloured(line), line);
}

TEST(Terminal, ListsWhatFits) {
  const std::vector<std::string> items = {"one", "three", "seven"};
  const auto list = [&](size_t columns) { return fitted_list("has ", items, columns); };
  EXPECT_EQ(list(21), "has one, three, seven");
  EXPECT_EQ(list(20), "has one, 2 more");
  EXPECT_EQ(fitted_list("has ", {"one", "three", "7", "a very long one"}, 22), "has one, three, 2 more");
  EXPECT_EQ(list(14), "has 3 values");
  EXPECT_EQ(list(8), "has 3 va");
  EXPECT_EQ(fitted_list("none", {}, 20), "none");
}

TEST(Terminal, DropsFieldsOfTheHighestRank) {
  const std::vector<ProgressField> fields = {
      {"50 %", 0, ""}, {"3 left", 1, ", "}, {"fast", 2, " - "}, {"loss 2", 1, ", "}};
  EXPECT_EQ(fitted(fields, 27), "50 %, 3 left - fast, loss 2");
  EXPECT_EQ(fitted(fields, 26), "50 %, 3 left, loss 2");
  EXPECT_EQ(fitted(fields, 19), "50 %, 3 left");
  EXPECT_EQ(fitted(fields, 5), "50 %");
  EXPECT_EQ(fitted(fields, 3), "50 ");
}

}  // namespace
}  // namespace cortado::tools
