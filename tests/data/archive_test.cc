#include "data/archive/archive.h"

#include <array>

#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// A member with its POSIX header, written without the code under test.
std::string header(const std::string& name, size_t size, char type = '0') {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  std::array<char, 16> number{};
  put(0, name);
  put(100, "0000644");
  std::snprintf(number.data(), number.size(), "%011zo", size);
  put(124, number.data());
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(number.data(), number.size(), "%06o", sum);
  put(148, number.data());
  header[154] = '\0';
  return header;
}

std::string member(const std::string& name, const std::string& content, char type = '0') {
  return header(name, content.size(), type) + content + std::string((512 - content.size() % 512) % 512, '\0');
}

const std::string kEnd(1024, '\0');

std::string pax(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return member("PaxHeaders/x", std::to_string(length) + rest, 'x');
}

/// A zstd frame of raw blocks and run-length blocks.
class ZstdFrame {
 public:
  ZstdFrame& raw(const std::string& bytes) { return block(0, bytes.size(), bytes); }
  ZstdFrame& repeated(char byte, size_t times) { return block(1, times, std::string(1, byte)); }
  std::string str() const { return text_ + std::string("\x01\0\0", 3); }  // an empty last block

 private:
  ZstdFrame& block(unsigned kind, size_t size, const std::string& bytes) {
    const size_t header = kind << 1 | size << 3;
    for (int i = 0; i < 3; ++i) text_ += char(header >> 8 * i);
    text_ += bytes;
    return *this;
  }

  std::string text_ = std::string("\x28\xB5\x2F\xFD\0\x58", 6);  // a window of 2 MiB
};

class ArchivesTest : public ::testing::Test {
 protected:
  std::vector<ArchiveMember> list(const std::string& bytes) {
    write_file(path_, bytes);
    return archives_.list(path_);
  }
  std::string read(const ArchiveMember& member) const { return archives_.read(path_, member); }
  void expect_damage(const std::string& words, const std::string& bytes) {
    expect_error([&] { list(bytes); }, ExitCode::kData, words);
  }
  /// Damaged bytes lead to a result or to an Error.
  void expect_answers(const std::string& good) {
    RandomStream random(3);
    for (int round = 0; round < 400; ++round) {
      std::string bytes = good;
      for (int k = 0; k < 3; ++k) bytes[random.below(bytes.size())] = char(random.below(256));
      try {
        for (const ArchiveMember& member : list(bytes)) EXPECT_EQ(read(member).size(), size_t(member.size));
      } catch (const Error&) {
      }
    }
  }

 private:
  Folder folder_;
  std::string path_ = folder_ / "a.tar";
  Archives archives_;
};

const std::string kLongName = std::string(150, 'n') + ".jpg";
const std::string kShard = member("dir/", "", '5') + member("dir/a.jpg", "first") + pax("path", "näme.cls") +
                           member("x", "7\n") + member("././@LongLink", kLongName + '\0', 'L') +
                           member("cut", std::string(600, 'z')) + member("link.jpg", "", '2') +
                           member("other.jpg", "", '1') + kEnd;

TEST_F(ArchivesTest, ListsOnlyFiles) {
  for (const bool packed : {false, true}) {
    const std::vector<ArchiveMember> members = list(packed ? ZstdFrame().raw(kShard).str() : kShard);
    ASSERT_EQ(members.size(), 3U);
    EXPECT_EQ(members[0].name, "dir/a.jpg");
    EXPECT_EQ(members[0].packed, packed);
    EXPECT_EQ(read(members[0]), "first");
    EXPECT_EQ(members[1].name, "näme.cls");
    EXPECT_EQ(read(members[1]), "7\n");
    EXPECT_EQ(members[2].name, kLongName);
    EXPECT_EQ(read(members[2]), std::string(600, 'z'));
  }
}

TEST_F(ArchivesTest, CompressedArchivesShareTheirUnpackedFile) {
  const ArchiveMember first = list(ZstdFrame().raw(member("a", "first") + kEnd).str())[0];
  const ArchiveMember second = list(ZstdFrame().raw(member("b", "second") + kEnd).str())[0];
  EXPECT_EQ(read(first), "first");
  EXPECT_EQ(read(second), "second");
}

TEST_F(ArchivesTest, DamageIsAnError) {
  const std::string good = member("a.jpg", std::string(700, 'a')) + member("b.jpg", "b") + kEnd;
  expect_damage("truncated", good.substr(0, 900));
  expect_damage("truncated", good.substr(0, 1600));
  expect_damage("not a tar archive", "\x1F\x8B" + std::string(2000, 'x'));
  expect_damage("not a tar archive", std::string(2000, 'x'));
  std::string wrong = good;
  wrong[512 + 1024 + 3] = 'X';  // in the second header: a wrong checksum
  expect_damage("damaged", wrong);
  expect_damage("the archive is empty", kEnd);
  expect_damage("empty", "");
  const std::string packed = ZstdFrame().raw(good.substr(0, 600)).raw(good.substr(600)).str();
  EXPECT_EQ(list(packed).size(), 2U);
  expect_damage("truncated", packed.substr(0, 900));
  expect_answers(good);
  expect_answers(packed);
}

TEST_F(ArchivesTest, NamesStayInTheFolder) {
  EXPECT_EQ(list(member("./a..b/..c.jpg", "x") + kEnd)[0].name, "./a..b/..c.jpg");
  for (const char* name : {"../x.jpg", "a/../../x.jpg", "/etc/x.jpg", ".."})
    expect_damage("leaves its folder", member(name, "x") + kEnd);
}

TEST_F(ArchivesTest, BombsAreNotUnpacked) {
  constexpr size_t kBlock = 100'000;
  for (const size_t files : {1, 10}) {  // 4 KB that unpack to 100 MB
    ZstdFrame frame;
    for (size_t file = 0; file < files; ++file) {
      frame.raw(header(std::to_string(file) + ".jpg", 1000 * kBlock / files));
      for (size_t i = 0; i < 1000 / files; ++i) frame.repeated('\0', kBlock);
      frame.repeated('\0', (512 - 1000 * kBlock / files % 512) % 512);
    }
    expect_damage("too large for an archive", frame.raw(kEnd).str());
  }
}

}  // namespace

}  // namespace cortado::data::testing
