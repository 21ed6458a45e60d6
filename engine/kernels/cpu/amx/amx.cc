#include "kernels/cpu/amx/amx.h"

#ifdef CORTADO_WITH_AMX

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace cortado::kernels::amx {

namespace {

bool cpu_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;  // bits of leaf 7
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) && (d & kTiles);
}

/// Linux enables tile state only on request.
bool system_grants_tiles() {
  constexpr long kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
}

}  // namespace

bool is_here() {
  static const bool here = cpu_has_tiles() && system_grants_tiles();
  return here;
}

Tiles::Tiles() {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_of_row[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int tile = 0; tile < 8; ++tile) config.bytes_of_row[tile] = uint16_t(kRow), config.rows[tile] = uint8_t(kRows);
  asm volatile("" ::: "memory");
  _tile_loadconfig(&config);
}

}  // namespace cortado::kernels::amx

#endif
