#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "arm.h"
#include "episode.h"
#include "picture.h"
#include "renderer.h"
#include "report.h"
#include "tensor/safetensors.h"

namespace reacher {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

tendon::Result<Chunk> expert_of(const Scene& scene, Angles angles) {
  return expert(angles, scene.red);
}

TEST(Kinematics, FollowsTheLinks) {
  const Pose straight = kinematics({0, 0});
  EXPECT_NEAR(straight.elbow.x, 0.6, 1e-6);
  EXPECT_NEAR(straight.tip.x, 1.1, 1e-6);
  EXPECT_NEAR(straight.tip.y, 0, 1e-6);
  const Pose bent = kinematics({std::acos(-1.0F) / 2, std::acos(-1.0F) / 2});
  EXPECT_NEAR(bent.elbow.y, 0.6, 1e-6);
  EXPECT_NEAR(bent.tip.x, -0.5, 1e-6);
  EXPECT_NEAR(bent.tip.y, 0.6, 1e-6);
}

TEST(Kinematics, IsUndoneByItsInverse) {
  SceneSampler sampler(3);
  for (int i = 0; i < 1000; ++i) {
    const Point goal = sampler.next().red;
    EXPECT_LT(distance(kinematics(inverse_kinematics(goal)).tip, goal), 1e-4F);
  }
}

TEST(InverseKinematics, StretchesTowardWhatIsOutOfReach) {
  const Pose pose = kinematics(inverse_kinematics({0, 3}));
  EXPECT_NEAR(pose.tip.x, 0, 1e-5);
  EXPECT_NEAR(pose.tip.y, 1.1, 1e-5);
}

TEST(Step, IsLimitedForEachJoint) {
  const Angles moved = step({1, 1}, {1.05F, -4});
  EXPECT_FLOAT_EQ(moved.shoulder, 1.05F);
  EXPECT_FLOAT_EQ(moved.elbow, 1 - kMaximumTurn);
}

TEST(SceneSampler, RepeatsItselfWithinItsRanges) {
  SceneSampler one(7);
  SceneSampler same(7);
  SceneSampler other(8);
  bool differs = false;
  for (int i = 0; i < 1000; ++i) {
    const Scene scene = one.next();
    const Scene again = same.next();
    EXPECT_EQ(scene.start.elbow, again.start.elbow);
    EXPECT_EQ(scene.green.y, again.green.y);
    differs |= scene.start.shoulder != other.next().start.shoulder;
    EXPECT_GE(scene.start.shoulder, 0.2F);
    EXPECT_LE(scene.start.shoulder, 2.6F);
    EXPECT_GE(scene.start.elbow, 0.3F);
    EXPECT_LE(scene.start.elbow, 2.4F);
    for (const Point disc : {scene.red, scene.green}) {
      EXPECT_GE(std::hypot(disc.x, disc.y), 0.35F - 1e-5F);
      EXPECT_LE(std::hypot(disc.x, disc.y), 1.0F + 1e-5F);
      EXPECT_GT(disc.y, 0);
    }
  }
  EXPECT_TRUE(differs);
}

// The images that PyTorch drew of the same scenes.
TEST(Renderer, DrawsWhatThePolicyWasTrainedOn) {
  auto file = tendon::tensor::read_safetensors(REACHER_DATA "/reacher_scenes.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const tendon::Tensor& start = file->tensors.at("start");
  const tendon::Tensor& red = file->tensors.at("red");
  const tendon::Tensor& green = file->tensors.at("green");
  const tendon::Tensor& images = file->tensors.at("image");
  const std::int64_t scenes = images.sizes()[0];
  ASSERT_EQ(scenes, 8);
  ASSERT_THAT(images.sizes(), ElementsAre(8, 3, kImageHeight, kImageWidth));
  const std::size_t bytes = std::size_t{3} * kImageHeight * kImageWidth;
  std::size_t different = 0;
  for (std::int64_t i = 0; i < scenes; ++i) {
    const auto at = [i](const tendon::Tensor& tensor, int c) {
      return tensor.as<const float>()[i * 2 + c];
    };
    const Image image = render({at(start, 0), at(start, 1)}, {at(red, 0), at(red, 1)},
                               {at(green, 0), at(green, 1)});
    ASSERT_EQ(image.bytes.size(), bytes);
    const auto* expected = images.as<const std::uint8_t>() + i * bytes;
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      ASSERT_LE(std::abs(int{image.bytes[byte]} - int{expected[byte]}), 1)
          << "scene " << i << ", byte " << byte;
      different += image.bytes[byte] != expected[byte] ? 1 : 0;
    }
  }
  // Sines that differ in the last bit move a rounding here and there, no more.
  EXPECT_LT(different, bytes / 1000);
}

TEST(Renderer, MagnifiesTheSameView) {
  SceneSampler sampler(5);
  const Scene scene = sampler.next();
  const Image small = render(scene.start, scene.red, scene.green);
  const Image large = render(scene.start, scene.red, scene.green, 3);
  ASSERT_EQ(large.height, 3 * kImageHeight);
  ASSERT_EQ(large.width, 3 * kImageWidth);
  float difference = 0;
  // A pixel is about the mean of the nine that it becomes.
  for (int row = 0; row < small.height; ++row) {
    for (int column = 0; column < small.width; ++column) {
      float sum = 0;
      for (int i = 0; i < 9; ++i) {
        sum += large.bytes[static_cast<std::size_t>(row * 3 + i / 3) * large.width + column * 3 +
                           i % 3];
      }
      const float pixel = small.bytes[static_cast<std::size_t>(row) * small.width + column];
      ASSERT_THAT(sum / 9, FloatNear(pixel, 40)) << "row " << row << ", column " << column;
      difference += std::abs(sum / 9 - pixel);
    }
  }
  EXPECT_LT(difference / (kImageHeight * kImageWidth), 0.2F);
}

TEST(Episode, SucceedsWithTheExpert) {
  SceneSampler sampler(11);
  for (int i = 0; i < 50; ++i) {
    const Scene scene = sampler.next();
    const auto episode = run_episode(
        [&scene](const Image&, Angles angles) { return expert_of(scene, angles); }, scene);
    ASSERT_TRUE(episode.ok());
    EXPECT_TRUE(episode->reached()) << "tip at " << episode->tip_distance << " m";
    EXPECT_EQ(episode->path.size(), kSteps + 1U);
    EXPECT_EQ(episode->decision_ms.size(), static_cast<std::size_t>(kSteps / kReplan));
  }
}

TEST(Episode, FailsWithAPolicyThatStandsStill) {
  SceneSampler sampler(11);
  int reached = 0;
  for (int i = 0; i < 50; ++i) {
    const auto episode = run_episode(
        [](const Image&, Angles angles) {
          Chunk chunk;
          chunk.fill(angles);
          return tendon::Result<Chunk>(chunk);
        },
        sampler.next());
    ASSERT_TRUE(episode.ok());
    reached += episode->reached() ? 1 : 0;
  }
  EXPECT_LT(reached, 5);
}

TEST(Episode, PassesAnErrorOn) {
  const auto episode = run_episode(
      [](const Image&, Angles) {
        return tendon::Result<Chunk>(tendon::Status(tendon::StatusCode::kAborted, "no idea"));
      },
      Scene{});
  EXPECT_EQ(episode.status().code(), tendon::StatusCode::kAborted);
}

TEST(Picture, IsWrittenAsPng) {
  SceneSampler sampler(2);
  std::vector<Episode> episodes;
  for (int i = 0; i < 2; ++i) {
    const Scene scene = sampler.next();
    episodes.push_back(*run_episode(
        [&scene](const Image&, Angles angles) { return expert_of(scene, angles); }, scene));
  }
  const Picture picture = contact_sheet(episodes, 1);
  const std::string path = testing::TempDir() + "reacher_test.png";
  ASSERT_TRUE(write_png(picture, path).ok());

  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&header, path.c_str()), 0) << header.message;
  header.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(header));
  ASSERT_NE(png_image_finish_read(&header, nullptr, bytes.data(), 0, nullptr), 0);
  EXPECT_EQ(static_cast<int>(header.width), picture.width);
  EXPECT_EQ(static_cast<int>(header.height), picture.height);
  EXPECT_EQ(bytes, picture.bytes);
  std::filesystem::remove(path);
}

TEST(Picture, ThatCannotBeWrittenSaysWhere) {
  const tendon::Status status = write_png(contact_sheet({}, 1), "/no/such/folder/reacher.png");
  EXPECT_EQ(status.code(), tendon::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("/no/such/folder/reacher.png"));
}

TEST(Report, TakesTheNearestRank) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({3, 1, 2}, 0.99), 3);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({4, 3, 1, 2}, 0.5), 2);
}

TEST(Report, CountsSuccess) {
  Episode near;
  near.tip_distance = 0.049F;
  near.decision_ms = {1, 2};
  Episode far;
  far.tip_distance = 0.051F;
  far.decision_ms = {3};
  const std::vector<Episode> episodes = {near, far};
  EXPECT_EQ(count_reached(episodes), 1);
  EXPECT_THAT(report(episodes), HasSubstr("1 of 2 episodes"));
  EXPECT_THAT(report(episodes), HasSubstr("median 2.00 ms, 99th percentile 3.00 ms"));
}

}  // namespace
}  // namespace reacher
