// Exporting and merging datasets with very many records or classes.
#include "data/curate/curate.h"

#include "data/formats/datum.h"
#include "data/formats/labels.h"
#include "data/lmdb/lmdb_writer.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

TEST(Export, KeysWithTheSameFileNameGetFilesOfTheirOwn) {
  const Folder folder;
  constexpr int kRecords = 3000;
  LmdbWriter writer(folder / "set");
  for (int i = 0; i < kRecords; ++i)  // the part after the dot is the file's extension
    writer.put("a." + std::to_string(10000 + i), make_datum(1, 1, 1, std::string(1, char(i)), 0));
  writer.commit();
  const Exported exported = export_dataset(folder / "set", {.output = folder / "files"});
  EXPECT_EQ(exported.files, kRecords);
  const std::filesystem::directory_iterator files(folder / "files/0");
  EXPECT_EQ(std::distance(begin(files), end(files)), kRecords);
  EXPECT_TRUE(file_exists(folder / "files/0/a.png"));
  EXPECT_TRUE(file_exists(folder / "files/0/a_2999.png"));
}

TEST(Merge, MoreClassesThanALabelMapAllowsAreAnError) {
  const Folder folder;
  for (const std::string set : {"one", "other"}) {
    LmdbWriter writer(folder / set);
    const std::string image = make_datum(1, 1, 1, "x", 0);
    writer.put("0", make_annotated_datum(image, {{.label = 1, .box = {0, 0, 1, 1}}}));
    writer.commit();
    std::string map;
    for (size_t label = 1; label <= kMaxInLabelMap; ++label)
      map += "item { name: '" + set + std::to_string(label) + "' label: " + std::to_string(label) + " }\n";
    write_file(folder / (set + "/labelmap.prototxt"), map);
  }
  expect_error(
      [&] {
        merge_datasets({folder / "one", folder / "other"}, {.output = folder / "both"});
      },
      ExitCode::kData, "200000 classes together");
  EXPECT_FALSE(file_exists(folder / "both"));
}

}  // namespace

}  // namespace cortado::data::testing
