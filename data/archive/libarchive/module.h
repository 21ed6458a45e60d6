#pragma once

// The C interface of libcortado_archive.so. libarchive depends on a dozen libraries, including ICU's tables, which
// increase start-up time. So the program does not link it. This module does, and it is loaded only to read an archive.
// No C++ types cross the interface.

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { kCortadoArchiveMessageBytes = 256 };

/// An archive in memory, read sequentially.
typedef struct CortadoArchive CortadoArchive;

typedef struct {
  const char* name;  ///< UTF-8 if the archive's is; valid until the next call
  int64_t size;      ///< from its header; -1: unknown
} CortadoArchiveMember;

/// A block of a member's content; gaps between blocks are zeros.
typedef struct {
  const uint8_t* bytes;  ///< valid until the next call; points into the archive if the content is not compressed
  size_t size;
  int64_t offset;  ///< in the content
} CortadoArchiveBlock;

// If these fail, `message` receives the reason, at most kCortadoArchiveMessageBytes with the terminating zero.

/// Returns null if the archive cannot be opened. Reading fails if the decompressed size exceeds `most` bytes.
CortadoArchive* cortado_archive_open(const uint8_t* bytes, size_t size, int64_t most, char* message);
/// Moves to the next regular file. Returns 1 if there is one, 0 at the end, -1 on failure.
int cortado_archive_next(CortadoArchive* archive, CortadoArchiveMember* member, char* message);
/// Reads the next block of that file. Returns the same values.
int cortado_archive_block(CortadoArchive* archive, CortadoArchiveBlock* block, char* message);
void cortado_archive_close(CortadoArchive* archive);
}
