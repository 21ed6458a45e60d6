#pragma once

// A trained net as a function of named arrays. See cortado.h for thread safety.

#include <cortado/error.h>
#include <cortado/handle.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cortado {

/// Values in row-major order, N x C x H x W for images.
struct ArrayView {
  std::span<const float> values;
  std::span<const int64_t> shape;

  explicit ArrayView(const cortado_array& array) : shape(array.shape, array.axes) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= size_t(extent);
    values = {array.values, count};
  }
};

struct PredictorOptions {
  int threads = 0;                        ///< compute threads of one request; 0: all cores
  int64_t batch = 0;                      ///< usual batch size; 0: as in the file
  std::vector<std::string> outputs = {};  ///< empty: blobs that no layer reads
  std::string device = "cpu", precision = "fp32";
};

class Predictor {
 public:
  using Shapes = std::map<std::string, std::vector<int64_t>>;

  /// `model` is a deploy prototxt. Throws Error.
  Predictor(const std::string& model, const std::vector<std::string>& weights, const PredictorOptions& options = {}) {
    std::vector<const char*> paths;
    for (const std::string& path : weights) paths.push_back(path.c_str());
    open(options, [&](const cortado_predictor_options* plain, cortado_predictor** made) {
      return cortado_predictor_open(model.c_str(), paths.data(), paths.size(), plain, made);
    });
  }

  /// The same from the text of a prototxt and the content of a weights file.
  static Predictor from_memory(std::string_view model, std::span<const std::byte> weights,
                               const PredictorOptions& options = {}) {
    Predictor predictor;
    predictor.open(options, [&](const cortado_predictor_options* plain, cortado_predictor** made) {
      return cortado_predictor_open_memory(model.data(), model.size(), weights.data(), weights.size(), plain, made);
    });
    return predictor;
  }

  Shapes inputs() const { return shapes(cortado_predictor_inputs, cortado_predictor_input); }  ///< as in the file
  Shapes outputs() const {
    return shapes(cortado_predictor_outputs, cortado_predictor_output);
  }  ///< for the usual batch

  /// One thread's requests. The predictor must outlive it.
  class Request {
   public:
    explicit Request(const Predictor& predictor) {
      cortado_request* made = nullptr;
      check(cortado_request_open(predictor.handle_.get(), &made));
      handle_.reset(made);
    }
    /// Copies values, which are used in all runs until they are set again.
    void set(const std::string& input, std::span<const float> values, std::span<const int64_t> shape) {
      size_t count = 1;
      for (const int64_t extent : shape) count *= size_t(extent);
      if (count != values.size())
        throw std::invalid_argument(input + ": the number of values does not match the shape");
      check(cortado_request_set(handle_.get(), input.c_str(), values.data(), shape.data(), shape.size()));
    }
    void run() { check(cortado_request_run(handle_.get())); }
    /// An output of the last run, valid until the next run().
    ArrayView get(const std::string& output) const {
      cortado_array array{};
      check(cortado_request_get(handle_.get(), output.c_str(), &array));
      return ArrayView(array);
    }

   private:
    Handle<cortado_request, cortado_request_close> handle_;
  };

 private:
  Predictor() = default;

  template <typename Open>
  void open(const PredictorOptions& options, const Open& make) {
    std::string outputs;
    for (const std::string& name : options.outputs) outputs += (outputs.empty() ? "" : ",") + name;
    cortado_predictor_options plain = CORTADO_PREDICTOR_OPTIONS;
    plain.threads = options.threads;
    plain.batch = options.batch;
    plain.outputs = outputs.empty() ? nullptr : outputs.c_str();
    plain.device = options.device.c_str();
    plain.precision = options.precision.c_str();
    cortado_predictor* made = nullptr;
    check(make(&plain, &made));
    handle_.reset(made);
  }

  template <typename Count, typename Describe>
  Shapes shapes(const Count& count, const Describe& describe) const {
    Shapes all;
    for (size_t i = 0; i < count(handle_.get()); ++i) {
      const int64_t* extents = nullptr;
      size_t axes = 0;
      const char* const name = describe(handle_.get(), i, &extents, &axes);
      all[name].assign(extents, extents + axes);
    }
    return all;
  }

  Handle<cortado_predictor, cortado_predictor_close> handle_;
};

}  // namespace cortado
