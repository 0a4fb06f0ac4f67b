// tendon profile: where the time of a call goes, as a table and as a trace.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/atomic_file.h"
#include "chrome_trace.h"
#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "session.h"

namespace tendon::tools {

namespace {

struct Row {
  std::string name;
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
};

std::vector<Row> rows_by_time(const std::vector<base::TraceSpan>& spans) {
  std::map<std::string, Row> rows;
  for (const base::TraceSpan& span : spans) {
    if (span.category != "step") continue;
    Row& row = rows[span.name];
    row.name = span.name;
    ++row.count;
    row.total_ns += span.duration_ns;
  }
  std::vector<Row> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(),
            [](const Row& a, const Row& b) { return a.total_ns > b.total_ns; });
  return sorted;
}

void print_table(const std::vector<Row>& rows, const ProfileOptions& options) {
  std::int64_t total_ns = 0;
  std::int64_t steps = 0;
  for (const Row& row : rows) {
    total_ns += row.total_ns;
    steps += row.count;
  }
  const double calls = options.iterations;
  fmt::print("{} steps, {:.3f} ms a call\n", steps / options.iterations,
             static_cast<double>(total_ns) * 1e-6 / calls);
  fmt::print("   ms/call  share   count  step\n");
  const std::size_t shown = std::min(rows.size(), static_cast<std::size_t>(options.top));
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("{:10.4f}  {:4.1f}%  {:6}  {}\n",
               static_cast<double>(rows[i].total_ns) * 1e-6 / calls,
               100.0 * static_cast<double>(rows[i].total_ns) / static_cast<double>(total_ns),
               rows[i].count / options.iterations, rows[i].name);
  }
  if (shown < rows.size()) fmt::print("and {} more\n", rows.size() - shown);
}

}  // namespace

int profile(const ProfileOptions& options) {
  base::TraceSink sink;
  int exit_code = kRight;
  auto session = open_session(options.session, exit_code, &sink);
  if (!session) return exit_code;
  const auto inputs = gather_inputs(options.inputs, session->program, options.session.seed);
  if (!inputs.ok()) return fail(kBadUsage, inputs.status());
  const std::vector<TensorView> views = inputs->views();

  // Spans of loading stay in the trace; those of warm-up runs do not.
  std::vector<base::TraceSpan> spans = sink.take();
  {
    const Progress progress("running " + options.session.path);
    for (int i = 0; i < options.warmup; ++i) {
      const auto outputs = session->method.run(views);
      if (!outputs.ok()) return fail(kRunFailed, outputs.status());
    }
    sink.take();
    for (int i = 0; i < options.iterations; ++i) {
      const base::ScopedSpan span(&sink, "run", "run");
      const auto outputs = session->method.run(views);
      if (!outputs.ok()) return fail(kRunFailed, outputs.status());
    }
  }
  std::vector<base::TraceSpan> run_spans = sink.take();
  const std::vector<Row> rows = rows_by_time(run_spans);
  std::move(run_spans.begin(), run_spans.end(), std::back_inserter(spans));
  const Status written = base::write_text_file(options.trace, chrome_trace(spans));
  if (!written.ok()) return fail(kRunFailed, written);
  print_table(rows, options);
  fmt::print("trace of {} spans: {} (open it at https://ui.perfetto.dev)\n", spans.size(),
             options.trace);
  return kRight;
}

}  // namespace tendon::tools
