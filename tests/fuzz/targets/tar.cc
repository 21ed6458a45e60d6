// An archive, and the lines of tables.
#include "data/formats/tar.h"

#include "data/convert/csv.h"
#include "tests/fuzz/fuzzed.h"

void cortado::fuzz::fuzz(std::string_view input) {
  const std::string path = FuzzedFile(input).path();
  expect_answer([&] {
    for (const data::TarMember& member : data::read_tar(path))
      data::read_tar_member(path, member.offset, std::min<int64_t>(member.size, 1000));
  });
  std::string wrong;
  data::csv_cells(input, data::csv_separator(input), wrong);
}
