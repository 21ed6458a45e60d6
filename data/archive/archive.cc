#include "data/archive/archive.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/companion_library.h"
#include "core/error.h"
#include "core/files/mapped_file.h"
#include "data/archive/libarchive/module.h"
#include "data/formats/text.h"
#include "data/image/image.h"

namespace cortado::data {

namespace {

constexpr int64_t kMaxTimes = 200, kLeastRoom = int64_t(64) << 20;  // of the decompressed data

/// Whether a file of this name would be outside of the folder in which the archive is unpacked.
bool leaves_folder(const std::string& name) {
  const std::filesystem::path path = name;
  return path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
}

/// An unnamed file in the temporary folder.
Descriptor nameless_file() {
  const char* given = std::getenv("TMPDIR");  // the standard library does not report which folder is missing
  const std::string folder = given && *given ? given : "/tmp";
  std::string path = folder + "/cortado-XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.ok())
    throw file_error(ExitCode::kIo, folder, "a packed archive cannot be unpacked here: " + why_not_opened(errno),
                     "set TMPDIR to another folder");
  ::unlink(path.c_str());
  return file;
}

[[noreturn]] void throw_cannot_unpack() {
  throw Error(ExitCode::kIo, std::string("a packed archive cannot be unpacked: ") + std::strerror(errno),
              "set TMPDIR to a folder with more free space");
}

void write_all(int fd, const uint8_t* bytes, size_t size, int64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::pwrite(fd, bytes + done, size - done, offset + int64_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw_cannot_unpack();
    done += size_t(got);
  }
}

}  // namespace

/// Reads a file with libarchive.
class Archives::Reader {
 public:
  explicit Reader(const std::string& path) : file_(path), module_(module()) {
    if (file_.size() == 0) refuse("it is empty");
    archive_ = module_.open(file_.data(), size_t(file_.size()), kMaxTimes * file_.size() + kLeastRoom, message_);
    if (archive_ == nullptr) fail();
  }
  ~Reader() {
    if (archive_ != nullptr) module_.close(archive_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool next(CortadoArchiveMember& member) {
    const int status = module_.next(archive_, &member, message_);
    if (status < 0) fail();
    any_ = any_ || status > 0;
    return status > 0;
  }
  bool block(CortadoArchiveBlock& block) {
    const int status = module_.block(archive_, &block, message_);
    if (status < 0) fail();
    return status > 0;
  }
  /// The offset of these bytes in the file; -1 if they are elsewhere.
  int64_t offset_of(const uint8_t* bytes) const {
    const bool inside = std::less_equal<>()(file_.data(), bytes) && std::less<>()(bytes, file_.data() + file_.size());
    return inside ? bytes - file_.data() : -1;
  }
  bool damaged() const { return file_.damaged(); }
  [[noreturn]] void refuse(const std::string& what) const { throw file_error(ExitCode::kData, file_.path(), what); }

 private:
  struct Module {
    Module() {
      library.find("cortado_archive_open", open);
      library.find("cortado_archive_next", next);
      library.find("cortado_archive_block", block);
      library.find("cortado_archive_close", close);
    }

    CompanionLibrary library{"libcortado_archive.so"};
    decltype(&cortado_archive_open) open = nullptr;
    decltype(&cortado_archive_next) next = nullptr;
    decltype(&cortado_archive_block) block = nullptr;
    decltype(&cortado_archive_close) close = nullptr;
  };
  static const Module& module() {
    static const Module loaded;
    if (!loaded.library.why_not().empty())
      throw Error(ExitCode::kIo, "libarchive, which reads archives, cannot be loaded: " + loaded.library.why_not(),
                  "apt install libarchive13 (and cortado-extras, where that is Cortado's package), or libarchive-dev "
                  "and build again");
    return loaded;
  }

  [[noreturn]] void fail() const {
    const std::string words = printable(message_);
    refuse(!any_ && words.starts_with("Unrecognized")
               ? "not a tar archive, plain or compressed by gzip, xz or zstd, and not a zip"
               : "it is truncated or damaged: " + words);
  }

  const MappedFile file_;
  const Module& module_;
  CortadoArchive* archive_ = nullptr;
  bool any_ = false;
  char message_[kCortadoArchiveMessageBytes] = {};
};

std::vector<ArchiveMember> Archives::list(const std::string& path) {
  std::vector<ArchiveMember> members;
  Reader reader(path);
  for (CortadoArchiveMember found; reader.next(found);) {
    ArchiveMember member{.name = found.name, .size = found.size};
    if (leaves_folder(member.name)) reader.refuse("the name '" + printable(member.name) + "' leaves its folder");
    if (member.size != 0) place(reader, member);
    members.push_back(std::move(member));
  }
  if (reader.damaged()) throw file_error(ExitCode::kIo, path, "it was truncated while it was read");
  if (members.empty()) reader.refuse("the archive is empty");
  // Zeros at the end of a member were not written.
  if (unpacked_.ok() && ::ftruncate(unpacked_.fd(), unpacked_bytes_) != 0) throw_cannot_unpack();
  return members;
}

/// Sets the offset of the content if it is stored uncompressed, otherwise decompresses it.
void Archives::place(Reader& reader, ArchiveMember& member) {
  CortadoArchiveBlock block;
  bool more = reader.block(block);
  if (more && int64_t(block.size) == member.size && reader.offset_of(block.bytes) >= 0) {
    member.offset = reader.offset_of(block.bytes);
    return;
  }
  member.packed = true;
  member.offset = unpacked_bytes_;
  if (member.size > kMaxImageFileBytes) return;
  if (!unpacked_.ok()) unpacked_ = nameless_file();
  int64_t size = std::max<int64_t>(member.size, 0);
  for (; more; more = reader.block(block)) {
    const int64_t end = block.offset + int64_t(block.size);
    if (member.size >= 0 && end > member.size)
      reader.refuse("it is damaged: '" + printable(member.name) + "' is larger than its header states");
    write_all(unpacked_.fd(), block.bytes, block.size, unpacked_bytes_ + block.offset);
    size = std::max(size, end);
  }
  member.size = size;
  unpacked_bytes_ += size;
}

std::string Archives::read(const std::string& path, const ArchiveMember& member) const {
  std::string content(size_t(member.size), '\0'), why;
  const Descriptor archive = member.packed ? Descriptor() : open_regular_file(path, why);
  const int file = member.packed ? unpacked_.fd() : archive.fd();
  if (why.empty()) {
    const int64_t got = read_at(file, content.data(), content.size(), member.offset);
    if (got < int64_t(content.size())) why = got < 0 ? std::strerror(errno) : "it was truncated";
  }
  if (!why.empty()) throw file_error(ExitCode::kIo, path, "cannot read: " + why);
  return content;
}

}  // namespace cortado::data
