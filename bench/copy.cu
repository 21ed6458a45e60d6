// The memory bandwidth of a device, as a bound for other measurements: its own copy, a kernel of ours that copies
// sixteen bytes at a time, and the transfer from page-locked host memory.
//
//   cortado_bench_copy DEVICE MEBIBYTES       DEVICE: a GPU's number, or "simulated"
//
// Writes a line for each: "copy 2613.4 GB/s"; bytes read and bytes written both count. The best of five blocks is
// reported, because other load only reduces it.

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>

#include "bench/worker.h"
#include "core/device/device_memory.h"
#include "core/loops/by_packs.h"
#include "core/loops/for_each.h"

namespace cortado::bench {

namespace {

struct CopyFloats {
  const float* x;
  float* y;
  using Arrays = ByPacks<In<&CopyFloats::x>, Out<&CopyFloats::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = x[i]; }
};

/// The bandwidth of `once`, which moves `bytes`.
double gbytes_per_second(Context& context, double bytes, const std::function<void()>& once) {
  constexpr int kBlocks = 5, kTimes = 10;
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int block = -1; block < kBlocks; ++block) {  // the first one touches the memory
    const Clock::time_point from = Clock::now();
    for (int i = 0; i < kTimes; ++i) once();
    synchronize(context);
    const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
    if (block >= 0) best = std::max(best, kTimes * bytes / seconds / 1e9);
  }
  return best;
}

void run(const std::vector<std::string>& args) {
  Context context({.device = device_named(args[0])});
  const size_t bytes = size_t(std::stoul(args[1])) << 20;
  const DeviceMemory from(context, bytes), to(context, bytes);
  const PinnedMemory host(context, bytes);
  const auto tell = [&](const char* name, double moved, const std::function<void()>& once) {
    std::cout << name << ' ' << gbytes_per_second(context, moved, once) << " GB/s" << std::endl;
  };
  const CopyFloats copy{reinterpret_cast<const float*>(from.data()), reinterpret_cast<float*>(to.data())};
  tell("copy", 2.0 * double(bytes), [&] { copy_on_device(context, to.data(), from.data(), bytes); });
  tell("kernel", 2.0 * double(bytes), [&] { for_each(context, int64_t(bytes / sizeof(float)), copy); });
  tell("upload", double(bytes), [&] { copy_to_device_later(context, to.data(), host.data(), bytes); });
}

}  // namespace

}  // namespace cortado::bench

int main(int argc, char** argv) {
  return cortado::bench::worker_main(argc, argv, 2, "cortado_bench_copy DEVICE MEBIBYTES", cortado::bench::run);
}
