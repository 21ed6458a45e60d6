#pragma once

// Bandwidths and times, as flags write them.

#include <string>

#include "tools/options/flags.h"

namespace cortado::tools {

/// The bytes a second of a flag like "10Gbit": kbit, Mbit, Gbit or Tbit, with or without "/s", in any case. Throws
/// Error(kUsage) for other text and for 0 or less.
double bandwidth_of(const Arguments& arguments, const std::string& flag);

/// The seconds of a flag like "50us": ns, us, ms or s, at least 0. Throws Error(kUsage).
double seconds_of(const Arguments& arguments, const std::string& flag);

std::string bandwidth_text(double bytes_per_second);  ///< "9.41 Gbit/s"
std::string seconds_text(double seconds);             ///< "50 us"

/// `text` escaped as content of an XML or HTML element, or as an attribute's value in double quotes.
std::string xml_escaped(const std::string& text);

}  // namespace cortado::tools
