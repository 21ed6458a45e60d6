#pragma once

// Quantities of networks, as command lines give them.

#include <string>

#include "tools/options/flags.h"

namespace cortado::tools {

/// A flag's "10Gbit" in bytes a second: kbit, Mbit, Gbit or Tbit, with or without "/s", in capitals or not. Throws
/// Error(kUsage) for anything else, and for what is not above 0.
double bandwidth_of(const Arguments& arguments, const std::string& flag);

/// A flag's "50us" in seconds: ns, us, ms or s; 0 and above. Throws Error(kUsage).
double seconds_of(const Arguments& arguments, const std::string& flag);

std::string bandwidth_text(double bytes_per_second);  ///< "9.41 Gbit/s"
std::string seconds_text(double seconds);             ///< "50 us"

/// `text` as content, or as an attribute's value in double quotes, of an XML or HTML element.
std::string xml_escaped(const std::string& text);

}  // namespace cortado::tools
