// TensorBoard's event files: their records, and the step times in them.
#include "calib/import/event_file.hpp"

#include "calib/import/log_text.hpp"
#include "calib/import/wire_format.hpp"
#include "tests/base/input_error.hpp"
#include "tests/calib/data.hpp"
#include "tests/calib/event_writer.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::calib;
using lockstep::tests::EventWriter;

namespace {

// Steps of 2 s: the first takes 30 s, and every tenth a checkpoint of 8 s more.
EventWriter megatron_events() {
  EventWriter events;
  for (const auto& [name, value] : {std::pair<const char*, const char*>{"world_size", "64"},
                                    {"tensor_model_parallel_size", "4"},
                                    {"pipeline_model_parallel_size", "2"},
                                    {"micro_batch_size", "1"},
                                    {"seq_length", "4096"},
                                    {"bf16", "True"}})
    events.add_text(name, 1.7e9, value);
  double now_s = 1.7e9;
  for (int step = 1; step <= 50; ++step) {
    const double seconds = step == 1 ? 30 : step % 10 == 0 ? 10 : 2;
    now_s += seconds;
    events.add_scalar("lm loss", step, now_s, 5);
    events.add_scalar("batch-size", step, now_s, 128);
    events.add_scalar("batch-size vs samples", 128 * step, now_s, 128);
    events.add_scalar("iteration-time", step, now_s, static_cast<float>(seconds));
  }
  return events;
}

}  // namespace

TEST_CASE("the checksum is CRC-32C") {
  // RFC 3720, B.4: 32 bytes of 0, of 0xff, and rising ones; and the usual test of CRCs.
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c(rising) == 0x46dd794e);
  CHECK(crc32c("123456789") == 0xe3069283);
}

TEST_CASE("numbers of the wire format return as they were written, and cut-off messages are refused") {
  for (const std::uint64_t value : {0ull, 1ull, 127ull, 128ull, 300ull, 1ull << 35, ~0ull}) {
    const std::string bytes = EventWriter::varint(value);
    const auto [read, length] = read_varint(bytes);
    CHECK(read == value);
    CHECK(length == bytes.size());
    CHECK(read_varint(std::string_view(bytes).substr(0, length - 1)).second == 0);
  }
  WireField field;
  const std::string message = EventWriter::number(3, 1.25);
  WireMessage whole(message, "a");
  REQUIRE(whole.next(field));
  CHECK(field.number == 3);
  CHECK(field.as_double() == 1.25);
  CHECK_FALSE(whole.next(field));
  CHECK_THAT(error_of([&] {
               WireMessage cut(std::string_view(message).substr(0, 5), "a");
               cut.next(field);
             }),
             Contains("cut off"));
}

