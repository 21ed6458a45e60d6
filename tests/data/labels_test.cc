#include "data/formats/labels.h"

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

TEST(Labels, AreLines) {
  const Folder folder;
  write_file(folder / "labels", "T-shirt/top\r\nTrouser\n\nBag\n\n");
  EXPECT_EQ(read_labels(folder / "labels"), (std::vector<std::string>{"T-shirt/top", "Trouser", "", "Bag"}));
  write_file(folder / "labels", "\n\n");
  expect_error([&] { read_labels(folder / "labels"); }, ExitCode::kData, "no labels");
  write_file(folder / "labels", std::string("a\0b", 3));
  expect_error([&] { read_labels(folder / "labels"); }, ExitCode::kData, "not a text");
}

TEST(Labels, BeginAfterAByteOrderMark) {
  const Folder folder;
  write_file(folder / "labels",
             "\xEF\xBB\xBF"
             "ant\nbee\n");
  EXPECT_EQ(read_labels(folder / "labels"), (std::vector<std::string>{"ant", "bee"}));
}

TEST(Labels, ThatCannotBeALineAreRefused) {
  EXPECT_EQ(labels_text({"T-shirt/top", "a b"}), "T-shirt/top\na b\n");
  for (const std::string& name : {std::string("a\nb"), std::string("a\r"), std::string(), std::string("a\0b", 3)})
    expect_error([&] { labels_text({"ant", name, "bee"}); }, ExitCode::kData, "cannot be a line of a file");
}

}  // namespace

}  // namespace cortado::data::testing
