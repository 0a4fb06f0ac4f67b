// tendon bench: latency of whole calls.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "case_file.h"
#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "session.h"

namespace tendon::tools {

namespace {

using Clock = std::chrono::steady_clock;

// Times of calls, in milliseconds.
struct Latency {
  double p50, p90, p99, min, max, mean;
};

Latency latency_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double q) {
    const auto index = static_cast<std::size_t>(static_cast<double>(times.size()) * q);
    return times[std::min(index, times.size() - 1)];
  };
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  return {.p50 = quantile(0.5),
          .p90 = quantile(0.9),
          .p99 = quantile(0.99),
          .min = times.front(),
          .max = times.back(),
          .mean = sum / static_cast<double>(times.size())};
}

nlohmann::ordered_json to_json(const std::vector<CudaGraphStats>& graphs) {
  auto list = nlohmann::ordered_json::array();
  for (const CudaGraphStats& graph : graphs) {
    list.push_back({{"key", graph.key},
                    {"state", graph.state},
                    {"reason", graph.reason},
                    {"pieces", graph.pieces},
                    {"runs", graph.runs},
                    {"replays", graph.replays}});
  }
  return list;
}

std::string text_of(const CudaGraphStats& graph) {
  return fmt::format("cuda graph    {}: {}{}{}, {} pieces, {} of {} runs replayed\n", graph.key,
                     graph.state, graph.reason.empty() ? "" : ": ", graph.reason, graph.pieces,
                     graph.replays, graph.runs);
}

void print_result(const BenchOptions& options, const Session& session, const Inputs& inputs,
                  const Latency& latency, double first_answer_seconds) {
  const MethodStats stats = session.method.stats();
  const int threads = thread_count(options.session);
  const auto operations = static_cast<double>(stats.product_operations);
  if (options.json) {
    const nlohmann::ordered_json result = {{"p50", latency.p50},
                                           {"p90", latency.p90},
                                           {"p99", latency.p99},
                                           {"min", latency.min},
                                           {"max", latency.max},
                                           {"mean", latency.mean},
                                           {"first_answer_s", first_answer_seconds},
                                           {"load_s", session.load_seconds},
                                           {"iterations", options.iterations},
                                           {"warmup", options.warmup},
                                           {"period_ms", options.period},
                                           {"threads", threads},
                                           {"device", options.session.device},
                                           {"precision", options.session.precision},
                                           {"peak_rss_bytes", peak_resident_bytes()},
                                           {"arena_bytes", stats.arena_bytes},
                                           {"product_operations", stats.product_operations},
                                           {"cuda_graphs", to_json(stats.cuda_graphs)}};
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print(
      "{}  ({}, {} threads, inputs: {})\n"
      "latency       p50 {:.3f} ms  p90 {:.3f} ms  p99 {:.3f} ms  min {:.3f} ms  max {:.3f} ms  "
      "mean {:.3f} ms  ({} calls)\n"
      "first answer  {:.3f} s after the start (loading {:.3f} s)\n"
      "arithmetic    {:.2f} GFLOP in products a call: {:.1f} GFLOP/s at p50, {:.1f} at min\n"
      "memory        {:.1f} MB peak resident; arena {:.1f} MB\n",
      options.session.path, options.session.device, threads, inputs.source, latency.p50,
      latency.p90, latency.p99, latency.min, latency.max, latency.mean, options.iterations,
      first_answer_seconds, session.load_seconds, operations * 1e-9,
      operations * 1e-6 / latency.p50, operations * 1e-6 / latency.min,
      static_cast<double>(peak_resident_bytes()) * 1e-6,
      static_cast<double>(stats.arena_bytes) * 1e-6);
  for (const CudaGraphStats& graph : stats.cuda_graphs) fmt::print("{}", text_of(graph));
}

}  // namespace

int bench(const BenchOptions& options) {
  int exit_code = kRight;
  auto session = open_session(options.session, exit_code);
  if (!session) return exit_code;
  const auto inputs = gather_inputs(options.inputs, session->program, options.session.seed);
  if (!inputs.ok()) return fail(kBadUsage, inputs.status());
  const std::vector<TensorView> views = inputs->views();

  auto outputs = session->method.run(views);
  const std::chrono::duration<double> first_answer = Clock::now() - options.process_start;
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(options.iterations));
  {
    const Progress progress(fmt::format("running {} times", options.warmup + options.iterations));
    for (int i = 0; outputs.ok() && i < options.warmup; ++i) outputs = session->method.run(views);
    const auto period = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::milli>(options.period));
    Clock::time_point next = Clock::now();
    for (int i = 0; outputs.ok() && i < options.iterations; ++i) {
      std::this_thread::sleep_until(next);
      const Clock::time_point start = Clock::now();
      next = start + period;
      outputs = session->method.run(views);
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
  }
  if (!outputs.ok()) return fail(kRunFailed, outputs.status());
  if (!options.outputs.empty()) {
    const Status written = write_outputs(options.outputs, session->program.outputs(), *outputs);
    if (!written.ok()) return fail(kRunFailed, written);
  }
  print_result(options, *session, *inputs, latency_of(std::move(times)), first_answer.count());
  return kRight;
}

}  // namespace tendon::tools
