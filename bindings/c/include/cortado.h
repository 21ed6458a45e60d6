/* Cortado from C: trained nets as functions, and trainings.
 *
 * Every function that can fail returns a cortado_status, and cortado_last_error() tells the calling thread what was
 * wrong, as the program would: file, line, column, hint. Nothing that a file contains ends the process. Strings and
 * arrays that a function gives belong to the object that it was asked of; those that it takes may go when it returns.
 * Paths, names and texts are UTF-8. What takes an options struct takes NULL for the defaults.
 *
 * Within one major version functions are added, and none changes or goes; options structs grow at their ends, which
 * their first field tells. */
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

/* The program's exit codes. */
typedef enum cortado_status {
  CORTADO_OK = 0,
  CORTADO_INTERNAL = 1, /* a mistake of Cortado's own, or no memory */
  CORTADO_USAGE = 2,    /* what was asked for: a name, a combination of options */
  CORTADO_NET = 3,      /* a net or solver */
  CORTADO_DATA = 4,     /* data, or an array's shape */
  CORTADO_IO = 5,
  CORTADO_DEVICE = 6,
  CORTADO_DIVERGED = 7,
  CORTADO_WEIGHTS = 8 /* a snapshot or weights */
} cortado_status;

CORTADO_API const char* cortado_version(void); /* "0.1.0" */
/* What the latest call of this thread that failed had to say; "" before the first. */
CORTADO_API const char* cortado_last_error(void);
/* Lines from which severity on go to standard error: 0 all, 1 warnings (unless told otherwise), 2 errors. */
CORTADO_API void cortado_set_log_level(int level);

/* An array of floats in row-major order, N x C x H x W for images. */
typedef struct cortado_array {
  const float* values;
  const int64_t* shape;
  size_t axes;
} cortado_array;

/* Predictors: a trained net, frozen, as a function of named arrays. Any number of threads may use one at once, each
 * with requests of its own; weights are in memory once. */

typedef struct cortado_predictor cortado_predictor;
typedef struct cortado_request cortado_request;

typedef struct cortado_predictor_options {
  size_t size;           /* of this struct: CORTADO_PREDICTOR_OPTIONS sets it */
  int threads;           /* compute threads of one request; 0: as many as there are cores */
  int64_t batch;         /* images in most requests; 0: as the file says. Others work, too */
  const char* outputs;   /* names of blobs, with commas between them; NULL: those that no layer reads */
  const char* device;    /* "cpu", "cuda:0", "simulated"; NULL: "cpu" */
  const char* precision; /* "fp32", "bf16", on a GPU also "tf32", "fp16"; NULL: "fp32" */
} cortado_predictor_options;

#define CORTADO_PREDICTOR_OPTIONS \
  { sizeof(cortado_predictor_options), 0, 0, NULL, NULL, NULL }

/* A deploy prototxt, and files of weights in any of the forms that the program reads, copied in order by layer name. */
CORTADO_API cortado_status cortado_predictor_open(const char* model, const char* const* weights, size_t weights_count,
                                                  const cortado_predictor_options* options,
                                                  cortado_predictor** predictor);
/* The same from memory: the text of a prototxt, and the bytes of a file of weights. */
CORTADO_API cortado_status cortado_predictor_open_memory(const char* model, size_t model_size, const void* weights,
                                                         size_t weights_size, const cortado_predictor_options* options,
                                                         cortado_predictor** predictor);
/* Once no request is left. NULL is nothing. */
CORTADO_API void cortado_predictor_close(cortado_predictor* predictor);

/* Inputs with the shapes that the file declares, and outputs with those of a request of the usual batch; in
 * alphabetical order of their names. NULL and 0 axes past the last. */
CORTADO_API size_t cortado_predictor_inputs(const cortado_predictor* predictor);
CORTADO_API const char* cortado_predictor_input(const cortado_predictor* predictor, size_t index, const int64_t** shape,
                                                size_t* axes);
CORTADO_API size_t cortado_predictor_outputs(const cortado_predictor* predictor);
CORTADO_API const char* cortado_predictor_output(const cortado_predictor* predictor, size_t index,
                                                 const int64_t** shape, size_t* axes);

CORTADO_API cortado_status cortado_request_open(cortado_predictor* predictor, cortado_request** request);
CORTADO_API void cortado_request_close(cortado_request* request);
/* Copies an array, which stays for all runs until it is set anew. `shape` may have any extents that the net allows. */
CORTADO_API cortado_status cortado_request_set(cortado_request* request, const char* input, const float* values,
                                               const int64_t* shape, size_t axes);
CORTADO_API cortado_status cortado_request_run(cortado_request* request);
/* What the latest run made of an output; it lies in the request until the next one. */
CORTADO_API cortado_status cortado_request_get(const cortado_request* request, const char* output,
                                               cortado_array* array);

/* Trainings, as a solver's prototxt describes them. One thread uses one at a time, but for cortado_solver_stop(). */

typedef struct cortado_solver cortado_solver;

typedef struct cortado_solver_options {
  size_t size;           /* CORTADO_SOLVER_OPTIONS sets it */
  int threads;           /* compute threads; 0: as many as there are cores */
  const char* snapshot;  /* a .solverstate to go on from, bit for bit, or "auto": the newest one, if there is any */
  const char* weights;   /* files to start from, with commas between them */
  const char* device;    /* as above; NULL: "cpu", whatever the solver says */
  const char* precision; /* NULL: as the solver says */
} cortado_solver_options;

#define CORTADO_SOLVER_OPTIONS \
  { sizeof(cortado_solver_options), 0, NULL, NULL, NULL, NULL }

CORTADO_API cortado_status cortado_solver_open(const char* solver, const cortado_solver_options* options,
                                               cortado_solver** training);
CORTADO_API void cortado_solver_close(cortado_solver* training);
/* Up to the solver's end, or until it is stopped, with its tests, snapshots and log lines. */
CORTADO_API cortado_status cortado_solver_run(cortado_solver* training);
/* So many iterations more, with the tests and snapshots that fall among them. */
CORTADO_API cortado_status cortado_solver_step(cortado_solver* training, int64_t iterations);
/* From any thread or signal handler: run() ends after the iteration that is under way, with a snapshot. */
CORTADO_API void cortado_solver_stop(cortado_solver* training);
CORTADO_API cortado_status cortado_solver_snapshot(cortado_solver* training);
CORTADO_API int64_t cortado_solver_iteration(const cortado_solver* training);
CORTADO_API double cortado_solver_loss(const cortado_solver* training); /* of the latest iteration */
/* A blob that the training net keeps, as its losses, after the latest iteration; it lies in the training until the next
 * call of this. */
CORTADO_API cortado_status cortado_solver_blob(cortado_solver* training, const char* name, cortado_array* array);

#ifdef __cplusplus
}
#endif

#endif
