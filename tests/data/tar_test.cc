#include "data/formats/tar.h"

#include <array>

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// A member as POSIX describes it, written without the code under test.
std::string member(const std::string& name, const std::string& content, char type = '0') {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  std::array<char, 16> number{};
  put(0, name);
  put(100, "0000644");
  std::snprintf(number.data(), number.size(), "%011zo", content.size());
  put(124, number.data());
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(number.data(), number.size(), "%06o", sum);
  put(148, number.data());
  header[154] = '\0';
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

const std::string kEnd(1024, '\0');

std::string pax(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return member("PaxHeaders/x", std::to_string(length) + rest, 'x');
}

TEST(Tar, TellsWhereFilesLie) {
  const Folder folder;
  const std::string path = folder / "a.tar", long_name = std::string(150, 'n') + ".jpg";
  write_file(path, member("dir/", "", '5') + member("dir/a.jpg", "first") + pax("path", "näme.cls") +
                       member("x", "7\n") + member("././@LongLink", long_name + '\0', 'L') +
                       member("cut", std::string(600, 'z')) + kEnd);
  const std::vector<TarMember> members = read_tar(path);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].name, "dir/a.jpg");
  EXPECT_EQ(read_tar_member(path, members[0].offset, members[0].size), "first");
  EXPECT_EQ(members[1].name, "näme.cls");
  EXPECT_EQ(read_tar_member(path, members[1].offset, members[1].size), "7\n");
  EXPECT_EQ(members[2].name, long_name);
  EXPECT_EQ(members[2].size, 600);
}

TEST(Tar, DamageIsAnError) {
  const Folder folder;
  const std::string path = folder / "a.tar",
                    good = member("a.jpg", std::string(700, 'a')) + member("b.jpg", "b") + kEnd;
  write_file(path, good.substr(0, 900));
  expect_error(ExitCode::kData, "cut off", [&] { read_tar(path); });
  write_file(path, "\x1F\x8B" + std::string(2000, 'x'));
  expect_error(ExitCode::kData, "no tar archive", [&] { read_tar(path); });
  std::string wrong = good;
  wrong[512 + 1024 + 3] = 'X';  // in the second header: its checksum does not fit
  write_file(path, wrong);
  expect_error(ExitCode::kData, "damaged", [&] { read_tar(path); });
  write_file(path, kEnd);
  expect_error(ExitCode::kData, "no files", [&] { read_tar(path); });
  // Whatever byte is wrong, there is an answer or an Error.
  RandomStream random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random.below(bytes.size())] = char(random.below(256));
    write_file(path, bytes);
    try {
      for (const TarMember& found : read_tar(path)) {
        EXPECT_LE(found.offset + found.size, int64_t(bytes.size()));
        read_tar_member(path, found.offset, found.size);
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace

}  // namespace cortado::data::testing
