#pragma once

// The C interface of libcortado_nccl.so, by which the program reaches a library that moves bytes between devices
// without being linked to it. As in ranks/engine_plugin.h nothing C++ crosses the border; one thread calls at a time,
// with the device as its current one.

#include "ranks/engine_plugin.h"

extern "C" {

enum { kCortadoDeviceEngineVersion = 1, kCortadoDeviceEngineIdBytes = 128 };

struct CortadoDeviceEngineStart {
  int rank, ranks;
  const char* id;        ///< of make_id(), the same for all ranks
  double stall_seconds;  ///< how long start() and exchange() may wait for others
};

struct CortadoDeviceEngine {
  int version;       ///< kCortadoDeviceEngineVersion
  const char* name;  ///< of the library, with its version
  /// Writes kCortadoDeviceEngineIdBytes bytes, which one rank tells the others before all of them start.
  int (*make_id)(char* id, struct CortadoEngineText why);
  int (*start)(const struct CortadoDeviceEngineStart* start, struct CortadoEngineText why);
  /// Puts an exchange of device memory into the work of a CUDA stream.
  int (*exchange)(const struct CortadoExchange* exchange, void* stream, struct CortadoEngineText why);
  /// Whether what was put there still may end well: kCortadoEngineMoving, or kCortadoEngineFailed.
  int (*look)(struct CortadoEngineText why);
  /// Ends what is under way, so that streams come to their ends. Nothing is called afterwards.
  void (*abandon)(void);
};

/// Null where the library cannot be used.
const struct CortadoDeviceEngine* cortado_device_engine(struct CortadoEngineText why);
}
