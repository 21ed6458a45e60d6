// A model says nothing of which extents are its batch, and where that is 1 others are, too. So it is read with a prime
// as the batch (batch.h), and once more with another: where both give the same net, that net takes any batch. Else it
// is read for its own batch, and a Reshape behind each input refuses others.
#include "onnx/import/import.h"

#include <algorithm>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/files/file_error.h"
#include "onnx/import/model_reader.h"
#include "onnx/import/patterns.h"

namespace cortado::importing {

namespace {

/// Of all that a net and its weights are.
size_t fingerprint(const ImportedNet& net) {
  const std::hash<std::string_view> hash;
  size_t sum = hash(net.net.SerializeAsString());
  for (const LayerWeights& weights : net.weights)
    for (const BlobFile& blob : weights.blobs)
      sum = sum * 31 + hash({reinterpret_cast<const char*>(blob.data.data()), blob.data.size() * sizeof(float)});
  return sum;
}

/// Primes that a batch stands as, larger than most extents: where one is an extent of the model, the other is not.
constexpr int64_t kMarks[] = {1009, 1013};

/// The net with this prime as the batch; null where that cannot be, and why.
std::optional<ImportedNet> read_with(const ModelFile& file, const std::map<std::string, Shape>& shapes, BatchAxis axis,
                                     int64_t mark, std::string& why) {
  ModelReader reader(file, shapes, axis, mark);
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

std::optional<ImportedNet> read_for_any_batch(const ModelFile& file, const std::map<std::string, Shape>& shapes,
                                              BatchAxis axis, std::string& why) {
  auto net = read_with(file, shapes, axis, kMarks[0], why);
  if (!net) return std::nullopt;
  const size_t first = fingerprint(*net);
  net.reset();  // large nets are not held twice
  net = read_with(file, shapes, axis, kMarks[1], why);
  if (!net || fingerprint(*net) == first) return net;
  why = "what it works out of the batch is a number in the net";
  return std::nullopt;
}

ImportedNet read_model(const ModelFile& file, const std::map<std::string, Shape>& shapes) {
  const auto& inputs = file.graph().input();
  const bool steps = std::any_of(inputs.begin(), inputs.end(), [](const onnx::ValueInfoProto& input) {
    return has_steps_first(input.type().tensor_type().shape());
  });
  std::string why;
  for (const BatchAxis axis : {BatchAxis::kSecond, BatchAxis::kFirst})
    if (axis != BatchAxis::kSecond || steps)
      if (auto net = read_for_any_batch(file, shapes, axis, why)) return std::move(*net);
  ImportedNet net = ModelReader(file, shapes, BatchAxis::kNone, 0).run();
  net.own_batch_alone = why;
  return net;
}

}  // namespace

ImportedNet import_model(const std::string& path, const std::map<std::string, Shape>& shapes) {
  try {
    ModelFile file(path);
    merge_gelu(file.graph(), file);
    remove_dead_nodes(file.graph());
    return read_model(file, shapes);
  } catch (const std::bad_alloc&) {
    throw file_error(ExitCode::kNet, path, "damaged: it needs more memory than a model of its size should");
  }
}

}  // namespace cortado::importing
