// These are words for Clang's thread-safety analysis: they say which mutex guards a field, and which one a function needs.
//
//   base::Mutex mutex_;
//   int64_t queued_ GUARDED_BY(mutex_) = 0;     // an access without the mutex is an error
//   void drain() REQUIRES(mutex_);              // so is a call without it
//
// scripts/check runs the analysis (`clang -Wthread-safety`). Other compilers see nothing of these words. The analysis doesn't
// look into constructors and destructors, and takes a lambda for a function of its own: one that runs while its creator
// holds a mutex says so itself, `[this]() REQUIRES(mutex_) { ... }`.
#pragma once

#if defined(__clang__)
#define PALIMPSEST_THREAD_SAFETY(x) __attribute__((x))
#else
#define PALIMPSEST_THREAD_SAFETY(x)
#endif

// Classes: a mutex, and an object that holds one while it lives.
#define CAPABILITY(name) PALIMPSEST_THREAD_SAFETY(capability(name))
#define SCOPED_CAPABILITY PALIMPSEST_THREAD_SAFETY(scoped_lockable)

// Fields: the field itself, or what a pointer leads to.
#define GUARDED_BY(mutex) PALIMPSEST_THREAD_SAFETY(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) PALIMPSEST_THREAD_SAFETY(pt_guarded_by(mutex))

// Functions that the caller calls with the mutex held (alone, or at least shared), or without it.
#define REQUIRES(...) PALIMPSEST_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) PALIMPSEST_THREAD_SAFETY(requires_shared_capability(__VA_ARGS__))
#define EXCLUDES(...) PALIMPSEST_THREAD_SAFETY(locks_excluded(__VA_ARGS__))

// Functions that take a mutex and return with it held, or release it. Without arguments, they mean the object itself.
#define ACQUIRE(...) PALIMPSEST_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) PALIMPSEST_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) PALIMPSEST_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE_SHARED(...) PALIMPSEST_THREAD_SAFETY(try_acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) PALIMPSEST_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) PALIMPSEST_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(mutex) PALIMPSEST_THREAD_SAFETY(lock_returned(mutex))

// The function is right for a reason that the analysis can't see. A comment beside it gives the reason.
#define NO_THREAD_SAFETY_ANALYSIS PALIMPSEST_THREAD_SAFETY(no_thread_safety_analysis)
