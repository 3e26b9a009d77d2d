// Numbers of one's own, comma-separated.
#include "calib/import/imported.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;

namespace {

std::string csv_error(const std::string& text) {
  return error_of([&] { import_csv(text, "n.csv"); });
}

}  // namespace

TEST_CASE("Steps by batch are iterations, as times and as rates alike") {
  const Imported times = import_csv("batch,ms\n8,20\n16,32\n8,22\n", "n.csv", {"net", "bf16"});
  REQUIRE(times.samples.size() == 2);
  CHECK(times.samples[0].probe == "iteration");
  CHECK(times.samples[0].seconds == std::vector<double>{0.02, 0.022});
  CHECK(times.samples[0].kind == "imported");
  CHECK(times.samples[0].key ==
        Json{{"model", "net"}, {"precision", "bf16"}, {"learners", 1}, {"devices", 1}, {"batch", 8}});
  // With 2 devices and 8 samples each in 0.02 s, the rate is 800 samples/s.
  const Imported rates = import_csv("# mine\nmodel, batch, devices, samples_per_s\r\nnet, 8, 2, 800\r\n", "n.csv");
  REQUIRE(rates.samples.size() == 1);
  CHECK(rates.samples[0].seconds[0] == Approx(0.02));
  CHECK(rates.samples[0].key["devices"] == 2);
  CHECK(rates.device.count == 2);
  CHECK(rates.samples[0].source == "n.csv line 3");
}

TEST_CASE("Collectives by size") {
  const Imported all =
      import_csv("operation,library,ranks,nodes,bytes,us\nall-gather,mine,16,2,1048576,100\n", "n.csv");
  REQUIRE(all.samples.size() == 1);
  CHECK(all.samples[0].key ==
        Json{{"operation", "all-gather"}, {"library", "mine"}, {"ranks", 16}, {"nodes", 2}, {"bytes", 1048576}});
  CHECK(all.samples[0].seconds[0] == Approx(1e-4));
  CHECK(import_csv("bytes,ranks,seconds\n8,4,1e-5\n", "n.csv").samples[0].key["operation"] == "all-reduce");
}

TEST_CASE("A table that cannot be meant is refused with its line") {
  CHECK(csv_error("batch,speed\n1,2\n").find("n.csv line 1: column \"speed\" is unknown; allowed: model, ") == 0);
  CHECK(csv_error("batch\n1\n").find("n.csv line 1: 0 columns of times; allowed: one of samples_per_s, ms, seconds") ==
        0);
  CHECK(csv_error("batch,ms,us\n").find("n.csv line 1: 2 columns of times") == 0);
  CHECK(csv_error("ms\n1\n") ==
        "n.csv line 1: neither \"batch\" nor \"bytes\"; allowed: \"batch\" for training steps, \"bytes\" for "
        "collectives");
  CHECK(csv_error("model,batch,ms\na,8\n") == "n.csv line 2: 2 cells; allowed: 3, one for each column");
  CHECK(csv_error("model,batch,ms\na,8,2 ms\n") ==
        "n.csv line 2: ms \"2 ms\" is no number above 0; allowed: a plain number, without a unit");
  CHECK(csv_error("model,batch,ms\na,8.5,2\n") == "n.csv line 2: batch \"8.5\" is not whole; allowed: a count");
  CHECK(csv_error("batch,ms\n8,2\n") == "n.csv line 2: no model; allowed: a column \"model\", or --model");
  CHECK(csv_error("bytes,ms\n8,2\n") == "n.csv line 2: no ranks; allowed: a column \"ranks\", 2 and more");
  CHECK(csv_error("bytes,ranks,samples_per_s\n").find("n.csv line 1: a rate of samples for collectives") == 0);
  CHECK(csv_error("\n# nothing\n").find("n.csv: no row; allowed: ") == 0);
}
