# Hardening options (SECURITY.md): position-independent programs, read-only relocations, stack canaries, checked calls
# of the C library, and control-flow protection. scripts/release/check_hardening.py checks the binaries.
set(CORTADO_HARDENING -fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND CORTADO_HARDENING -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
  list(APPEND CORTADO_HARDENING -mbranch-protection=standard)
endif()
if(CORTADO_SANITIZE OR CORTADO_FUZZ OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  list(APPEND CORTADO_HARDENING -D_GLIBCXX_ASSERTIONS)  # sanitizers intercept the C library's calls themselves
else()
  list(APPEND CORTADO_HARDENING -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
