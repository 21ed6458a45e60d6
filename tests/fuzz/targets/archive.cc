// Archives in all formats that libarchive reads, and CSV lines.
#include "data/archive/archive.h"

#include "data/convert/csv.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  const std::string path = FuzzedFile(input).path();
  expect_answer([&] {
    data::Archives archives;
    for (data::ArchiveMember& member : archives.list(path)) {
      member.size = std::min<int64_t>(member.size, 1000);
      archives.read(path, member);
    }
  });
  std::string wrong;
  data::csv_cells(input, data::csv_separator(input), wrong);
}
