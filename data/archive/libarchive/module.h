#pragma once

// The C interface of libcortado_archive.so. libarchive brings a dozen libraries, ICU's tables among them, which cost
// start-up time, so the program does not link it; this module does, and is loaded only when there is an archive to
// read. Nothing C++ crosses the border.

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { kCortadoArchiveMessageBytes = 256 };

/// An archive in memory, read from its first member to its last.
typedef struct CortadoArchive CortadoArchive;

typedef struct {
  const char* name;  ///< UTF-8 where the archive's is; valid until the next call
  int64_t size;      ///< that its header claims; -1: it does not
} CortadoArchiveMember;

/// A piece of a member's content; what lies between two pieces is zeros.
typedef struct {
  const uint8_t* bytes;  ///< among the archive's own where the content is stored as it is; valid until the next call
  size_t size;
  int64_t offset;  ///< within the content
} CortadoArchiveBlock;

// Where these fail, `message` says why, in at most kCortadoArchiveMessageBytes with its end.

/// Null: it cannot be. Fails later where, unpacked, it has more than `most` bytes.
CortadoArchive* cortado_archive_open(const uint8_t* bytes, size_t size, int64_t most, char* message);
/// Goes to the next regular file. 1: there it is; 0: there is none; -1: failed.
int cortado_archive_next(CortadoArchive* archive, CortadoArchiveMember* member, char* message);
/// Reads the next piece of that file, likewise.
int cortado_archive_block(CortadoArchive* archive, CortadoArchiveBlock* block, char* message);
void cortado_archive_close(CortadoArchive* archive);
}
