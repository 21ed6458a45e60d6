#pragma once

// The C interface of libcortado_python.so, the only place that knows CPython. The program does not link it: it is
// loaded when a net has a layer of type Python. Nothing C++ crosses the border, and any thread may call.

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { kCortadoPythonMaxAxes = 32 };

/// What became of a call.
enum {
  kCortadoPythonOk = 0,
  kCortadoPythonNoModule = 1,  ///< the module is not there, or fails while it is imported
  kCortadoPythonNoClass = 2,   ///< the module has no such class
  kCortadoPythonFailed = 3,    ///< the class's own code raised an exception
};
enum { kCortadoPythonSetup = 0, kCortadoPythonReshape = 1, kCortadoPythonForward = 2, kCortadoPythonBackward = 3 };
enum { kCortadoPythonBottom = 0, kCortadoPythonTop = 1, kCortadoPythonWeight = 2 };

/// An object of a user's class, with its blobs.
typedef struct CortadoPythonLayer CortadoPythonLayer;

/// Takes words, which end with the call: what went wrong in one line, then perhaps a traceback.
struct CortadoPythonText {
  void (*take)(void* user, const char* text, size_t size);
  void* user;
};

struct CortadoPythonOptions {
  const char *module, *layer, *param_str;
  int phase;  ///< 0 to train, 1 to test
  int bottoms, tops;
  const unsigned char* in_place;  ///< per top: it is the bottom of the same number
};

/// Memory of the host as the object sees it until it is bound anew. Null: arrays of zeros of its own.
struct CortadoPythonBlob {
  const int64_t* dims;
  int axes;  ///< -1: no shape yet
  float *data, *diff;
  unsigned char data_changes, diff_changes;  ///< whether the object may write there
};

struct CortadoPython {
  /// Null where it fails. The options are copied.
  CortadoPythonLayer* (*make)(const struct CortadoPythonOptions* options, int* status, struct CortadoPythonText why);
  void (*drop)(CortadoPythonLayer* layer);
  int (*bind)(CortadoPythonLayer* layer, int kind, int index, const struct CortadoPythonBlob* blob);
  /// propagate_down: per bottom; read by backward alone.
  int (*call)(CortadoPythonLayer* layer, int method, const unsigned char* propagate_down, struct CortadoPythonText why);
  /// The number of axes, and the extents; -1: it has no shape.
  int (*shape)(CortadoPythonLayer* layer, int kind, int index, int64_t dims[kCortadoPythonMaxAxes]);
  int (*weights)(CortadoPythonLayer* layer);  ///< how many there are
  /// What setup() wrote into a weight; as many floats as its shape says.
  int (*weight_values)(CortadoPythonLayer* layer, int index, float* to);
  /// Whether the class says `rows_vary = True`.
  int (*rows_vary)(CortadoPythonLayer* layer);
  /// The user's own object: a new reference to a PyObject.
  void* (*instance)(CortadoPythonLayer* layer);
  /// From now on the object of `other`, with what it keeps, is this one's too.
  int (*adopt)(CortadoPythonLayer* layer, CortadoPythonLayer* other);
};

/// Starts the interpreter at the first call. Null where it does not start.
const struct CortadoPython* cortado_python(struct CortadoPythonText why);
}