TEST_CASE("scalars of both writers are read, and files that are damaged are refused") {
  EventWriter events;
  events.add_scalar("a", 1, 1.7e9, 2.5f);
  events.add_tensor("b", 2, 1.7e9 + 0.25, 3.5f);
  events.add_text("note", 1.7e9, "hello");
  const EventFile file = read_event_file(events.bytes(), "a");
  REQUIRE(file.scalars.size() == 2);
  CHECK(file.scalars.at("a").front().value == 2.5);
  CHECK(file.scalars.at("b").front().value == 3.5);
  CHECK(file.scalars.at("b").front().step == 2);
  CHECK(file.scalars.at("b").front().wall_time_s == 1.7e9 + 0.25);
  CHECK(file.texts.at("note/text_summary") == "hello");
  CHECK_FALSE(file.is_cut_off);

  const std::string& bytes = events.bytes();
  for (std::size_t length = 1; length < bytes.size(); ++length)  // a killed run leaves any part of a file
    CHECK_NOTHROW(read_event_file(bytes.substr(0, length), "a"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CHECK_THROWS_AS(read_event_file(damaged, "a"), InputError);
  }
  CHECK(is_event_file(bytes));
  CHECK_FALSE(is_event_file("iteration 1 | elapsed time per iteration (ms): 1.0"));
}

TEST_CASE("Megatron-LM's events have the time of steady steps and the job's arguments") {
  const TrainingLog log = read_event_log(megatron_events().bytes(), "a");
  CHECK(log.format == "megatron");
  CHECK(log.steady.median_s == Approx(2));
  CHECK(log.steady.seconds.size() == 44);
  CHECK(log.job.at("gpus") == 64);
  CHECK(log.job.at("tp") == 4);
  CHECK(log.job.at("pp") == 2);
  CHECK(log.job.at("global_batch") == 128);
  CHECK(log.job.at("precision") == "bf16");
  CHECK_THAT(error_of([] { read_event_log(megatron_events().bytes(), "a", "", {{"gpus", 32}}); }), Contains("gpus 64"));
}

TEST_CASE("step times by time stamps are those by the step's own scalar") {
  EventWriter events;
  double now_s = 1.7e9;
  for (int step = 10; step <= 500; step += 10) {
    now_s += step == 10 ? 60 : 15;
    if (step % 100 == 0) {
      now_s += 20;
      events.add_scalar("eval/loss", step, now_s - 1, 3);
    }
    events.add_scalar("train/loss", step, now_s, 4);
    events.add_scalar("train/learning_rate", step, now_s, 1e-4f);
  }
  events.add_text("args", 1.7e9, R"({"per_device_train_batch_size": 4, "bf16": true, "fp16": false})");
  const TrainingLog log = read_event_log(events.bytes(), "a");
  CHECK(log.format == "tensorboard");
  CHECK(log.job.at("microbatch") == 4);
  CHECK(log.job.at("precision") == "bf16");
  CHECK(log.steady.median_s == Approx(1.5));
  bool has_evaluations = false;
  for (const LeftOutSteps& group : log.steady.left_out)
    if (group.why == "evaluation") {
      has_evaluations = true;
      CHECK(group.lines == 5);
      CHECK(group.median_s == Approx(3.5));
    }
  CHECK(has_evaluations);
  REQUIRE(log.said.size() == 1);
  CHECK_THAT(log.said.front(), Contains("time stamps"));
}

TEST_CASE("tags whose steps count samples give the time of a sample, and Megatron-LM is known without its step time") {
  EventWriter deepspeed, megatron;
  for (int step = 1; step <= 40; ++step) {
    deepspeed.add_scalar("Train/Samples/train_loss", 64 * step, 1.7e9 + 2 * step, 5);
    deepspeed.add_scalar("Train/Samples/lr", 64 * step, 1.7e9 + 2 * step, 1e-4f);
    for (const char* tag : {"batch-size", "lm loss"}) megatron.add_scalar(tag, step, 1.7e9 + 2 * step, 64);
    megatron.add_scalar("batch-size vs samples", 64 * step, 1.7e9 + 2 * step, 64);
  }
  const TrainingLog of_samples = read_event_log(deepspeed.bytes(), "a", "", {{"global_batch", 64}});
  CHECK(of_samples.unit == StepUnit::sample);
  CHECK(of_samples.steady.median_s == Approx(2.0 / 64));
  CHECK(of_samples.step_seconds().value() == Approx(2));
  const TrainingLog of_steps = read_event_log(megatron.bytes(), "a");
  CHECK(of_steps.format == "megatron");
  CHECK(of_steps.unit == StepUnit::step);
  CHECK(of_steps.steady.median_s == Approx(2));
  CHECK(of_steps.job.at("global_batch") == 64);
}

TEST_CASE("events that were restarted, of two programs, or in milliseconds are told apart") {
  EventWriter restarted = megatron_events();
  for (int step = 40; step <= 60; ++step) restarted.add_scalar("iteration-time", step, 1.8e9 + 2 * step, 2);
  CHECK(read_event_log(restarted.bytes(), "a").steady.restarts == 1);

  EventWriter both = megatron_events();
  both.add_scalar("time_metrics/end_to_end(s)", 1, 1.7e9, 2);
  CHECK_THAT(error_of([&] { read_event_log(both.bytes(), "a"); }),
             Contains("steps of megatron") && Contains("torchtitan"));

  EventWriter wrong;
  for (int step = 1; step < 20; ++step) wrong.add_scalar("iteration-time", step, 1.7e9 + 2 * step, 2000);
  CHECK_THAT(error_of([&] { read_event_log(wrong.bytes(), "a"); }),
             Contains("33.3 min a step") && Contains("2.00 s a step apart"));

  EventWriter none;
  none.add_scalar("accuracy", 1, 1.7e9, 0.5f);
  CHECK_THAT(error_of([&] { read_event_log(none.bytes(), "a"); }), Contains("accuracy"));
}

TEST_CASE("an evaluation of any program is no training, and tags that only contain its letters are") {
  const auto median_of = [](const std::string& tag, int every) {
    EventWriter events;
    double now_s = 1.7e9;
    for (int step = 10; step <= 400; step += 10) {
      now_s += 10;
      events.add_scalar("train_loss", step, now_s, 4);
      if (step / 10 % every != 0) continue;
      now_s += 20;
      events.add_scalar(tag, step, now_s, 3);
    }
    return read_event_log(events.bytes(), "a").steady.median_s;
  };
  for (const char* tag : {"val_loss", "eval/loss", "lm loss validation", "Validation-Loss", "test.accuracy"}) {
    INFO(tag);
    CHECK(median_of(tag, 5) == Approx(1));
    CHECK(median_of(tag, 2) == Approx(1));
    CHECK_THAT(error_of([&] { median_of(tag, 1); }), Contains("between every two points") && Contains(tag));
  }
  for (const char* tag : {"retrieval_loss", "train/valid_tokens", "latest_value", "interval"}) {
    INFO(tag);
    CHECK(median_of(tag, 1) == Approx(3));
  }
}

TEST_CASE("a step time far from the time between its events is refused, whichever is longer") {
  const auto read = [](double value_s, double gap_s) {
    EventWriter events;
    for (int step = 1; step < 20; ++step)
      events.add_scalar("iteration-time", step, 1.7e9 + gap_s * step, static_cast<float>(value_s));
    return read_event_log(events.bytes(), "a").steady.median_s;
  };
  for (const double value_s : {0.3, 1.0, 2.0, 3.9}) CHECK(read(value_s, 2) == Approx(value_s));
  for (const double value_s : {0.002, 0.19, 4.1, 2000.0}) CHECK_THROWS_AS(read(value_s, 2), InputError);
  CHECK_THAT(error_of([&] { read(0.002, 2); }), Contains("2.00 ms a step") && Contains("2.00 s a step apart"));
}

TEST_CASE("an event file that contradicts its own arguments is refused with both values") {
  const auto read = [](const std::vector<int>& batches, const char* batch_argument, int world) {
    EventWriter events;
    events.add_text("world_size", 1.7e9, "64");
    events.add_text("global_batch_size", 1.7e9, batch_argument);
    for (int step = 1; step <= 40; ++step) {
      const int batch = batches[static_cast<std::size_t>(step - 1) * batches.size() / 40];
      events.add_scalar("batch-size", step, 1.7e9 + 2 * step, static_cast<float>(batch));
      events.add_scalar("world-size", step, 1.7e9 + 2 * step, static_cast<float>(world));
      events.add_scalar("iteration-time", step, 1.7e9 + 2 * step, 2);
    }
    return read_event_log(events.bytes(), "a");
  };
  CHECK(read({128}, "128", 64).job.at("global_batch") == 128);
  CHECK(read({32, 64, 128}, "128", 64).job.at("global_batch") == 128);  // a batch that ramps up
  CHECK(read({32, 64}, "128", 64).job.at("global_batch") == 64);        // and has not reached its end
  CHECK_THAT(error_of([&] { read({128}, "256", 64); }), Contains("128") && Contains("global_batch 256"));
  CHECK_THAT(error_of([&] { read({32, 128}, "64", 64); }), Contains("128") && Contains("global_batch 64"));
  CHECK_THAT(error_of([&] { read({128}, "128", 32); }), Contains("32") && Contains("gpus 64"));
}

TEST_CASE("an event file with a damaged head is refused as one") {
  std::string bytes = megatron_events().bytes();
  bytes[9] = static_cast<char>(bytes[9] ^ 1);
  REQUIRE(is_event_file(bytes));
  CHECK_THAT(error_of([&] { read_event_log(bytes, "a"); }), Contains("record 1") && Contains("checksum"));
}
