#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include <mgpu/ad/error_pages.hpp>
#include <mgpu/app/error_pages.hpp>
#include <mgpu/app/program_errors.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/error_pages.hpp>
#include <mgpu/cluster/error_pages.hpp>
#include <mgpu/config/error_pages.hpp>
#include <mgpu/formats/error_pages.hpp>
#include <mgpu/input/error_pages.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/lm/error_pages.hpp>
#include <mgpu/rewards/error_pages.hpp>
#include <mgpu/store/error_pages.hpp>
#include <mgpu/text/error_pages.hpp>
#include <mgpu/train/error_pages.hpp>
#include <mgpu/watch/error_pages.hpp>

namespace mgpu::app {

const std::vector<ErrorPage>& program_errors() {
  static const std::vector<ErrorPage> kPages = [] {
    std::vector<ErrorPage> pages;
    const auto add = [&](std::span<const ErrorPage> more) {
      std::ranges::copy(more, std::back_inserter(pages));
    };
    add(kBaseErrors);
    add(kConfigErrors);
    add(cluster::kClusterErrors);
    add(watch::kWatchErrors);
    add(text::kTextErrors);
    add(formats::kFormatsErrors);
    add(store::kStoreErrors);
    add(input::kInputErrors);
    add(rewards::kRewardErrors);
    add(train::kTrainErrors);
    add(lm::kLmErrors);
    add(ad::kAdErrors);
    add(kAppErrors);
    for (const jobs::JobSpec& job : jobs::jobs())
      add(job.errors);
    std::ranges::sort(pages, {}, &ErrorPage::code);
    const auto twice = std::ranges::adjacent_find(pages, {}, &ErrorPage::code);
    if (twice != pages.end()) throw Error("two pages of " + std::string(twice->code));
    return pages;
  }();
  return kPages;
}

}  // namespace mgpu::app
