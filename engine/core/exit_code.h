#pragma once

namespace cortado {

/// The exit codes of the process. Scripts and schedulers rely on these numbers.
enum class ExitCode {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kNet = 3,       ///< invalid net or solver file
  kData = 4,      ///< invalid dataset, image, label or mean file
  kIo = 5,        ///< a file cannot be read or written
  kDevice = 6,    ///< no such device, or not enough of its memory
  kDiverged = 7,  ///< the loss is NaN or infinite
  kSnapshot = 8,  ///< weights or a snapshot are corrupt or do not match the net
};

}  // namespace cortado
