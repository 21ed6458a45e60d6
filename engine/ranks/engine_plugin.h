#pragma once

// The C interface of libcortado_openmpi.so, libcortado_mpich.so and libcortado_gloo.so. Each wraps one library that
// moves bytes between processes; the program links none of them. No C++ types cross the interface. One thread calls at
// a time.

#include <stddef.h>

extern "C" {

enum { kCortadoEngineVersion = 2 };

/// The result of a call.
enum {
  kCortadoEngineDone = 0,
  kCortadoEngineMoving = 1,  ///< of test() only: the exchange is not complete
  kCortadoEngineFailed = 2,
};

/// Receives an error message of one line, valid during the call.
struct CortadoEngineText {
  void (*take)(void* user, const char* text, size_t size);
  void* user;
};

/// Bytes [at, at + bytes) of a buffer.
struct CortadoPiece {
  size_t at, bytes;
};

/// What one rank sends and receives at once. Both lists have an entry per rank; that of the rank itself is empty. What
/// a rank sends another has the size that the other expects.
struct CortadoExchange {
  const char* send;
  const struct CortadoPiece* sends;
  char* receive;
  const struct CortadoPiece* receives;
};

struct CortadoEngineStart {
  int rank, ranks;                     ///< from the environment; some libraries ignore them
  double stall_seconds;                ///< how long nothing may move, for libraries that wait by themselves
  void (*end_process)(int exit_code);  ///< EngineOptions::end_process, or null
};

struct CortadoEngine {
  int version;       ///< kCortadoEngineVersion
  const char* name;  ///< of the library, with its version
  int rank, ranks;
  /// Starts an exchange. Its memory (not the lists) must stay valid until test() reports that it is done.
  int (*start)(const struct CortadoExchange* exchange, struct CortadoEngineText why);
  /// Advances the exchange. `awaited`, per rank, becomes 1 if something still has to come from or go to it. `moved`
  /// grows whenever something has arrived or was sent.
  int (*test)(unsigned char* awaited, size_t* moved, struct CortadoEngineText why);
  /// Ends this rank's part. With an exit code other than 0 the others must end too. A library that can notify them only
  /// by ending this process calls end_process, if not null, and does not return.
  int (*leave)(int exit_code, struct CortadoEngineText why);
};

/// Starts the library, once per process; waits for the other ranks. Null if it fails.
const struct CortadoEngine* cortado_engine(const struct CortadoEngineStart* start, struct CortadoEngineText why);
}
