// What clang is told about locks, so that it finds a field that is used without its mutex
// (-Wthread-safety, in `./dev check`). g++ reads none of it.
//
//   int count_ GUARDED_BY(mutex_);            used only by a thread that holds mutex_
//   void add() REQUIRES(mutex_);              called only by a thread that holds mutex_
//   void stop() EXCLUDES(mutex_);             locks mutex_ itself
//   wait(mutex_, [this]() REQUIRES(mutex_) { return over_; });
//
// A function that clang cannot follow is NO_THREAD_SAFETY_ANALYSIS, with the reason beside it.
#pragma once

#if defined(__clang__)
#define MILLRACE_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define MILLRACE_ANNOTATION(...)
#endif

#define CAPABILITY(name) MILLRACE_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY MILLRACE_ANNOTATION(scoped_lockable)
#define GUARDED_BY(mutex) MILLRACE_ANNOTATION(guarded_by(mutex))
#define REQUIRES(...) MILLRACE_ANNOTATION(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) MILLRACE_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define ACQUIRE(...) MILLRACE_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) MILLRACE_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) MILLRACE_ANNOTATION(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) MILLRACE_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define RELEASE_GENERIC(...) MILLRACE_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define EXCLUDES(...) MILLRACE_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ASSERT_HELD() MILLRACE_ANNOTATION(assert_capability())
#define ASSERT_HELD_SHARED() MILLRACE_ANNOTATION(assert_shared_capability())
#define NO_THREAD_SAFETY_ANALYSIS MILLRACE_ANNOTATION(no_thread_safety_analysis)
