// Closes the loop around a trained policy: an arm is simulated, drawn, and moved by what the policy
// makes of the drawing.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "episode.h"
#include "picture.h"
#include "policy.h"
#include "report.h"

namespace reacher {
namespace {

enum ExitCode { kRight = 0, kTooFewReached = 1, kBadUsage = 2, kNotLoaded = 3, kRunFailed = 4 };

struct Options {
  std::string model = REACHER_MODEL;
  int episodes = 100;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string picture = "reacher.png";
};

constexpr int kPicturedEpisodes = 6;
constexpr int kMagnification = 3;
constexpr double kRequiredFraction = 0.99;

/// One line that counts up on a terminal; a few lines in a log.
void show_progress(int done, int total, int reached) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal && done % std::max(1, total / 4) != 0 && done != total) return;
  fmt::print(stderr, "{}episode {}/{}, {} reached the red disc{}", terminal ? "\r" : "", done,
             total, reached, !terminal || done == total ? "\n" : "");
  std::fflush(stderr);
}

int fail(const tendon::Status& status, ExitCode code) {
  fmt::print(stderr, "reacher: {}\n", status.to_string());
  return code;
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

int run(const Options& options) {
  auto begin = std::chrono::steady_clock::now();
  tendon::Result<TrainedPolicy> policy = TrainedPolicy::load(options.model, options.threads);
  if (!policy.ok()) return fail(policy.status(), kNotLoaded);
  const double load_ms = milliseconds_since(begin);

  const Policy decide = [&policy](const Image& image, Angles angles) {
    return policy->decide(image, angles);
  };
  SceneSampler sampler(options.seed);

  // A robot warms up before it moves: the first run of a shape reserves memory.
  begin = std::chrono::steady_clock::now();
  const tendon::Result<Chunk> first = decide(render({}, {}, {}), {});
  if (!first.ok()) return fail(first.status(), kRunFailed);
  const double first_ms = milliseconds_since(begin);

  std::vector<Episode> episodes;
  for (int i = 0; i < options.episodes; ++i) {
    tendon::Result<Episode> episode = run_episode(decide, sampler.next());
    if (!episode.ok()) return fail(episode.status(), kRunFailed);
    episodes.push_back(std::move(*episode));
    show_progress(i + 1, options.episodes, count_reached(episodes));
  }
  fmt::print("model         {} (loaded in {:.0f} ms, first decision {:.1f} ms)\n{}", options.model,
             load_ms, first_ms, report(episodes));

  if (!options.picture.empty()) {
    const std::size_t pictured = std::min<std::size_t>(kPicturedEpisodes, episodes.size());
    const tendon::Status written = write_png(
        contact_sheet(std::span(episodes).first(pictured), kMagnification), options.picture);
    if (!written.ok()) return fail(written, kBadUsage);
    fmt::print("picture       {}\n", options.picture);
  }

  const double required = kRequiredFraction * options.episodes;
  if (count_reached(episodes) < required) {
    fmt::print(stderr, "reacher: fewer than {:.0f} % of the episodes succeeded\n",
               kRequiredFraction * 100);
    return kTooFewReached;
  }
  return kRight;
}

}  // namespace
}  // namespace reacher

int main(int argc, char** argv) {
  reacher::Options options;
  CLI::App app(
      "A simulated two-link arm reaches for the red disc that it sees, driven by a policy that\n"
      "PyTorch trained and exported. Exit status: 0 if at least 99 % of the episodes succeed, 1 "
      "if\n"
      "not, 2 for bad usage, 3 if the model cannot be loaded, 4 if a run fails.",
      "reacher");
  app.add_option("--model", options.model, "the policy, a .pt2 file")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_option("--episodes", options.episodes, "how many scenes to try")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the scenes")->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads; 0: OMP_NUM_THREADS or all")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--picture", options.picture,
                 "PNG file for a picture of the first episodes; '' for none")
      ->type_name("PATH")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? reacher::kRight : reacher::kBadUsage;
  }
  return reacher::run(options);
}
