#include "layers/unavailable_types.h"

#include <map>

namespace cortado {

namespace {

constexpr UnavailableType kForeignEngine = {"runs another program's inference engine",
                                            "use the net that the engine was built from"};
constexpr UnavailableType kManyMachines = {"exchanges values between machines, which is not supported",
                                           "remove it: on one machine it is the identity"};
constexpr UnavailableType kBatchNorm = {"is a variant of BatchNorm", "use BatchNorm, then Scale"};

const std::map<std::string, UnavailableType>& table() {
  static const std::map<std::string, UnavailableType> types = {
      {"MKLBatchNorm", kBatchNorm},
      {"MnActivation", kManyMachines},
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
