// The shop with real threads: how many work at once, and how it stops.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partizap.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace partizap {
namespace {

using namespace std::chrono_literals;
using millrace::App;
using millrace::AppOptions;
using millrace::Context;
using millrace::test::IsOk;
using millrace::test::TemporaryDirectory;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr auto patience = 20s;  // of the test, for what comes at once

// E-mails that are on their way until the test lets them arrive.
class Post {
 public:
  void send(Context& task) {
    std::unique_lock lock(mutex_);
    ++running_;
    most_ = std::max(most_, running_);
    changed_.notify_all();
    while (!open_ && !task.stop_requested()) changed_.wait_for(lock, 10ms);
    --running_;
    if (!open_) throw std::runtime_error("stopped on the way");
    ++sent_;
    changed_.notify_all();
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait_for_running(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return running_ == count; });
  }
  bool wait_for_sent(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return sent_ == count; });
  }
  int sent() {
    const std::scoped_lock lock(mutex_);
    return sent_;
  }
  int most() {
    const std::scoped_lock lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int running_ = 0;
  int most_ = 0;
  int sent_ = 0;
};

class StoppingTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  Post post_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  AppOptions options_ = app_options();
  Services services_{
      .storage = Storage(directory_ / "pictures"),
      .send_sms = [](const SendSmsJob&, Context&) {},
      .send_email = [this](const SendEmailJob&, Context& task) { post_.send(task); },
      .alert = [](const Alert&) {},
      .log = [](std::string_view) {},
  };

  StoppingTest() {
    options_.log = [this](std::string_view line) {
      const std::scoped_lock lock(mutex_);
      lines_.emplace_back(line);
    };
  }
  std::string url() const { return "journal:" + (directory_ / "data"); }
  static void put_emails(const Partizap& shop, int count) {
    for (int i = 0; i < count; ++i) shop.notifications.send_email({.to = "ann@example.com"});
  }
  // What is stored after everything has ended.
  millrace::QueueCounts stored() {
    millrace::Client client(url());
    return client.counts("notifications").value();
  }
};

// S3-018, S3-019, S3-020, S3-021, S3-022
TEST_F(StoppingTest, each_queue_has_its_processors) {
  App app("memory:", options_);
  const Partizap shop(app, services_);
  ASSERT_THAT(app.start(), IsOk());
  for (const auto& [queue, most] : {std::pair{"notifications", 5},
                                    {"images", 3},
                                    {"analytics", 2},
                                    {"cleanup", 1},
                                    {"reports", 1}}) {
    EXPECT_THAT(
        app.metrics_text(),
        HasSubstr(fmt::format("millrace_worker_concurrency{{queue=\"{}\"}} {}\n", queue, most)));
  }
  EXPECT_EQ(app.stop(), 0);
  EXPECT_THAT(lines_, Contains(HasSubstr("12 processors, 5 queues")));
}

// S3-018, S3-040
TEST_F(StoppingTest, five_notifications_are_on_their_way_at_once) {
  App app("memory:", options_);
  const Partizap shop(app, services_);
  ASSERT_THAT(app.start(), IsOk());
  put_emails(shop, 8);
  ASSERT_TRUE(post_.wait_for_running(5));
  post_.open();
  ASSERT_TRUE(post_.wait_for_sent(8));
  EXPECT_EQ(post_.most(), 5);
  EXPECT_EQ(app.stop(), 0);
}

