// An ONNX model as a net. Most mutations change the model's graph, not its bytes. They need reflection, which the
// importer's messages lack, so they use ONNX's schema.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include <cstdlib>
#include <fstream>

#include "onnx/import/import.h"
#include "tests/fuzz/fuzzed.h"
#include "tests/fuzz/mutate_message.h"

namespace {

using namespace google::protobuf;

const Message& model_prototype() {
  static DescriptorPool pool;
  static DynamicMessageFactory factory;
  static const Message* const model = [] {
    std::ifstream file(CORTADO_ONNX_DESCRIPTORS, std::ios::binary);
    FileDescriptorSet set;
    if (!set.ParseFromIstream(&file) || !pool.BuildFile(set.file(0))) std::abort();
    return factory.GetPrototype(pool.FindMessageTypeByName("onnx.ModelProto"));
  }();
  return *model;
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  expect_answer([&] { importing::import_model(FuzzedFile(input).path(), {}); });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return cortado::fuzz::mutate_binary(model_prototype(), data, size, most, seed);
}
