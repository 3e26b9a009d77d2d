// Progress for human readers: how much is done and how long the rest takes. Nothing else is changed.
#include "engine/base/progress_line.hpp"

#include "engine/base/atomic_file.hpp"
#include "engine/base/process_pool.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// Returns the text that is drawn from the first unit on while `work` runs.
template <class Work>
std::string drawn_during(const Work& work) {
  const TemporaryFolder folder;
  std::FILE* const screen = std::fopen(folder.path("screen").c_str(), "w");
  show_progress_on(screen, std::chrono::milliseconds(0));
  work();
  show_progress_on(nullptr);
  std::fclose(screen);
  return read_file(folder.path("screen"));
}

}  // namespace

TEST_CASE("the share that is done lies between 0 and 1 and never falls while work goes on") {
  double last = 0;
  for (std::size_t outer = 0; outer < 4; ++outer)
    for (std::size_t inner = 0; inner <= 5; ++inner) {
      const double share = share_done({{"plans", outer, 4}, {"points", inner, 5}});
      CHECK(share >= last);
      CHECK(share <= 1);
      last = share;
    }
  CHECK(share_done({{"plans", 4, 4}}) == 1);
  CHECK(share_done({{"splits", 7, 0}}) == 0);
  CHECK(share_done({{"plans", 1, 2}, {"splits", 7, 0}}) == 0.5);
}

TEST_CASE("the line says what is done and how long the rest takes at this pace") {
  CHECK(progress_text({{"splits", 120, 1200}}, 4) == "splits 120/1,200, 36 s left");
  CHECK(progress_text({{"splits", 0, 1200}}, 4) == "splits 0/1,200");
  CHECK(progress_text({{"splits predicted", 12, 0}}, 4) == "splits predicted 12");
  CHECK(progress_text({{"GPU counts", 1, 3}, {"splits", 1, 2}}, 60) == "GPU counts 1/3, splits 1/2, 60 s left");
  CHECK(progress_text({{"GPU counts", 0, 1}, {"splits", 1, 2}}, 60) == "splits 1/2, 60 s left");
  CHECK(time_left_text(119.2) == "120 s");
  CHECK(time_left_text(121) == "2 min");
  CHECK(time_left_text(9000) == "2.5 h");
}

TEST_CASE("nothing is drawn unless a program asks for it, and the line is removed when the work ends") {
  {
    ProgressLine silent("points", 1);
    silent.advance();
  }
  const std::string drawn = drawn_during([] {
    ProgressLine outer("plans", 2);
    outer.advance();
    ProgressLine inner("points", 3);
    inner.advance_to(2);
  });
  CHECK(drawn.find("plans 1/2") != std::string::npos);
  CHECK(drawn.size() >= 4);
  CHECK(drawn.substr(drawn.size() - 4) == "\r\033[K");
  CHECK(drawn_during([] { ProgressLine none("points", 3); }).empty());
}

TEST_CASE("an error ends the line of the work that it ends") {
  const std::string drawn = drawn_during([] {
    try {
      ProgressLine outer("plans", 2);
      outer.advance();
      throw std::runtime_error("full");
    } catch (const std::runtime_error&) {
    }
    ProgressLine next("points", 5);
    next.advance();
  });
  CHECK(drawn.find("plans 1/2, points") == std::string::npos);
  CHECK(drawn.find("points 1/5") != std::string::npos);
}

TEST_CASE("a child process draws nothing, its parent draws for it") {
  const std::string drawn = drawn_during([] {
    in_processes(2, 1, [](std::size_t) {
      ProgressLine own("steps", 1);
      own.advance();
      return std::string("done");
    });
  });
  CHECK(drawn.find("processes 1/2") != std::string::npos);
  CHECK(drawn.find("steps") == std::string::npos);
}
