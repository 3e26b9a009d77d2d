// Copies of gradients into DistributedDataParallel's buckets, of planted times.
#include "calib/bucket_copies.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

Sample iteration_of(int devices, int batch, double seconds) {
  Sample sample;
  sample.probe = "iteration";
  sample.key = {{"model", "net"}, {"precision", "fp32"}, {"learners", 1}, {"devices", devices}, {"batch", batch}};
  sample.seconds = {seconds, seconds, seconds};
  return sample;
}

Sample step(int ranks, int devices, int batch, double seconds) {
  Sample sample;
  sample.probe = "step";
  sample.key = {{"model", "net"}, {"precision", "fp32"}, {"how", "ddp"},
                {"ranks", ranks}, {"nodes", 1},          {"batch", batch}};
  if (ranks == 1) sample.key["devices"] = devices;
  sample.seconds = {seconds, seconds, seconds};
  return sample;
}

}  // namespace

TEST_CASE("what DistributedDataParallel with one process takes longer is the median over batches, all devices busy") {
  Profile profile;
  profile.samples = {iteration_of(1, 8, 1.0), iteration_of(1, 16, 2.0), step(1, 1, 8, 1.01), step(1, 1, 16, 2.01)};
  CHECK(bucket_copies(profile, "net", "fp32").seconds == Approx(0.01));
  CHECK(bucket_copies(profile, "net", "fp32").devices == 1);

  // Two devices share the memory's bandwidth; the median of 0.02, 0.03, 0.9, whatever the exchange takes.
  for (const auto& [batch, alone, copied] : {std::tuple{8, 1.1, 1.12}, {16, 2.2, 2.23}, {32, 4.4, 5.3}}) {
    profile.samples.push_back(iteration_of(2, batch, alone));
    profile.samples.push_back(step(1, 2, batch, copied));
    profile.samples.push_back(step(2, 2, batch, 7));
  }
  CHECK(bucket_copies(profile, "net", "fp32").seconds == Approx(0.03));
  CHECK(bucket_copies(profile, "net", "fp32").devices == 2);
  CHECK(bucket_copies(profile, "net", "fp16").devices == 0);
  CHECK(bucket_copies(profile, "other", "fp32").seconds == 0);
}

TEST_CASE("copies that noise hides are none, as are those without iterations beside them") {
  Profile profile;
  profile.samples = {iteration_of(2, 8, 1.0), step(1, 2, 8, 0.99)};
  CHECK(bucket_copies(profile, "net", "fp32").seconds == 0);
  profile.samples = {iteration_of(1, 8, 1.0), step(1, 2, 8, 1.5)};
  CHECK(bucket_copies(profile, "net", "fp32").devices == 0);
}
