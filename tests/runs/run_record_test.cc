#include "tools/runs/run_record.h"

#include <gtest/gtest.h>

#include "core/files/file.h"
#include "tests/harness/errors.h"
#include "tests/solvers/training.h"

namespace cortado::runs {
namespace {

RunRecord record() {
  return {.id = "0123456789abcdef",
          .created = 17.5,
          .folder = "/folder",
          .solver = "solver.prototxt",
          .command = {"cortado", "train", "--solver=solver.prototxt"},
          .flags = {{"threads", {"2"}}, {"set", {"a: 1", "b: 2"}}},
          .weights = {"one.caffemodel", "two.caffemodel"},
          .version = "1.2",
          .machine = {{"cpu", "it"}, {"host", "here"}},
          .inputs = {{.path = "train", .kind = "data", .bytes = 7, .digest = "d"}},
          .shapes = {{"data", {1, 3, 4}}},
          .starts = {{.time = 18, .process = 5, .from = "state", .set = {"c: 3"}}}};
}

TEST(RunRecord, IsReadAsItWasWritten) {
  Folder folder;
  write_record(folder / "one.json", record());
  write_record(folder / "two.json", read_record(folder / "one.json"));
  const std::string text = read_file(folder / "one.json");
  EXPECT_EQ(read_file(folder / "two.json"), text);
  for (const char* value :
       {"0123456789abcdef", "17.5", "/folder", "solver.prototxt", "--solver=solver.prototxt", "\"b: 2\"",
        "two.caffemodel", "\"1.2\"", "\"here\"", "\"train\"", "\"data\"", "18", "\"state\"", "\"c: 3\""})
    EXPECT_NE(text.find(value), std::string::npos) << value << text;
}

TEST(RunRecord, NeedsEachField) {
  Folder folder;
  const std::string file = folder / "run.json";
  write_record(file, record());
  const std::string text = read_file(file);
  for (const char* field :
       {"id", "created", "folder", "solver", "command", "flags", "weights", "version", "machine", "inputs", "starts"}) {
    std::string other = text;
    other.replace(other.find(std::string("\"") + field + "\""), 3, "\"__");
    write_file_atomically(file, other);
    expect_error([&] { read_record(file); }, ExitCode::kUsage, "is not the record of a run");
  }
}

}  // namespace
}  // namespace cortado::runs
