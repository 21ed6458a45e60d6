#pragma once

// Pages and nodes of an LMDB file, each checked when it is read. Used by lmdb.cc and lmdb_cursor.cc only.
//   page  u64 number, u16 -, u16 flags, u16 lower, u16 upper (a run of overflow pages: u32 pages instead of both),
//         then a u16 for each node: its offset
//   node  u16 low, u16 high, u16 flags, u16 key size, key, value
// The value's size is low + high * 2^16; in a branch low, high and flags together are the number of a child page.

#include <cstdint>
#include <cstring>

#include "data/lmdb/lmdb.h"

namespace cortado::data {

constexpr int kPageHead = 16, kNodeHead = 8;
enum PageFlag : uint16_t { kBranchPage = 1, kLeafPage = 2, kOverflowPage = 4, kFixedSizeLeaf = 0x20 };
enum NodeFlag : uint16_t { kBigValue = 1, kNamedTable = 2, kDuplicates = 4 };

/// A little-endian number at an unaligned address.
template <typename T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct Lmdb::Page {
  const uint8_t* bytes;
  bool leaf;
  int entries;
};

}  // namespace cortado::data
