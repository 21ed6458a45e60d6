#pragma once

// One loaded version of a model.

#include <memory>
#include <string>
#include <vector>

#include "server/batching/batcher.h"
#include "server/metrics/statistics.h"
#include "server/models/image_reader.h"
#include "server/models/row_probe.h"

namespace cortado::server {

class Version {
 public:
  /// Reads the net and the weights of `arguments` (flags of `cortado serve`), and prepares a plan for every number of
  /// rows. Throws Error.
  Version(std::string model, std::string number, const tools::Arguments& arguments, ModelMetrics metrics);

  const std::string& model() const { return model_; }
  const std::string& number() const { return number_; }
  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  int64_t max_rows() const { return max_rows_; }  ///< of a request; 0: requests have the shapes of the net's file
  std::chrono::microseconds max_delay() const { return max_delay_; }
  const Statistics& statistics() const { return statistics_; }
  ImageReader* image_reader() const { return image_reader_.get(); }  ///< null if the net's input is not an image
  Batcher& batcher() { return *batcher_; }

  /// The spec of that name, or null.
  const TensorSpec* input(const std::string& name) const;

  /// Throws RequestError(kInvalid) if `dims` is not a valid shape of this input.
  void check_shape(const TensorSpec& input, const std::vector<int64_t>& dims) const;

  /// Sets the request's number of rows, and requests all outputs if it names none. Throws RequestError(kInvalid).
  void check(Request& request) const;

 private:
  void make_predictor(const std::shared_ptr<const NetFile>& file, const tools::Arguments& arguments);
  void describe();
  int64_t warm_up(int contexts);  ///< returns the rows per batch with the highest throughput

  std::string model_, number_;
  int64_t max_rows_;
  std::chrono::microseconds max_delay_;
  std::unique_ptr<Predictor> predictor_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::unique_ptr<ImageReader> image_reader_;
  Statistics statistics_;
  std::unique_ptr<Batcher> batcher_;
};

}  // namespace cortado::server
