// Trains for some iterations and prints the loss every ten, with Cortado's C++ interface. Resumes from the newest
// snapshot if there is one.
//
//     train SOLVER.prototxt ITERATIONS [BLOB]
#include <cortado/solver.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  if (argc < 3) return CORTADO_USAGE;
  try {
    cortado::Solver solver(argv[1], {.threads = 1, .snapshot = "auto"});
    for (int left = std::atoi(argv[2]); left > 0; left -= 10) {
      solver.step(left < 10 ? left : 10);
      std::cout << solver.iteration() << " " << solver.loss() << "\n";
    }
    if (argc > 3) {
      const cortado::ArrayView blob = solver.blob(argv[3]);
      std::cout << argv[3] << " has " << blob.values.size() << " values in " << blob.shape.size() << " axes\n";
    }
    solver.snapshot();
  } catch (const cortado::Error& error) {
    std::cerr << error.what() << "\n";
    return int(error.status());
  }
}
