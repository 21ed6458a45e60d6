// A model does not say which extents are its batch; if the batch is 1, other extents are 1 as well. So it is read with
// a prime as the batch size (batch.h), then with another one. If both yield the same net, the net takes any batch size.
// Otherwise it is read for its own batch size, and a Reshape after each input refuses others.

#include "onnx/import/import.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include "core/error.h"
#include "core/files/file.h"
#include "onnx/import/model_reader.h"
#include "onnx/import/patterns.h"
#include "proto/text/write_text.h"
#include "proto/weights/write_weights.h"

namespace cortado::importing {

namespace {

/// A hash of each layer and of each layer's weights, with the layer's name.
std::vector<std::pair<size_t, std::string>> fingerprints(const ImportedNet& net) {
  const std::hash<std::string_view> hash;
  std::vector<std::pair<size_t, std::string>> sums;
  for (const caffe::LayerParameter& layer : net.net.layer())
    sums.emplace_back(hash(layer.SerializeAsString()), layer.name());
  for (const LayerWeights& weights : net.weights) {
    size_t sum = 0;
    for (const BlobFile& blob : weights.blobs)
      sum = sum * 31 + hash({reinterpret_cast<const char*>(blob.data.data()), blob.data.size() * sizeof(float)});
    sums.emplace_back(sum, weights.name);
  }
  return sums;
}

/// Primes for the batch size, larger than most extents. Two, in case one of them is an extent of the model.
constexpr int64_t kMarks[] = {1009, 1013};

/// Reads the net with this prime as the batch size; returns nothing, and the reason in `why`, if that fails.
std::optional<ImportedNet> read_with(const ModelFile& file, const ImportOptions& options, BatchAxis axis, int64_t mark,
                                     std::string& why) {
  ModelReader reader(file, options, axis, mark);
  try {
    return reader.run();
  } catch (const Error& error) {
    if (error.code() != ExitCode::kNet) throw;
  } catch (const FieldError&) {
  } catch (const std::bad_alloc&) {
  }
  why = reader.place();
  return std::nullopt;
}

std::optional<ImportedNet> read_for_any_batch(const ModelFile& file, const ImportOptions& options, BatchAxis axis,
                                              std::string& why) {
  auto net = read_with(file, options, axis, kMarks[0], why);
  if (!net) return std::nullopt;
  const auto first = fingerprints(*net);
  net.reset();  // do not keep two large nets in memory
  net = read_with(file, options, axis, kMarks[1], why);
  if (!net) return net;
  const auto second = fingerprints(*net);
  const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  if (differ.first == first.end() && differ.second == second.end()) return net;
  why = "a constant depends on the batch" +
        (differ.second == second.end() ? "" : ", at layer '" + differ.second->second + "'");
  return std::nullopt;
}

ImportedNet read_model(const ModelFile& file, const ImportOptions& options) {
  const auto& inputs = file.graph().input();
  const bool steps = std::any_of(inputs.begin(), inputs.end(), [](const onnx::ValueInfoProto& input) {
    return has_steps_first(input.type().tensor_type().shape());
  });
  std::string why;
  for (const BatchAxis axis : {BatchAxis::kSecond, BatchAxis::kFirst})
    if (axis != BatchAxis::kSecond || steps)
      if (auto net = read_for_any_batch(file, options, axis, why)) return std::move(*net);
  ImportedNet net = ModelReader(file, options, BatchAxis::kNone, 0).run();
  net.own_batch_alone = why;
  if (options.batch > 0)
    throw Error(ExitCode::kUsage, "--batch: the net takes only the model's own batch size: " + why);
  return net;
}

}  // namespace

ImportedNet import_model(const std::string& path, const ImportOptions& options) {
  try {
    ModelFile file(path);
    merge_gelu(file.graph(), file);
    remove_dead_nodes(file.graph());
    return read_model(file, options);
  } catch (const std::bad_alloc&) {
    throw file_error(ExitCode::kNet, path, "damaged: reading it needs more memory than allowed for its size");
  }
}

namespace {

void put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw std::runtime_error(std::string("cannot write: ") + std::strerror(errno));
    bytes.remove_prefix(size_t(done));
  }
}

void put_head(uint64_t code, uint64_t length, uint64_t hint) {
  const uint64_t numbers[] = {code, length, hint};
  put({reinterpret_cast<const char*>(numbers), sizeof numbers});
}

}  // namespace

std::string text_of(const ImportedNet& net, const std::string& model) {
  return "# Made from " + file_name_of(model) + " by `cortado convert onnx`.\n" + to_text(net.net);
}

void write_files(ImportedNet net, const std::string& model, const std::string& prototxt, const std::string& weights,
                 const WeightsTarget& form) {
  const std::string text = text_of(net, model);
  if (!net.weights.empty()) write_weights_as(form, weights, net.net.name(), std::move(net.weights));
  write_file_atomically(prototxt, text);
}

void send(const ImportedNet& net, const std::string& model, bool wants_weights) {
  const std::string text = text_of(net, model);
  put_head(0, text.size(), 0);
  put(text);
  if (!wants_weights) return;
  send_weights(net.net.name(), net.weights, put);
}

void send_mistake(ExitCode code, const std::string& message, const std::string& hint) {
  put_head(uint64_t(code), message.size(), hint.size());
  put(message);
  put(hint);
}

}  // namespace cortado::importing
