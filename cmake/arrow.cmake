# Imports Arrow and Parquet of the pyarrow wheel that launch/run.sh puts into .deps/. The wheel has
# headers and libraries, but no CMake files. Without the wheel, the program is built but refuses
# Parquet.
find_path(MGPU_ARROW_INCLUDE parquet/arrow/reader.h NO_DEFAULT_PATH
          PATHS ${MGPU_DEPS_DIR}/arrow/pyarrow/include
          DOC "Folder `include` of pyarrow 26.0.1, beside its libraries")
if(MGPU_SANITIZE)  # the sanitizers do not support how its libraries are loaded
  set(MGPU_PARQUET OFF)
  message(STATUS "mgpu: sanitized, so this build does not read Parquet")
  return()
endif()
if(NOT MGPU_ARROW_INCLUDE)
  set(MGPU_PARQUET OFF)
  message(STATUS "mgpu: no Arrow in ${MGPU_DEPS_DIR}/arrow: this build does not read Parquet")
  return()
endif()

set(MGPU_PARQUET ON)
get_filename_component(arrow_root ${MGPU_ARROW_INCLUDE}/.. ABSOLUTE)
add_library(mgpu_arrow INTERFACE)
add_library(mgpu::arrow ALIAS mgpu_arrow)
foreach(library parquet arrow)  # the wheel has only file names that contain the version
  file(GLOB arrow_file ${arrow_root}/lib${library}.so.*)
  add_library(arrow::${library} SHARED IMPORTED)
  set_target_properties(arrow::${library} PROPERTIES IMPORTED_LOCATION "${arrow_file}"
                        INTERFACE_INCLUDE_DIRECTORIES ${MGPU_ARROW_INCLUDE}
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${MGPU_ARROW_INCLUDE})
  target_link_libraries(mgpu_arrow INTERFACE arrow::${library})
endforeach()
