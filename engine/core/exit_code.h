#pragma once

namespace cortado {

/// What the process returns, by the kind of mistake. Scripts and schedulers rely on these numbers.
enum class ExitCode {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kNet = 3,       ///< a net or a solver file is wrong
  kData = 4,      ///< a dataset, an image, a label or a mean file is wrong
  kIo = 5,        ///< a file cannot be read or written
  kDevice = 6,    ///< no such device, or not enough of its memory
  kDiverged = 7,  ///< the loss became NaN or infinite
  kSnapshot = 8,  ///< weights or a snapshot are corrupt or do not fit
};

}  // namespace cortado
