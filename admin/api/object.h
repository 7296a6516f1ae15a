#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "admin/api/json.h"

namespace gearstalk::api {

// A member of an object that answers have: what it is called, what /openapi.json says of it (a type
// as in openapi.cc, and what the name does not say), and its value of what the object is made of.
template <typename Of>
struct Member {
  template <typename Value>
  constexpr Member(std::string_view called, std::string_view is, Value, std::string_view says = {})
      : name(called),
        type(is),
        means(says),
        value([](const Of& of) -> Json { return Value()(of); }) {}

  std::string_view name, type, means;
  Json (*value)(const Of& of);
};

template <typename Of, std::size_t kCount>
Json MakeObject(const Member<Of> (&members)[kCount], const std::type_identity_t<Of>& of) {
  Json object = Json::object();
  auto& made = object.template get_ref<Json::object_t&>();
  made.reserve(kCount);
  // No name is there twice, so none is looked for.
  for (const Member<Of>& member : members) {
    Json value = member.value(of);
    const bool left_out = value.is_null() && member.type.ends_with('~');
    if (!left_out) made.emplace_back(std::string(member.name), std::move(value));
  }
  return object;
}

}  // namespace gearstalk::api
