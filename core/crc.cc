#include "core/crc.h"

#include <zlib.h>

namespace cortado {

uint32_t crc_of(std::string_view piece, uint32_t crc) {
  if (piece.empty()) return crc;  // its pointer may be null, which begins anew
  return uint32_t(::crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
}

}  // namespace cortado
