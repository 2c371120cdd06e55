# This file says what is installed. scripts/package makes packages of it: palimpsest_VERSION_ARCH.deb, and a tarball.
include(GNUInstallDirs)

install(TARGETS palimpsestd palimpsest verify_proof RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES tools/palimpsest.js tools/verify_proof.py DESTINATION ${CMAKE_INSTALL_DATADIR}/palimpsest)
install(FILES deploy/prometheus/alerts.yml deploy/prometheus/scrape.yml deploy/grafana/palimpsest.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/palimpsest/monitoring)
# scripts/package makes these from the programs.
install(DIRECTORY ${CMAKE_BINARY_DIR}/package/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
install(DIRECTORY ${CMAKE_BINARY_DIR}/package/completions/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
# The rest belongs to a system, not to a prefix.
install(FILES deploy/debian/palimpsest.conf DESTINATION /etc COMPONENT system)
install(FILES deploy/debian/palimpsestd.service DESTINATION /lib/systemd/system COMPONENT system)
install(FILES deploy/debian/palimpsest.logrotate DESTINATION /etc/logrotate.d RENAME palimpsest COMPONENT system)

set(CPACK_PACKAGE_NAME palimpsest)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Palimpsest maintainers <maintainers@palimpsest.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "document database with MongoDB's protocol, branches, snapshots and deduplication")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_GENERATOR DEB)
# The .deb has files outside of its prefix.
set(CPACK_SET_DESTDIR TRUE)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL FALSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS TRUE)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, tzdata")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "logrotate")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/deploy/debian/postinst ${CMAKE_SOURCE_DIR}/deploy/debian/prerm ${CMAKE_SOURCE_DIR}/deploy/debian/postrm
  ${CMAKE_SOURCE_DIR}/deploy/debian/conffiles)
include(CPack)
