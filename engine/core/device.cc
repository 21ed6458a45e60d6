#include "core/device.h"

#include "core/error.h"

namespace cortado {

Device device_named(const std::string& name) {
  if (name == "cpu") return {};
  if (name == "simulated") return {DeviceKind::kSimulated, 0};
  const std::string number = name.starts_with("cuda:") ? name.substr(5) : "";
  if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != std::string::npos)
    throw Error(ExitCode::kUsage, "unknown device '" + name + "'", "use cpu, cuda:0 or simulated");
  return {DeviceKind::kCuda, std::stoi(number)};
}

}  // namespace cortado
