#pragma once

namespace cortado {

/// OpenMP's threads spin while they wait, by default for milliseconds, which a busy machine's other threads and our own
/// that are not running would need. Here they give way after some 100 microseconds: a thread that sleeps lets the
/// system move another one to its CPU. The library reads its environment when it is loaded, so the program starts once
/// more, with `argv`; where that fails, training is only slower beside others. A user's GOMP_SPINCOUNT or
/// OMP_WAIT_POLICY counts. First thing in main().
void limit_spinning(char** argv);

}  // namespace cortado
