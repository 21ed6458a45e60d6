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

}  // namespace
}  // namespace cortado::tools
