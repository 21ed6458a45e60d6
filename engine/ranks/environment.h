#pragma once

// What a process that ranks/launch.h starts finds in its environment.

namespace cortado::ranks {

inline constexpr const char* kRankVariable = "CORTADO_RANK";
inline constexpr const char* kRanksVariable = "CORTADO_RANKS";
inline constexpr const char* kEngineVariable = "CORTADO_ENGINE";
inline constexpr const char* kSharedMemoryVariable = "CORTADO_SHARED_MEMORY";  ///< an open descriptor's number
/// A folder that all ranks see, empty at first, where Gloo's find one another; users set it, too, for several machines.
inline constexpr const char* kRendezvousVariable = "CORTADO_RENDEZVOUS";
/// This machine's own address or name, or its network interface, for Gloo; "": the first one that leads to others.
inline constexpr const char* kAddressVariable = "CORTADO_ADDRESS";

}  // namespace cortado::ranks
