# WiredTiger, with its compressors.
include(${CMAKE_CURRENT_LIST_DIR}/Bootstrapped.cmake)
find_bootstrapped(WiredTiger wiredtiger-11.3.1 wiredtiger.h libwiredtiger.a)
set_target_properties(WiredTiger::WiredTiger PROPERTIES INTERFACE_LINK_LIBRARIES "zstd;snappy;lz4;pthread;rt;dl")
