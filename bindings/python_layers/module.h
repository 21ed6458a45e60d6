#pragma once

// The C interface of libcortado_python.so, the only user of CPython. The program does not link it, but loads it when a
// net has a layer of type Python. No C++ types cross the interface, and any thread may call it.

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { kCortadoPythonMaxAxes = 32 };

/// The status of a call.
enum {
  kCortadoPythonOk = 0,
  kCortadoPythonNoModule = 1,  ///< the module is missing or cannot be imported
  kCortadoPythonNoClass = 2,   ///< the module does not have the class
  kCortadoPythonFailed = 3,    ///< the class's own code raised an exception
};
enum { kCortadoPythonSetup = 0, kCortadoPythonReshape = 1, kCortadoPythonForward = 2, kCortadoPythonBackward = 3 };
enum { kCortadoPythonBottom = 0, kCortadoPythonTop = 1, kCortadoPythonWeight = 2 };

/// An object of a user's class, with its blobs.
typedef struct CortadoPythonLayer CortadoPythonLayer;

/// Receives a message, valid during the call: one line, optionally followed by a traceback.
struct CortadoPythonText {
  void (*take)(void* user, const char* text, size_t size);
  void* user;
};

struct CortadoPythonOptions {
  const char *module, *layer, *param_str;
  int phase;  ///< 0: TRAIN, 1: TEST
  int bottoms, tops;
  const unsigned char* in_place;  ///< per top: whether it is the bottom with the same index
};

/// Host memory of a blob, until it is bound again. Null: the object allocates arrays of zeros.
struct CortadoPythonBlob {
  const int64_t* dims;
  int axes;  ///< -1: no shape yet
  float *data, *diff;
  unsigned char data_changes, diff_changes;  ///< whether the object may write to it
};

struct CortadoPython {
  /// Makes a layer; null on failure. The options are copied.
  CortadoPythonLayer* (*make)(const struct CortadoPythonOptions* options, int* status, struct CortadoPythonText why);
  void (*drop)(CortadoPythonLayer* layer);
  int (*bind)(CortadoPythonLayer* layer, int kind, int index, const struct CortadoPythonBlob* blob);
  /// Calls a method. `propagate_down`, per bottom, is used by backward only.
  int (*call)(CortadoPythonLayer* layer, int method, const unsigned char* propagate_down, struct CortadoPythonText why);
  /// Returns the number of axes, and the extents in `dims`; -1: it has no shape.
  int (*shape)(CortadoPythonLayer* layer, int kind, int index, int64_t dims[kCortadoPythonMaxAxes]);
  int (*weights)(CortadoPythonLayer* layer);  ///< the number of weights
  /// Copies the values that setup() wrote into a weight.
  int (*weight_values)(CortadoPythonLayer* layer, int index, float* to);
  /// Whether the class has `rows_vary = True`.
  int (*rows_vary)(CortadoPythonLayer* layer);
  /// The user's object, as a new reference to a PyObject.
  void* (*instance)(CortadoPythonLayer* layer);
  /// Shares the object of `other`, with its state.
  int (*adopt)(CortadoPythonLayer* layer, CortadoPythonLayer* other);
};

/// Starts the interpreter at the first call. Null on failure.
const struct CortadoPython* cortado_python(struct CortadoPythonText why);
}
