#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/seal_place.hpp>

namespace mgpu::run {
namespace {

std::string identity_text(const Config& config) {
  std::string text;
  for (const auto& [key, value] : store::identity_keys(config))
    text += key + ": " + value + "\n";
  return text;
}

}  // namespace

store::SealRequest seal_request(const SealPlace& place, const char* job, const ChunkPart& part) {
  store::SealRequest request;
  request.path = place.directory.path() / place.store.result_file;
  request.attempt = place.directory.attempt();
  request.gzip = place.store.gzip;
  request.text = place.store.text;
  request.attributes = {{"job", job}};
  if (part.count > 1) {
    request.partial = true;
    request.attributes.push_back({"part", part_text(part)});
  }
  request.groups = {{"run", {{"keys", identity_text(place.config)}}}};
  request.check_current = [&directory = place.directory] { directory.check_current(); };
  return request;
}

}  // namespace mgpu::run
