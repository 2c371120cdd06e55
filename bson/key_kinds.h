// This is the first byte of a value in a key string. Gaps leave room; all lie in 02 … fd, so that 00 can end lists, and a key's
// end can be pushed beyond every value in either direction. Only keystring.cpp and key_types.cpp use it.
#pragma once

#include <cstdint>

#include "bson/number_key.h"

namespace bson {

namespace kind {
inline constexpr uint8_t min_key = 0x10;
inline constexpr uint8_t undefined = 0x18;
inline constexpr uint8_t null = 0x20;
inline constexpr uint8_t string = 0x50;
inline constexpr uint8_t object = 0x58;
inline constexpr uint8_t array = 0x60;
inline constexpr uint8_t binary = 0x68;
inline constexpr uint8_t object_id = 0x70;
inline constexpr uint8_t boolean = 0x78;  // and the next for true
inline constexpr uint8_t date = 0x80;
inline constexpr uint8_t timestamp = 0x88;
inline constexpr uint8_t regex = 0x90;
inline constexpr uint8_t db_pointer = 0x98;
inline constexpr uint8_t code = 0xa0;
inline constexpr uint8_t code_with_scope = 0xa8;
inline constexpr uint8_t max_key = 0xf0;
}  // namespace kind
static_assert(kind::null < number_kind::first && number_kind::last < kind::string);

}  // namespace bson
