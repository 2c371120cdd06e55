// A JavaScript value that is given back when its owner goes.
#pragma once

#include <quickjs.h>

namespace server::script {

class Owned {
 public:
  Owned(JSContext* context, JSValue value) : context_(context), value_(value) {}
  ~Owned() { JS_FreeValue(context_, value_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  JSValueConst get() const { return value_; }
  bool is_exception() const { return JS_IsException(value_); }

 private:
  JSContext* const context_;
  const JSValue value_;
};

}  // namespace server::script
