// Runs the shop's background jobs: partizap journal:./data ./pictures
#include <fmt/format.h>
#include <millrace/app.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "partizap.h"

namespace {

using namespace partizap;

constexpr std::string_view usage =
    "usage: partizap STORE PICTURES\n\n"
    "  STORE     where the tasks are: journal:./data, memory:, postgres://..., http://server:7070\n"
    "  PICTURES  a directory; originals/PRODUCT/IMAGE.jpg becomes products/…/PRODUCT/IMAGE.webp\n\n"
    "Works until Ctrl-C. README.md says what to look at.\n";

void say(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// Providers that print: a real shop would call theirs here.
Services services_of(const std::string& pictures) {
  return {.storage = Storage(pictures),
          .send_sms =
              [](const SendSmsJob& sms, millrace::Context&) {
                say(fmt::format("SMS to {}: {}", sms.phone, sms.message));
              },
          .send_email =
              [](const SendEmailJob& email, millrace::Context&) {
                say(fmt::format("E-mail to {}: {}", email.to, email.subject));
              },
          .alert = [](const Alert& alert) { say(millrace::encode(alert)); },
          .log = say};
}

// Every original that has no variants yet: originals/7/42.jpg is image 42 of product 7.
void put_new_pictures(const Partizap& shop, const Storage& storage) {
  const std::vector<std::string> done = storage.keys("products/large");
  for (const std::string& key : storage.keys("originals")) {
    const std::filesystem::path path(key);
    const std::string image = path.stem();
    const std::string product = path.parent_path().filename();
    const std::string last = fmt::format("products/large/{}/{}.webp", product, image);
    if (std::ranges::binary_search(done, last)) continue;
    shop.process_image({.imageId = image, .productId = product, .originalKey = key});
  }
}

int run(const std::string& store, const std::string& pictures) {
  Services services = services_of(pictures);
  millrace::App app(store, app_options());
  const Partizap shop(app, services);
  shop.send_verification_sms("+7 900 000-00-00", "4711");
  shop.send_welcome_email("ann@example.com", "Ann");
  put_new_pictures(shop, services.storage);
  return app.run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    fmt::print("{}", usage);
    return 0;
  }
  if (argc != 3) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const millrace::Failure& failure) {
    fmt::print(stderr, "partizap: {}\n", failure.error.message);
    return 1;
  }
}
