#pragma once

#include <utility>

#include "broker/base/status.h"

// GS_TRY(CALL) is the value of a Result, and nothing for a Status. If that is an error, the
// function around it returns it. Write it as a statement or as all of what is assigned: GCC does
// not destroy the temporaries of an expression that is left half-way.
#define GS_TRY(...) GS_TRY_COUNTED(__COUNTER__, __VA_ARGS__)
#define GS_TRY_COUNTED(count, ...) GS_TRY_NAMED(count, __VA_ARGS__)
#define GS_TRY_NAMED(count, ...)                                                         \
  __extension__({                                                                        \
    auto gs_tried_##count = __VA_ARGS__;                                                 \
    if (!gs_tried_##count.ok()) return gearstalk::StatusOf(std::move(gs_tried_##count)); \
    gearstalk::ValueOf(std::move(gs_tried_##count));                                     \
  })

namespace gearstalk {

inline Status StatusOf(Status status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.ok() ? Status() : result.status();
}

inline void ValueOf(const Status& /*status*/) {}
template <typename T>
T ValueOf(Result<T> result) {
  return std::move(result.value());
}

}  // namespace gearstalk
