include_guard()

# The distribution's own interpreter: one that lives under somebody's home directory cannot be
# reached by the unprivileged user that the rings also run as.
find_program(AGENT_SANDBOX_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT AGENT_SANDBOX_PYTHON)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  set(AGENT_SANDBOX_PYTHON ${Python3_EXECUTABLE})
endif()

# add_python_suite(<ring> <name> [ALONE]): the unittest module <name>_test.py of this folder as one ctest
# test. tests/suite.py reports each of its methods to whoever counts. ALONE: no other suite runs beside it, since it
# loads both processors by itself and compares times.
function(add_python_suite ring name)
  cmake_parse_arguments(ARG "ALONE" "" "" ${ARGN})
  set(test ${ring}.${name})
  set(environment AGENT_SANDBOX_BUILD=${CMAKE_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1)
  if(TARGET agent-sandbox)
    list(APPEND environment AGENT_SANDBOX_BIN=$<TARGET_FILE:agent-sandbox>)
  endif()
  add_test(NAME ${test} COMMAND ${AGENT_SANDBOX_PYTHON} ${PROJECT_SOURCE_DIR}/tests/suite.py
    ${test} ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py)
  set_tests_properties(${test} PROPERTIES LABELS ${ring} TIMEOUT 1800 SKIP_RETURN_CODE 77
    RUN_SERIAL ${ARG_ALONE} ENVIRONMENT "${environment}")
endfunction()