// A picture whose bytes come when the test sends them: a pipe, which its handler opens and reads.
class SlowPicture {
 public:
  explicit SlowPicture(const std::string& path) : path_(path) {
    if (mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("cannot make " + path_);
    pipe_ = std::async(std::launch::async, [path] { return open(path.c_str(), O_WRONLY); }).share();
  }
  SlowPicture(const SlowPicture&) = delete;
  SlowPicture& operator=(const SlowPicture&) = delete;
  ~SlowPicture() {  // neither end waits for the other any longer
    const int both = open(path_.c_str(), O_RDWR | O_NONBLOCK);
    if (!sent_) close(pipe_.get());
    close(both);
  }

  bool is_read(std::chrono::milliseconds within = 0ms) {
    return pipe_.wait_for(within) == std::future_status::ready;
  }
  void send() {
    const std::string_view file("P6 1 1 255\nabc");
    EXPECT_EQ(write(pipe_.get(), file.data(), file.size()), static_cast<ssize_t>(file.size()));
    sent_ = close(pipe_.get()) == 0;
  }

 private:
  const std::string path_;
  std::shared_future<int> pipe_;
  bool sent_ = false;
};

// S3-019, S3-049
TEST_F(StoppingTest, three_pictures_are_made_at_once_and_not_four) {
  std::filesystem::create_directories(directory_ / "pictures");
  App app("memory:", options_);
  const Partizap shop(app, services_);
  std::deque<SlowPicture> pictures;  // goes before the app, which waits for its handlers
  for (int i = 0; i < 4; ++i) {
    pictures.emplace_back(directory_ / fmt::format("pictures/{}.ppm", i));
    shop.process_image({std::to_string(i), "7", fmt::format("{}.ppm", i)});
  }
  ASSERT_THAT(app.start(), IsOk());
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(pictures[i].is_read(patience)) << i;
  // The worker goes on with other queues meanwhile, and begins no fourth.
  post_.open();
  put_emails(shop, 20);
  ASSERT_TRUE(post_.wait_for_sent(20));
  EXPECT_FALSE(pictures[3].is_read());

  pictures[0].send();
  ASSERT_TRUE(pictures[3].is_read(patience));
  for (std::size_t i = 1; i < 4; ++i) pictures[i].send();
  EXPECT_EQ(app.stop(), 0);
}

// S3-063, S3-064, S3-065, S3-066
TEST_F(StoppingTest, a_signal_ends_the_shop_after_the_tasks_that_run) {
  EXPECT_EQ(app_options().shutdown_timeout, 30s);
  for (const int signal : {SIGTERM, SIGINT}) {
    Post post;
    services_.send_email = [&](const SendEmailJob&, Context& task) { post.send(task); };
    lines_.clear();
    {
      App app("memory:", options_);
      const Partizap shop(app, services_);
      put_emails(shop, 5);
      auto code = std::async(std::launch::async, [&] { return app.run(); });
      EXPECT_TRUE(post.wait_for_running(5));
      EXPECT_EQ(kill(getpid(), signal), 0);
      EXPECT_EQ(code.wait_for(100ms), std::future_status::timeout);  // it waits for them
      post.open();
      EXPECT_EQ(code.wait_for(patience), std::future_status::ready);
      EXPECT_EQ(code.get(), 0);
      EXPECT_EQ(post.sent(), 5);
    }
    EXPECT_THAT(lines_, Contains(HasSubstr("Shutting down workers...")));
    EXPECT_THAT(lines_, Contains(HasSubstr("Workers stopped")));
  }
}

// S3-064
TEST_F(StoppingTest, nothing_is_begun_any_more) {
  {
    App app(url(), options_);
    const Partizap shop(app, services_);
    ASSERT_THAT(app.start(), IsOk());
    put_emails(shop, 8);
    ASSERT_TRUE(post_.wait_for_running(5));
    app.shutdown();
    post_.open();
    EXPECT_EQ(app.stop(), 0);
    EXPECT_EQ(post_.sent(), 5);
  }
  EXPECT_EQ(stored().ready(), 3U);
  EXPECT_EQ(stored().taken(), 0U);
}

// S3-065, D-24
TEST_F(StoppingTest, what_does_not_end_in_time_is_given_back) {
  for (const int wanted : {0, 3}) {
    options_.shutdown_timeout = 50ms;
    options_.shutdown_timeout_exit_code = wanted;
    App app(url(), options_);
    const Partizap shop(app, services_);
    ASSERT_THAT(app.start(), IsOk());
    if (wanted == 0) put_emails(shop, 2);
    ASSERT_TRUE(post_.wait_for_running(2));
    EXPECT_EQ(app.stop(), wanted);
    EXPECT_EQ(post_.sent(), 0);
  }
  EXPECT_EQ(stored().ready(), 2U);
  EXPECT_EQ(stored().later(), 0U);
}

// S3-072
TEST_F(StoppingTest, an_sms_goes_out_although_the_store_is_away) {
  std::vector<std::string> sent;
  services_.send_sms = [&](const SendSmsJob& sms, Context&) { sent.push_back(sms.phone); };
  options_.server_wait = {};
  App app("http://127.0.0.1:1", options_);  // no server answers there
  const Partizap shop(app, services_);
  const millrace::Put put = shop.send_verification_sms("+7 900", "4711");
  EXPECT_EQ(put.state, millrace::TaskState::completed);
  EXPECT_THAT(sent, ::testing::ElementsAre("+7 900"));
  EXPECT_THROW(shop.send_welcome_email("ann@example.com", "Ann"), millrace::Failure);
}

// S3-008
TEST_F(StoppingTest, the_next_start_goes_on_where_the_last_one_stopped) {
  {
    App app(url(), options_);
    put_emails(Partizap(app, services_), 3);
  }
  App app(url(), options_);
  const Partizap shop(app, services_);
  post_.open();
  ASSERT_THAT(app.start(), IsOk());
  EXPECT_TRUE(post_.wait_for_sent(3));
  EXPECT_EQ(app.stop(), 0);
}

}  // namespace
}  // namespace partizap
