# Writes a C++ file that defines strings, each with the content of a file.
#
#   cmake -DOUTPUT=parts.cpp -DHEADER=folder/parts.h -DNAMESPACE=a::b -DPARTS=name=file,name=file -P Embed.cmake
#
# The header declares the strings: `extern const std::string_view name;`.
file(WRITE ${OUTPUT}.new "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
string(REPLACE "," ";" PARTS "${PARTS}")
foreach(part IN LISTS PARTS)
  string(REGEX MATCH "^([^=]+)=(.+)$" matched "${part}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} content)
  string(FIND "${content}" ")embedded\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${CMAKE_MATCH_2} has the end of a raw string in it")
  endif()
  file(APPEND ${OUTPUT}.new "const std::string_view ${name} = R\"embedded(")
  file(APPEND ${OUTPUT}.new "${content}")
  file(APPEND ${OUTPUT}.new ")embedded\";\n")
endforeach()
file(APPEND ${OUTPUT}.new "}  // namespace ${NAMESPACE}\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
