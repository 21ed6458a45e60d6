/* Runs a trained net on an array of bytes, for example an image, with Cortado's C interface.
 *
 *     classify DEPLOY.prototxt NET.caffemodel FILE
 *
 * FILE has one byte for each value of the net's input, in the order channels, rows, columns. Prints the index and the
 * value of the largest score of the first output. */
#include <cortado.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(cortado_status status) {
  fprintf(stderr, "%s\n", cortado_last_error());
  return (int)status;
}

int main(int argc, char** argv) {
  if (argc != 4) return CORTADO_USAGE;
  cortado_predictor* net = NULL;
  const char* weights = argv[2];
  cortado_status status = cortado_predictor_open(argv[1], &weights, 1, NULL, &net);
  if (status != CORTADO_OK) return fail(status);

  const int64_t* shape;
  size_t axes, count = 1;
  const char* input = cortado_predictor_input(net, 0, &shape, &axes);
  for (size_t i = 0; i < axes; ++i) count *= (size_t)shape[i];
  float* values = calloc(count, sizeof *values);
  FILE* file = fopen(argv[3], "rb");
  for (size_t i = 0; file && values && i < count; ++i) values[i] = (float)fgetc(file) / 256;

  cortado_request* request = NULL;
  cortado_array scores = {NULL, NULL, 0};
  status = cortado_request_open(net, &request);
  if (status == CORTADO_OK) status = cortado_request_set(request, input, values, shape, axes);
  if (status == CORTADO_OK) status = cortado_request_run(request);
  if (status == CORTADO_OK) status = cortado_request_get(request, cortado_predictor_output(net, 0, NULL, NULL), &scores);
  if (status != CORTADO_OK) return fail(status);

  size_t best = 0, classes = (size_t)scores.shape[scores.axes - 1];
  for (size_t i = 1; i < classes; ++i)
    if (scores.values[i] > scores.values[best]) best = i;
  printf("%zu %g\n", best, scores.values[best]);
  cortado_request_close(request);
  cortado_predictor_close(net);
  free(values);
  return file ? 0 : CORTADO_IO;
}
