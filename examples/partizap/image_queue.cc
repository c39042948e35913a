// Pictures of products, in the sizes that pages show.
#include <fmt/format.h>

#include <functional>
#include <utility>

#include "images.h"
#include "queues.h"

namespace partizap {
namespace {

using namespace std::chrono_literals;
using millrace::App;
using millrace::Backoff;
using millrace::Context;
using millrace::ErrorCode;

// A broken picture or an impossible key stays what it is; anything else may be better next time.
template <class T>
T must(millrace::Result<T> result) {
  if (!result) {
    const ErrorCode code = result.error().code;
    const bool hopeless = code == ErrorCode::invalid || code == ErrorCode::too_large;
    throw millrace::TaskFailure(
        {.code = std::string(name_of(code)), .message = std::move(result.error().message)},
        !hopeless);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

ImageResult process_image(const ProcessImageJob& job, Services& services,
                          const std::function<void(double percent)>& progress) {
  progress(10);
  const Bytes file = must(services.storage.download(job.originalKey));
  const Image original = must(decode_image(file));
  progress(20);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Bytes variant = must(make_variant(original, variants[i]));
    must(services.storage.upload(
        fmt::format("products/{}/{}/{}.webp", variants[i].name, job.productId, job.imageId),
        variant));
    progress(20 + static_cast<double>(i + 1) / variants.size() * 60);
  }
  services.database.set_image_status(job.imageId, "ready");
  progress(100);
  return {.success = true, .variants = variants.size()};
}

Images add_images(App& app, Services& services) {
  // As many at a time as there are processors to spare.
  add_queue(app, services, "images", {.concurrency = 3, .priority = medium});

  const auto process = [&services](const ProcessImageJob& job, Context& task) {
    return process_image(job, services, [&](double percent) { task.progress(percent); });
  };
  const auto remove = [&services](const DeleteImagesJob& job) {
    Removed done;
    for (const std::string& key : job.keys) done.removed += must(services.storage.remove(key));
    return done;
  };
  return {
      .process = app.handle_type<ProcessImageJob>(
          "images", "process-image", {.retry = attempts(2, Backoff::fixed, 5s)}, process),
      .remove = app.handle_type<DeleteImagesJob>("images", "delete-images", remove),
  };
}

}  // namespace partizap
