#include "layers/unavailable_types.h"

#include <map>

namespace cortado {

namespace {

constexpr UnavailableType kOtherRecords = {"reads images with objects from records of another form",
                                           "AnnotatedData reads those that 'cortado convert annoset' writes"};
constexpr UnavailableType kForeignEngine = {"runs an engine of another program within the net",
                                            "use the net that the engine was made of"};
constexpr UnavailableType kManyMachines = {"exchanges values between machines, and nets run on one machine here",
                                           "remove it: its bottom is its top on one machine"};
constexpr UnavailableType kBatchNorm = {"is another writing of BatchNorm", "write BatchNorm, and Scale behind it"};

const std::map<std::string, UnavailableType>& table() {
  static const std::map<std::string, UnavailableType> types = {
      {"BoxData", kOtherRecords},   {"DetectNetTransformation", kOtherRecords},
      {"MKLBatchNorm", kBatchNorm}, {"MnActivation", kManyMachines},
      {"TRT", kForeignEngine},
  };
  return types;
}

}  // namespace

const UnavailableType* find_unavailable_type(const std::string& name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace cortado
