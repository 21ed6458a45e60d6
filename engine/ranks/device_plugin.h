#pragma once

// The C interface of libcortado_nccl.so, through which the program uses a library that moves bytes between devices
// without linking it. As in ranks/engine_plugin.h, no C++ types cross the interface. One thread calls at a time, with
// the device as its current one.

#include "ranks/engine_plugin.h"

extern "C" {

enum { kCortadoDeviceEngineVersion = 1, kCortadoDeviceEngineIdBytes = 128 };

struct CortadoDeviceEngineStart {
  int rank, ranks;
  const char* id;        ///< from make_id(), the same for all ranks
  double stall_seconds;  ///< how long start() and exchange() may wait for other ranks
};

struct CortadoDeviceEngine {
  int version;       ///< kCortadoDeviceEngineVersion
  const char* name;  ///< of the library, with its version
  /// Writes kCortadoDeviceEngineIdBytes bytes. One rank calls it and sends them to the others before all of them start.
  int (*make_id)(char* id, struct CortadoEngineText why);
  int (*start)(const struct CortadoDeviceEngineStart* start, struct CortadoEngineText why);
  /// Enqueues an exchange of device memory in a CUDA stream.
  int (*exchange)(const struct CortadoExchange* exchange, void* stream, struct CortadoEngineText why);
  /// The state of the enqueued work: kCortadoEngineMoving, or kCortadoEngineFailed.
  int (*look)(struct CortadoEngineText why);
  /// Aborts pending work, so that streams complete. No function may be called afterwards.
  void (*abandon)(void);
};

/// Null if the library cannot be used.
const struct CortadoDeviceEngine* cortado_device_engine(struct CortadoEngineText why);
}
