# Debian packages, one a component: the program, the shared library, and what programs are built with
# against it. `cpack` in a build directory makes them; `./dev package` does all of it.
get_target_property(soversion jail_shared SOVERSION)
set(libjail_package libjail${soversion})

# add_package_documents(<component> <Debian name>): the two documents that each package has.
function(add_package_documents component name)
  install(FILES debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
  install_compressed(debian/changelog ${component} ${CMAKE_INSTALL_DATADIR}/doc/${name} changelog)
endfunction()
install(FILES debian/lintian-overrides.agent-sandbox DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
  COMPONENT agent-sandbox RENAME agent-sandbox)
install(FILES debian/lintian-overrides.libjail DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
  COMPONENT libjail RENAME ${libjail_package})
add_package_documents(agent-sandbox agent-sandbox)
add_package_documents(libjail ${libjail_package})
add_package_documents(libjail-dev libjail-dev)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL agent-sandbox libjail libjail-dev)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_PACKAGE_MAINTAINER "agent-sandbox maintainers <maintainers@agent-sandbox.invalid>")
set(CPACK_DEBIAN_PACKAGE_SOURCE agent-sandbox)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_NAME agent-sandbox)
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_SHLIBDEPS ON)
# passwd makes the service's user. The program loads the libraries when it needs them (runtime/loader), which
# dpkg-shlibdeps does not see.
get_property(simdjson_package GLOBAL PROPERTY SIMDJSON_PACKAGE)
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_DEPENDS "passwd, libcurl4, ${simdjson_package}, libsqlite3-0, libssl3")
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_SUGGESTS "nodejs, mmdebstrap")
set(CPACK_COMPONENT_AGENT-SANDBOX_DESCRIPTION "runs the code that an AI agent just wrote, in jails of the kernel
An HTTP server and a command line that run programs nobody has read: each in
a jail made straight from the Linux kernel, with namespaces of its own, a
read-only root, a system call filter and hard limits. Needs neither root nor
a container engine. On top of it stands an agent that has a language model
write a program for a task, runs it and learns from what happened.
.
Installing it starts no server; systemctl enable --now agent-sandbox does.")
set(CPACK_DEBIAN_AGENT-SANDBOX_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/debian/conffiles
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst ${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postrm)

set(CPACK_DEBIAN_LIBJAIL_PACKAGE_NAME ${libjail_package})
set(CPACK_DEBIAN_LIBJAIL_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBJAIL_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_LIBJAIL_PACKAGE_SHLIBDEPS ON)
# For dpkg-shlibdeps of packages that use it, and for the loader's cache.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/libjail/shlibs
  "libjail ${soversion} ${libjail_package} (>= ${PROJECT_VERSION})\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/libjail/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBJAIL_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/libjail/shlibs
  ${CMAKE_CURRENT_BINARY_DIR}/libjail/triggers)
set(CPACK_COMPONENT_LIBJAIL_DESCRIPTION "isolated process trees made straight from the Linux kernel
For daemons that run programs nobody has read: a jail is a process tree with
namespaces of its own, a read-only root, a system call filter and hard
limits, made without root. Pools of jails that wait start a program in the
time of a few context switches.
.
This is the shared library.")

set(CPACK_DEBIAN_LIBJAIL-DEV_PACKAGE_NAME libjail-dev)
set(CPACK_DEBIAN_LIBJAIL-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBJAIL-DEV_PACKAGE_PRIORITY optional)
# The static library needs the last three, and pkg-config looks for them in any case.
set(CPACK_DEBIAN_LIBJAIL-DEV_PACKAGE_DEPENDS
  "${libjail_package} (= ${PROJECT_VERSION}), libcap-dev, libnl-3-dev, libseccomp-dev (>= 2.5)")
set(CPACK_COMPONENT_LIBJAIL-DEV_DESCRIPTION "isolated process trees made straight from the Linux kernel (development)
For daemons that run programs nobody has read: a jail is a process tree with
namespaces of its own, a read-only root, a system call filter and hard
limits, made without root. Pools of jails that wait start a program in the
time of a few context switches.
.
These are the headers, the static library, the files for pkg-config and CMake,
and the manual page.")
include(CPack)
