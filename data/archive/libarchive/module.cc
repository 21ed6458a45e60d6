#include "data/archive/libarchive/module.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <cstdio>
#include <new>

namespace {

int refuse(char* message, const char* reason) {
  std::snprintf(message, kCortadoArchiveMessageBytes, "%s", reason != nullptr ? reason : "unknown error");
  return -1;
}

/// libarchive converts names to the character set of the locale and drops characters that it does not have. This sets
/// UTF-8 during its lifetime.
class Utf8Names {
 public:
  Utf8Names() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    before_ = utf8 != nullptr ? ::uselocale(utf8) : nullptr;
  }
  ~Utf8Names() {
    if (before_ != nullptr) ::uselocale(before_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t before_;
};

bool is_content(archive_entry* entry) {
  return archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr;
}

}  // namespace

struct CortadoArchive {
  archive* reader = nullptr;
  int64_t left = 0;      ///< remaining decompressed bytes of contents and of the gaps between them
  bool counted = false;  ///< the header of the member has a size, which was subtracted

  bool takes(int64_t bytes) {
    left -= bytes > 0 ? bytes : 0;
    return left >= archive_filter_bytes(reader, 0);
  }
};

namespace {

constexpr const char* kTooMuch = "its decompressed size is too large for an archive of images";

}  // namespace

CortadoArchive* cortado_archive_open(const uint8_t* bytes, size_t size, int64_t most, char* message) {
  const Utf8Names names;
  auto* made = new (std::nothrow) CortadoArchive;
  if (made != nullptr) made->reader = archive_read_new();
  if (made == nullptr || made->reader == nullptr) {
    delete made;
    refuse(message, "out of memory");
    return nullptr;
  }
  made->left = most;
  archive* const reader = made->reader;
  archive_read_support_format_tar(reader);
  archive_read_support_format_zip(reader);
  archive_read_support_filter_gzip(reader);
  archive_read_support_filter_xz(reader);
  archive_read_support_filter_zstd(reader);
  if (archive_read_open_memory(reader, bytes, size) == ARCHIVE_OK) return made;
  refuse(message, archive_error_string(reader));
  cortado_archive_close(made);
  return nullptr;
}

int cortado_archive_next(CortadoArchive* archive, CortadoArchiveMember* member, char* message) {
  const Utf8Names names;
  archive_entry* entry = nullptr;
  do {
    const int status = archive_read_next_header(archive->reader, &entry);
    if (status == ARCHIVE_EOF) return 0;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return refuse(message, archive_error_string(archive->reader));
    archive->counted = archive_entry_size_is_set(entry) != 0;
    if (!archive->takes(archive->counted ? archive_entry_size(entry) : 0)) return refuse(message, kTooMuch);
  } while (!is_content(entry));
  member->name = archive_entry_pathname(entry);
  if (member->name == nullptr) member->name = archive_entry_pathname_utf8(entry);
  if (member->name == nullptr) return refuse(message, "the name of a member has an unknown character set");
  member->size = archive->counted ? archive_entry_size(entry) : -1;
  return 1;
}

int cortado_archive_block(CortadoArchive* archive, CortadoArchiveBlock* block, char* message) {
  const void* bytes = nullptr;
  la_int64_t offset = 0;
  const int status = archive_read_data_block(archive->reader, &bytes, &block->size, &offset);
  if (status == ARCHIVE_EOF) return 0;
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return refuse(message, archive_error_string(archive->reader));
  if (!archive->counted && !archive->takes(int64_t(block->size))) return refuse(message, kTooMuch);
  block->bytes = static_cast<const uint8_t*>(bytes);
  block->offset = offset;
  return 1;
}

void cortado_archive_close(CortadoArchive* archive) {
  archive_read_free(archive->reader);
  delete archive;
}
