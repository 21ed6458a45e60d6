#include "data/lmdb/lmdb_writer.h"

#include "data/lmdb/lmdb.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// The file names in a folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(LmdbWriter, TheLibraryReadsWhatItWrote) {
  const Folder folder;
  RandomStream random(1);
  Records records;
  LmdbWriter writer(folder / "db");
  for (int i = 0; i < 5000; ++i) {
    const std::string key = random_bytes(random, 1 + random.below(30)) + std::to_string(i);  // in random order
    writer.put(key, records[key] = random_bytes(random, random.below(5000)));
  }
  writer.commit();
  EXPECT_EQ(read_with_library(folder / "db"), records);
}

TEST(LmdbWriter, GrowsItsMap) {
  const Folder folder;
  const std::string megabyte(1 << 20, 'x');
  LmdbWriter writer(folder / "db");
  for (int i = 0; i < 80; ++i) writer.put(std::to_string(1000 + i), megabyte);
  writer.commit();
  EXPECT_EQ(read_with_library(folder / "db").size(), 80u);
}

TEST(LmdbWriter, DatasetAppearsWhenItIsComplete) {
  const Folder folder;
  {
    LmdbWriter writer(folder / "db");
    writer.put("a", "1");
    EXPECT_FALSE(file_exists(folder / "db"));
  }
  EXPECT_TRUE(names_in(folder / "").empty());
  LmdbWriter writer(folder / "db/");
  writer.put("a", "1");
  writer.commit();
  EXPECT_EQ(names_in(folder / ""), std::vector<std::string>{"db"});
  EXPECT_EQ(names_in(folder / "db"), (std::vector<std::string>{"checksums", "data.mdb"}));
}

TEST(LmdbWriter, ReplacesOnlyDatabasesAndOnlyOnRequest) {
  const Folder folder;
  write_with_library(folder / "db", {{"old", "1"}});
  expect_error([&] { LmdbWriter writer(folder / "db"); }, ExitCode::kIo, "exists already");
  {
    LmdbWriter writer(folder / "db", true);
    writer.put("new", "2");
    writer.commit();
  }
  EXPECT_EQ(read_with_library(folder / "db"), (Records{{"new", "2"}}));
  write_file(folder / "db/precious.txt", "keep me");
  expect_error([&] { LmdbWriter writer(folder / "db", true); }, ExitCode::kIo, "not replaced");
  EXPECT_TRUE(file_exists(folder / "db/precious.txt"));
  write_file(folder / "file", "keep me");
  expect_error([&] { LmdbWriter writer(folder / "file", true); }, ExitCode::kIo, "");
  EXPECT_EQ(read_file(folder / "file"), "keep me");
}

/// The class names in the folder, and those of the file that the link next to it points to.
void expect_names(const std::string& path, const std::string& labels) {
  EXPECT_EQ(read_names(path).labels, labels);
  EXPECT_EQ(std::filesystem::exists(path + "/labels.txt"), !labels.empty());
  EXPECT_EQ(std::filesystem::is_symlink(path + ".labels.txt"), !labels.empty());
}

TEST(LmdbWriter, ReplacesNamesWithTheRecords) {
  const Folder folder;
  const auto write = [&](const DatasetNames& names, bool replace) {
    LmdbWriter writer(folder / "db", replace, names);
    writer.put("key", "value");
    writer.commit();
  };
  write({"ant\nbee\n", ""}, false);
  expect_names(folder / "db", "ant\nbee\n");
  {
    LmdbWriter writer(folder / "db", true, {"cow\n", ""});  // as if the process had died
    writer.put("key", "other");
  }
  expect_names(folder / "db", "ant\nbee\n");
  write({"cow\n", ""}, true);
  expect_names(folder / "db", "cow\n");
  write({"", "item { }"}, true);
  expect_names(folder / "db", "");
  EXPECT_EQ(read_names(folder / "db").label_map, "item { }");
  write({}, true);
  EXPECT_EQ(read_names(folder / "db"), DatasetNames{});
  write_file(folder / "db.labels.txt", "by hand\n");
  EXPECT_EQ(read_names(folder / "db").labels, "by hand\n");
  write_file(folder / "other.labels.txt", "by hand\n");
  expect_error(
      [&] {
        LmdbWriter writer(folder / "other", false, {"ant\n", ""});
      },
      ExitCode::kIo, "exists already, with other names");
  EXPECT_EQ(read_file(folder / "other.labels.txt"), "by hand\n");
  write({"ant\n", ""}, true);
  expect_names(folder / "db", "ant\n");
}

TEST(LmdbWriter, RestoresADatasetAfterACrash) {
  const Folder folder;
  write_with_library(folder / "db.tmp.old", {{"old", "1"}});
  expect_error([&] { Lmdb::open(folder / "db"); }, ExitCode::kIo,
               "mv " + (folder / "db.tmp.old") + " " + (folder / "db"));
  expect_error([&] { LmdbWriter writer(folder / "db"); }, ExitCode::kIo, "exists already");
  EXPECT_EQ(read_with_library(folder / "db"), (Records{{"old", "1"}}));
  EXPECT_FALSE(file_exists(folder / "db.tmp.old"));
  write_with_library(folder / "db.tmp.old", {{"older", "1"}});
  { LmdbWriter writer(folder / "db", true); }
  EXPECT_EQ(read_with_library(folder / "db"), (Records{{"old", "1"}}));
  EXPECT_FALSE(file_exists(folder / "db.tmp.old"));
}

TEST(LmdbWriter, RefusesBadKeys) {
  const Folder folder;
  LmdbWriter writer(folder / "db");
  expect_error([&] { writer.put("", "1"); }, ExitCode::kData, "0 bytes");
  expect_error([&] { writer.put(std::string(512, 'k'), "1"); }, ExitCode::kData, "512 bytes");
  writer.put("b", "1");
  writer.put("a", "1");
  writer.put("a", "2");
  expect_error([&] { writer.commit(); }, ExitCode::kData, "'a' occurs twice");
}

TEST(LmdbWriter, ReportsWhyItCannotWrite) {
  expect_error([&] { LmdbWriter writer("/nowhere/at/all/db"); }, ExitCode::kIo,
               "cannot find the folder /nowhere/at/all");
}

}  // namespace

}  // namespace cortado::data::testing
