#include "ir/special_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tendon::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Expected values were computed with 60 digits (mpmath 1.3).
::testing::AssertionResult near(double value, double expected) {
  const double error = std::fabs(value - expected);
  if (error <= 32 * std::numeric_limits<double>::epsilon() / 2 * std::fabs(expected)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << value << " instead of " << expected;
}

TEST(SpecialFunctionsTest, Erfinv) {
  EXPECT_TRUE(near(erfinv(1e-10), 8.8622692545275804594e-11));
  EXPECT_TRUE(near(erfinv(0.25), 0.22531205501217810473));
  EXPECT_TRUE(near(erfinv(0.5), 0.47693627620446987338));
  EXPECT_TRUE(near(erfinv(0.9), 1.1630871536766741628));
  EXPECT_TRUE(near(erfinv(-0.999), -2.3267537655135244939));
  EXPECT_TRUE(near(erfinv(0.9999999), 3.7665625816384708887));
  EXPECT_EQ(erfinv(1), kInfinity);
  EXPECT_EQ(erfinv(-1), -kInfinity);
  EXPECT_EQ(erfinv(0), 0);
  EXPECT_TRUE(std::isnan(erfinv(1.5)));
  EXPECT_TRUE(std::isnan(erfinv(kNaN)));
}

TEST(SpecialFunctionsTest, Digamma) {
  EXPECT_TRUE(near(digamma(1e-05), -100000.57719921567289));
  EXPECT_TRUE(near(digamma(0.5), -1.9635100260214234794));
  EXPECT_TRUE(near(digamma(1.25), -0.22745353337626540809));
  EXPECT_TRUE(near(digamma(7.5), 1.9467574842460867881));
  EXPECT_TRUE(near(digamma(300), 5.702114882064637268));
  EXPECT_TRUE(near(digamma(-0.25), 2.9141391202135278304));
  EXPECT_TRUE(near(digamma(-10.75), -0.72089576016716117401));
  EXPECT_EQ(digamma(0.0), -kInfinity);
  EXPECT_EQ(digamma(-0.0), kInfinity);
  EXPECT_TRUE(std::isnan(digamma(-3)));
  EXPECT_EQ(digamma(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(digamma(kNaN)));
}

TEST(SpecialFunctionsTest, BesselI0) {
  EXPECT_TRUE(near(bessel_i0(0), 1.0));
  EXPECT_TRUE(near(bessel_i0(0.5), 1.0634833707413235193));
  EXPECT_TRUE(near(bessel_i0(8), 427.56411572180478518));
  EXPECT_TRUE(near(bessel_i0(35), 107338818494514.06357));
  EXPECT_TRUE(near(bessel_i0(45), 2083414075177314816.2));
  EXPECT_TRUE(near(bessel_i0(600), 6.1463054039368448035e+258));
  EXPECT_EQ(bessel_i0(-3), bessel_i0(3));
  EXPECT_EQ(bessel_i0(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(bessel_i0(kNaN)));
}

TEST(SpecialFunctionsTest, Igamma) {
  EXPECT_TRUE(near(igamma(0.5, 0.25), 0.52049987781304653768));
  EXPECT_TRUE(near(igamma(0.001, 0.5), 0.99943993334352925011));
  EXPECT_TRUE(near(igamma(3, 8), 0.98624603225599701461));
  EXPECT_TRUE(near(igamma(30, 0.001), 3.7663410203018767782e-123));
  EXPECT_TRUE(near(igamma(50, 60), 0.91559331890630817038));
  EXPECT_TRUE(near(igamma(1000, 1010), 0.62767894473699472753));
  EXPECT_TRUE(near(igamma(100000, 99000), 0.00075741992117476797412));
  EXPECT_EQ(igamma(2, 0), 0);
  EXPECT_EQ(igamma(0, 2), 1);
  EXPECT_EQ(igamma(2, kInfinity), 1);
  EXPECT_EQ(igamma(kInfinity, 2), 0);
  EXPECT_TRUE(std::isnan(igamma(-1, 2)));
  EXPECT_TRUE(std::isnan(igamma(0, 0)));
  EXPECT_TRUE(std::isnan(igamma(1, kNaN)));
}

TEST(SpecialFunctionsTest, Igammac) {
  EXPECT_TRUE(near(igammac(0.5, 0.25), 0.47950012218695346232));
  EXPECT_TRUE(near(igammac(0.001, 1.05), 0.00020208671632562252473));
  EXPECT_TRUE(near(igammac(0.25, 2), 0.017286011859516773342));
  EXPECT_TRUE(near(igammac(3, 8), 0.013753967744002985392));
  EXPECT_TRUE(near(igammac(3, 0.1), 0.99984534692973532832));
  EXPECT_TRUE(near(igammac(50, 80), 0.00013078397659141033656));
  EXPECT_TRUE(near(igammac(1000, 1010), 0.37232105526300527247));
  EXPECT_EQ(igammac(2, 0), 1);
  EXPECT_EQ(igammac(0, 2), 0);
  EXPECT_EQ(igammac(2, kInfinity), 0);
  EXPECT_EQ(igammac(kInfinity, 2), 1);
  EXPECT_TRUE(std::isnan(igammac(2, -1)));
  EXPECT_TRUE(std::isnan(igammac(kInfinity, kInfinity)));
}

TEST(SpecialFunctionsTest, Zeta) {
  EXPECT_TRUE(near(zeta(1.5, 0.5), 4.7765379475548332486));
  EXPECT_TRUE(near(zeta(2, 1), 1.6449340668482264365));
  EXPECT_TRUE(near(zeta(3, 10.25), 0.0052459492670076413957));
  EXPECT_TRUE(near(zeta(40, 10.5), 1.4591834529963998805e-41));
  EXPECT_TRUE(near(zeta(93, 33.5), 1.5853660398602817052e-142));
  EXPECT_TRUE(near(zeta(3, -2.25), -61.948474887030082791));
  EXPECT_TRUE(near(zeta(4, -2.25), 259.74250386478572334));
  EXPECT_EQ(zeta(1, 2), kInfinity);
  EXPECT_TRUE(std::isnan(zeta(0.5, 2)));
  EXPECT_EQ(zeta(2, -3), kInfinity);
  EXPECT_EQ(zeta(2, 0), kInfinity);
  EXPECT_TRUE(std::isnan(zeta(2.5, -3.5)));
  EXPECT_TRUE(std::isnan(zeta(2, kNaN)));
  // Far from the origin, without a term for every integer on the way.
  EXPECT_TRUE(std::isfinite(zeta(3, -1e12 - 0.5)));
}

TEST(SpecialFunctionsTest, Polygamma) {
  EXPECT_TRUE(near(polygamma(1, 0.25), 17.197329154507110739));
  EXPECT_TRUE(near(polygamma(1, 5), 0.22132295573711532536));
  EXPECT_TRUE(near(polygamma(1, -2.25), 19.379410511869137363));
  EXPECT_TRUE(near(polygamma(2, 1.5), -0.8287966442343199956));
  EXPECT_TRUE(near(polygamma(3, 0.1), 60004.512876790253384));
  EXPECT_TRUE(near(polygamma(4, -1.75), -24481.777338295887834));
  EXPECT_TRUE(near(polygamma(5, 100), 2.4605999440119960418e-9));
  EXPECT_EQ(polygamma(0, 2.5), digamma(2.5));
  EXPECT_TRUE(std::isnan(polygamma(-1, 2)));
}

TEST(SpecialFunctionsTest, InversesAndComplements) {
  for (double x = -0.999; x < 1; x += 0.037) EXPECT_NEAR(std::erf(erfinv(x)), x, 1e-15);
  for (double a : {0.01, 0.5, 1.0, 3.0, 19.5, 20.5, 400.0}) {
    for (double x : {0.001, 0.3, 1.05, 2.0, 18.0, 21.0, 380.0, 420.0}) {
      EXPECT_NEAR(igamma(a, x) + igammac(a, x), 1, 4e-15) << a << " " << x;
    }
  }
}

}  // namespace
}  // namespace tendon::ir
