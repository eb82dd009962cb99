// The types behind the handles of the C interface: values of the C++ interface.
#pragma once

#include <memory>
#include <vector>

#include "jail/collect.h"
#include "jail/egress.h"
#include "jail/id_range.h"
#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/policy.h"
#include "jail/pool.h"
#include "jail/spec.h"
#include "jail_c.h"

struct jail_policy {
  jail::Policy policy;
};

struct jail_root {
  jail::Root root;
};

struct jail_spec {
  jail::JailSpec spec;
};

struct jail_jail {
  jail::Jail jail;
};

struct jail_process {
  jail::Process process;
};

struct jail_output {
  jail::Output output;
};

struct jail_launcher {
  jail::Launcher launcher;
};

struct jail_template {
  jail::TemplateSpec spec;
};

struct jail_pool {
  jail::Pool pool;
};

// Shared with the launchers that were started with it.
struct jail_egress {
  std::shared_ptr<jail::EgressProxy> proxy;
};

// Shared as well.
struct jail_id_range {
  std::shared_ptr<const jail::IdRange> range;
};

struct jail_acting {
  jail::ActAsOwnerOf acting;
};

struct jail_egress_decisions {
  std::vector<jail::EgressDecision> decisions;
};

struct jail_collection {
  jail::Collection collection;
};

namespace jail::c {

// The limits in C, where 0 stands for the usual one.
Result<Limits> jail_limits_of(const jail_limits* given);

}  // namespace jail::c
