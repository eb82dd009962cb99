// The parts that all jails of a root and policy share.
#pragma once

#include <memory>
#include <string_view>

#include "jail/policy.h"
#include "jail/result.h"
#include "jail/spec.h"
#include "runtime/sandbox/template.h"

namespace runtime {

struct JailBase {
  std::shared_ptr<const jail::Root> root;
  std::shared_ptr<const jail::Policy> policy;
  jail::FilterProgram filter;
};

// `error` as one of a template's field.
jail::Error in_template(const Template& what, std::string_view field, const jail::Error& error);

// `usual` with the root and the policy of the template, where it names them. Errors: those of its
// files, with the template and the field.
jail::Result<JailBase> jail_base_of(const Template& what, const JailBase& usual);

}  // namespace runtime
