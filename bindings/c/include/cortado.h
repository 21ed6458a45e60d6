/* Cortado from C: inference and training.
 *
 * Every function that can fail returns a cortado_status. cortado_last_error() then returns the message for the calling
 * thread: file, line, column, hint. Returned strings and arrays belong to the object that the function was called with.
 * Strings and arrays that are passed need to stay valid only during the call. Paths, names and texts are UTF-8. For an
 * options struct NULL means the defaults.
 *
 * Within one major version functions are only added. Options structs grow at their end; their first field is their
 * size. */
#ifndef CORTADO_H
#define CORTADO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CORTADO_API __attribute__((visibility("default")))
#else
#define CORTADO_API
#endif

/* The exit codes of the program. */
typedef enum cortado_status {
  CORTADO_OK = 0,
  CORTADO_INTERNAL = 1, /* a bug in Cortado, or out of memory */
  CORTADO_USAGE = 2,    /* an unknown name, or a wrong combination of options */
  CORTADO_NET = 3,      /* an error in a net or solver */
  CORTADO_DATA = 4,     /* an error in data, or in the shape of an array */
  CORTADO_IO = 5,       /* a file cannot be read or written */
  CORTADO_DEVICE = 6,   /* no such device, or it has too little memory */
  CORTADO_DIVERGED = 7, /* the loss is NaN or infinite */
  CORTADO_WEIGHTS = 8   /* a snapshot or weights are damaged or do not fit */
} cortado_status;

/* The version, for example "0.1.0". */
CORTADO_API const char* cortado_version(void);
/* The message of the last failed call of this thread; "" before the first. */
CORTADO_API const char* cortado_last_error(void);
/* Sets the lowest severity that is printed to standard error: 0 all, 1 warnings (the default), 2 errors. */
CORTADO_API void cortado_set_log_level(int level);

/* An array of floats in row-major order, N x C x H x W for images. */
typedef struct cortado_array {
  const float* values;
  const int64_t* shape;
  size_t axes;
} cortado_array;

/* Predictors: a trained net as a function of named arrays. Any number of threads may use a predictor at once, each with
 * its own requests. Weights are in memory once. */

typedef struct cortado_predictor cortado_predictor;
typedef struct cortado_request cortado_request;

typedef struct cortado_predictor_options {
  size_t size;           /* of this struct; CORTADO_PREDICTOR_OPTIONS sets it */
  int threads;           /* compute threads of one request; 0: all cores */
  int64_t batch;         /* images in most requests; 0: as in the file. Other numbers work, too */
  const char* outputs;   /* names of blobs, separated by commas; NULL: those that no layer reads */
  const char* device;    /* "cpu", "cuda:0", "simulated"; NULL: "cpu" */
  const char* precision; /* "fp32", "bf16", on GPUs also "tf32", "fp16"; NULL: "fp32" */
} cortado_predictor_options;

#define CORTADO_PREDICTOR_OPTIONS \
  { sizeof(cortado_predictor_options), 0, 0, NULL, NULL, NULL }

/* Opens a deploy prototxt and weights files in any format that the program reads. Weights are copied in order, by layer
 * name. */
CORTADO_API cortado_status cortado_predictor_open(const char* model, const char* const* weights, size_t weights_count,
                                                  const cortado_predictor_options* options,
                                                  cortado_predictor** predictor);
/* The same from memory: the text of a prototxt and the bytes of a weights file. */
CORTADO_API cortado_status cortado_predictor_open_memory(const char* model, size_t model_size, const void* weights,
                                                         size_t weights_size, const cortado_predictor_options* options,
                                                         cortado_predictor** predictor);
/* Closes a predictor after its requests. NULL is allowed. */
CORTADO_API void cortado_predictor_close(cortado_predictor* predictor);

/* The number of inputs. */
CORTADO_API size_t cortado_predictor_inputs(const cortado_predictor* predictor);
/* Name and declared shape of an input, in alphabetical order; NULL, 0 axes and an error message after the last. */
CORTADO_API const char* cortado_predictor_input(const cortado_predictor* predictor, size_t index, const int64_t** shape,
                                                size_t* axes);
/* The number of outputs. */
CORTADO_API size_t cortado_predictor_outputs(const cortado_predictor* predictor);
/* Name and shape of an output with the usual batch, in alphabetical order; NULL, 0 axes and an error message after the
 * last. */
CORTADO_API const char* cortado_predictor_output(const cortado_predictor* predictor, size_t index,
                                                 const int64_t** shape, size_t* axes);

/* Opens a request, which one thread uses at a time. */
CORTADO_API cortado_status cortado_request_open(cortado_predictor* predictor, cortado_request** request);
/* Closes a request. NULL is allowed. */
CORTADO_API void cortado_request_close(cortado_request* request);
/* Copies an array into an input, for all runs until it is set again. `shape` may be any that the net accepts; only its
 * number of axes is checked here, the rest when the request runs. */
CORTADO_API cortado_status cortado_request_set(cortado_request* request, const char* input, const float* values,
                                               const int64_t* shape, size_t axes);
/* Computes the outputs. */
CORTADO_API cortado_status cortado_request_run(cortado_request* request);
/* An output of the latest run. The array stays valid until the next run. */
CORTADO_API cortado_status cortado_request_get(const cortado_request* request, const char* output,
                                               cortado_array* array);

/* Trainings: described by a solver's prototxt. One thread uses a training at a time, except for cortado_solver_stop().
 */

typedef struct cortado_solver cortado_solver;

typedef struct cortado_solver_options {
  size_t size;           /* of this struct; CORTADO_SOLVER_OPTIONS sets it */
  int threads;           /* compute threads; 0: all cores */
  const char* snapshot;  /* a .solverstate to resume from, or "auto" for the newest one, if any */
  const char* weights;   /* files with initial weights, separated by commas */
  const char* device;    /* as above; NULL: "cpu", even if the solver has another */
  const char* precision; /* NULL: as in the solver */
} cortado_solver_options;

#define CORTADO_SOLVER_OPTIONS \
  { sizeof(cortado_solver_options), 0, NULL, NULL, NULL, NULL }

/* Opens a solver file. */
CORTADO_API cortado_status cortado_solver_open(const char* solver, const cortado_solver_options* options,
                                               cortado_solver** training);
/* Closes a training. NULL is allowed. */
CORTADO_API void cortado_solver_close(cortado_solver* training);
/* Trains to the solver's end or until it is stopped, with tests, snapshots and log lines. */
CORTADO_API cortado_status cortado_solver_run(cortado_solver* training);
/* Trains for a number of iterations, with the tests and snapshots that are due. */
CORTADO_API cortado_status cortado_solver_step(cortado_solver* training, int64_t iterations);
/* Ends run() after the current iteration, with a snapshot. May be called from any thread or signal handler. */
CORTADO_API void cortado_solver_stop(cortado_solver* training);
/* Writes a snapshot. */
CORTADO_API cortado_status cortado_solver_snapshot(cortado_solver* training);
/* The number of iterations so far. */
CORTADO_API int64_t cortado_solver_iteration(const cortado_solver* training);
/* The loss of the latest iteration. */
CORTADO_API double cortado_solver_loss(const cortado_solver* training);
/* A blob that the training net keeps, such as its losses, after the latest iteration. The array stays valid until the
 * next call of this function. */
CORTADO_API cortado_status cortado_solver_blob(cortado_solver* training, const char* name, cortado_array* array);

#ifdef __cplusplus
}
#endif

#endif
