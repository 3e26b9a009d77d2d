// Which of two measurements of the same counts.
#include "calib/second_look.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

using Flags = std::vector<std::string>;

// Eleven times within `spread` of `middle`, which is their median.
Sample flagged_sample(double middle, double spread, const Flags& flags) {
  Sample sample;
  sample.probe = "copy";
  sample.key = {{"bytes", 8}};
  for (int i = -5; i <= 5; ++i) sample.seconds.push_back(middle * (1 + spread * ((i * 7) % 11) / 5.0));
  sample.flags = flags;
  return sample;
}

}  // namespace

TEST_CASE("what was disturbed is looked at again, once; what is only imprecise is not") {
  CHECK(wants_second_look(flagged_sample(1, 0.01, {"drift", "remeasured"})));
  CHECK(wants_second_look(flagged_sample(1, 0.01, {"outliers"})));
  CHECK(wants_second_look(flagged_sample(1, 0.01, {"throttled", "imprecise"})));
  CHECK_FALSE(wants_second_look(flagged_sample(1, 0.01, {"throttled"})));  // enough samples at the full clock
  CHECK_FALSE(wants_second_look(flagged_sample(1, 0.01, {"imprecise"})));
  CHECK_FALSE(wants_second_look(flagged_sample(1, 0.01, {"remeasured"})));
  CHECK_FALSE(wants_second_look(flagged_sample(1, 0.01, {"outliers", "revisited"})));
  CHECK_FALSE(wants_second_look(flagged_sample(1, 0.01, {})));
}

TEST_CASE("the sounder one counts, whichever is faster") {
  const Sample clean = flagged_sample(1, 0.01, {}), wide = flagged_sample(1, 0.03, {});
  CHECK(is_second_better(wide, clean));
  CHECK_FALSE(is_second_better(clean, wide));
  CHECK_FALSE(is_second_better(clean, clean));
  // Faster, slower: no reason.
  CHECK_FALSE(is_second_better(clean, flagged_sample(0.5, 0.02, {})));
  CHECK(is_second_better(flagged_sample(0.5, 0.02, {}), clean));
  // A drift is worse than outliers, those than a wide interval.
  CHECK(is_second_better(flagged_sample(1, 0.01, {"drift"}), flagged_sample(1, 0.05, {"outliers"})));
  CHECK(is_second_better(flagged_sample(1, 0.01, {"throttled", "imprecise"}), flagged_sample(1, 0.05, {"outliers"})));
  CHECK(is_second_better(flagged_sample(1, 0.01, {"outliers"}), wide));
  CHECK_FALSE(is_second_better(wide, flagged_sample(1, 0.01, {"outliers"})));
}

TEST_CASE("both are kept, and where they disagree it is said") {
  Sample first = flagged_sample(1, 0.01, {"outliers"}), second = flagged_sample(1.005, 0.01, {});
  first.set_aside = {{"throttled", {2}}};
  second.set_aside = {{"throttled", {3}}};
  const Sample taken = joined_looks(first, second, true);
  CHECK(taken.seconds == second.seconds);
  CHECK(taken.flags == Flags{"revisited"});
  REQUIRE(taken.set_aside.size() == 3);
  CHECK(taken.set_aside[0].seconds == std::vector<double>{2});
  CHECK(taken.set_aside[1].why == "first");
  CHECK(taken.set_aside[1].seconds == first.seconds);
  CHECK(taken.set_aside[2].seconds == std::vector<double>{3});

  const Sample kept = joined_looks(first, second, false);
  CHECK(kept.seconds == first.seconds);
  CHECK(kept.flags == Flags{"outliers", "revisited"});
  CHECK(kept.set_aside[1].why == "second");

  // Intervals of 1 +- 0.01 and 1.05 +- 0.01 are apart; what drifted needs no other reason to differ.
  CHECK(joined_looks(first, flagged_sample(1.05, 0.01, {}), true).flags == Flags{"revisited", "disagrees"});
  CHECK(joined_looks(flagged_sample(1, 0.01, {"drift"}), flagged_sample(1.05, 0.01, {}), true).flags ==
        Flags{"revisited"});
  // Apart by less than 2 %, or by more with intervals that overlap.
  CHECK(joined_looks(flagged_sample(1, 0.001, {}), flagged_sample(1.015, 0.001, {}), true).flags == Flags{"revisited"});
  CHECK(joined_looks(flagged_sample(1, 0.05, {}), flagged_sample(1.03, 0.05, {}), true).flags == Flags{"revisited"});
}
