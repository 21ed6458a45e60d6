#include "core/error.h"

#include <gtest/gtest.h>

namespace cortado {
namespace {

TEST(Render, ShowsPlaceLineCaretNoteAndHint) {
  const Diagnostic mistake{{"net.prototxt", 23, 18, "    kernel_size: 7"},
                           "kernel_size is 7, larger than its padded input 5x5",
                           "a pad of 1 makes room",
                           {{{"net.prototxt", 14, 3, "  top: \"pool1\""}, "'pool1' has shape 64x20x5x5, made here"}}};
  EXPECT_EQ(render(mistake),
            "net.prototxt:23:18: error: kernel_size is 7, larger than its padded input 5x5\n"
            "   23 |     kernel_size: 7\n"
            "      |                  ^\n"
            "net.prototxt:14:3: note: 'pool1' has shape 64x20x5x5, made here\n"
            "   14 |   top: \"pool1\"\n"
            "      |   ^\n"
            "hint: a pad of 1 makes room\n");
}

TEST(Render, CaretIsUnderTheColumnAfterTabs) {
  const std::string text = render({{"n", 1, 3, "\t\tpad: x"}, "m", {}, {}});
  EXPECT_NE(text.find("\n      | \t\t^\n"), std::string::npos) << text;
}

TEST(Render, DiagnosticWithoutPlaceIsOneLine) {
  EXPECT_EQ(render({{}, "no such device", {}, {}}, "warning"), "warning: no such device\n");
}

TEST(Render, LongLinesAreCutAroundTheCaret) {
  const std::string text = render({{"n", 1, 5001, std::string(5000, 'a') + "X" + std::string(5000, 'b')}, "m", {}, {}});
  EXPECT_LT(text.size(), 500u);
  EXPECT_NE(text.find('X'), std::string::npos);
}

TEST(Render, ControlBytesDoNotReachTheTerminal) {
  EXPECT_EQ(render({{"n", 1, 1, "\x1b[31m"}, "m", {}, {}}).find('\x1b'), std::string::npos);
}

TEST(Error, HasAllDiagnosticsAndTheCode) {
  Mistakes mistakes;
  EXPECT_NO_THROW(mistakes.throw_if_any(ExitCode::kNet));
  mistakes.add({{}, "first", {}, {}});
  mistakes.add(Error(ExitCode::kData, "second"));
  try {
    mistakes.throw_if_any(ExitCode::kNet);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNet);
    EXPECT_EQ(error.mistakes().size(), 2u);
    EXPECT_STREQ(error.what(), "error: first\nerror: second");
  }
}

TEST(Nearest, FindsOnlyTypos) {
  const std::vector<std::string> known = {"kernel_size", "num_output", "stride", "pad"};
  EXPECT_EQ(nearest("kernal_size", known), "kernel_size");
  EXPECT_EQ(nearest("NUM_OUTPUT", known), "num_output");
  EXPECT_EQ(nearest("stide", known), "stride");
  EXPECT_EQ(nearest("pda", {"axis", "pad"}), "pad");
  EXPECT_EQ(nearest("weight_filler", known), "");
  EXPECT_EQ(did_you_mean("strid", known), "did you mean 'stride'?");
  EXPECT_EQ(did_you_mean("elephant", known), "");
}

}  // namespace
}  // namespace cortado
