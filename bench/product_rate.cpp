// The rate that oneDNN's plain float32 matrix product reaches on these cores: what `tendon bench`'s
// GFLOP/s are to be compared with. Prints the best of many runs by size.
//
//   OMP_NUM_THREADS=2 product_rate [SECONDS_PER_SIZE]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using dnnl::memory;

/// GFLOP/s of the fastest product of two square matrices within the time given.
double best_rate(std::int64_t size, double seconds) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc square({size, size}, memory::data_type::f32, memory::format_tag::ab);
  const auto elements = static_cast<std::size_t>(size * size);
  std::vector<float> a(elements, 0.5f), b(elements, 0.25f), c(elements);
  const dnnl::matmul product(
      dnnl::matmul::primitive_desc(dnnl::matmul::desc(square, square, square), engine));
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, memory(square, engine, a.data())},
      {DNNL_ARG_WEIGHTS, memory(square, engine, b.data())},
      {DNNL_ARG_DST, memory(square, engine, c.data())}};
  double best = 1e9;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  while (Clock::now() < end) {
    const Clock::time_point start = Clock::now();
    product.execute(stream, arguments);
    stream.wait();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  const auto n = static_cast<double>(size);
  return 2 * n * n * n / best * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  std::printf("oneDNN %d.%d.%d, float32 [n, n] x [n, n]\n", dnnl_version()->major,
              dnnl_version()->minor, dnnl_version()->patch);
  for (const std::int64_t size : {256, 512, 1024, 2048}) {
    std::printf("n %5lld  %8.1f GFLOP/s\n", static_cast<long long>(size), best_rate(size, seconds));
    std::fflush(stdout);
  }
}
