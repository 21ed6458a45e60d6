#pragma once

// The C interface of libcortado_openmpi.so, libcortado_mpich.so and libcortado_gloo.so: each knows one library that
// moves bytes between processes, and the program links none of them. Nothing C++ crosses the border. One thread calls
// at a time.

#include <stddef.h>

extern "C" {

enum { kCortadoEngineVersion = 2 };

/// What became of a call.
enum {
  kCortadoEngineDone = 0,
  kCortadoEngineMoving = 1,  ///< by test() alone: something is still under way
  kCortadoEngineFailed = 2,
};

/// Takes words, which end with the call: what went wrong, in one line.
struct CortadoEngineText {
  void (*take)(void* user, const char* text, size_t size);
  void* user;
};

/// Bytes [at, at + bytes) of a memory.
struct CortadoPiece {
  size_t at, bytes;
};

/// What one rank sends and receives at once. Both lists have an entry for each rank, that of the rank itself empty.
/// What one rank sends another is as long as what that one receives of it.
struct CortadoExchange {
  const char* send;
  const struct CortadoPiece* sends;
  char* receive;
  const struct CortadoPiece* receives;
};

struct CortadoEngineStart {
  int rank, ranks;                     ///< as the environment tells; libraries that know better do not look
  double stall_seconds;                ///< how long nothing may move, for libraries that wait by themselves
  void (*end_process)(int exit_code);  ///< EngineOptions::end_process, or null
};

struct CortadoEngine {
  int version;       ///< kCortadoEngineVersion
  const char* name;  ///< of the library, with its version
  int rank, ranks;
  /// Begins an exchange, of which the memory (not the lists) stays as it is until test() has said that it is done.
  int (*start)(const struct CortadoExchange* exchange, struct CortadoEngineText why);
  /// Moves on what was begun. `awaited`, per rank, becomes 1 where something is still to come from or go to it; `moved`
  /// grows whenever something has come or gone.
  int (*test)(unsigned char* awaited, size_t* moved, struct CortadoEngineText why);
  /// Ends this rank's part. With an exit code other than 0 the others are to end, too; a library that cannot tell them
  /// without an end of this process does so where there is an end_process, and does not return then.
  int (*leave)(int exit_code, struct CortadoEngineText why);
};

/// Starts the library, once in a process; waits for the other ranks. Null where it fails.
const struct CortadoEngine* cortado_engine(const struct CortadoEngineStart* start, struct CortadoEngineText why);
}
