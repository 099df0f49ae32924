#include <mgpu/app/look_first.hpp>
namespace mgpu::app{ExitCode print_plan(const Options&,const FileProvider&,std::ostream&){return ExitCode::internal;} ExitCode run_checks(const cluster::Group&,const Options&,std::ostream&){return ExitCode::internal;} ExitCode merge_run(const cluster::Group&,const Options&){return ExitCode::internal;}}
