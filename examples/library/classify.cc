// The same as classify.c, with Cortado's C++ interface.
#include <cortado/predictor.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char** argv) {
  if (argc != 4) return CORTADO_USAGE;
  try {
    const cortado::Predictor net(argv[1], {argv[2]});
    const auto [input, shape] = *net.inputs().begin();
    size_t count = 1;
    for (const int64_t extent : shape) count *= size_t(extent);
    std::ifstream file(argv[3], std::ios::binary);
    std::vector<float> values;
    std::transform(std::istreambuf_iterator<char>(file), {}, std::back_inserter(values),
                   [](char byte) { return float(static_cast<unsigned char>(byte)) / 256; });
    values.resize(count);

    cortado::Predictor::Request request(net);
    request.set(input, values, shape);
    request.run();
    const cortado::ArrayView scores = request.get(net.outputs().begin()->first);
    const auto best = std::max_element(scores.values.begin(), scores.values.end());
    std::cout << best - scores.values.begin() << " " << *best << "\n";
  } catch (const cortado::Error& error) {
    std::cerr << error.what() << "\n";
    return int(error.status());
  }
}
