//! What goes wrong on bad days, done to the real executables: `vufleet`, the `vufleet-agent` that lies beside it, and
//! MariaDB servers of the tests' own. Each test waits for what it is about and fails, with all that was said, when that
//! does not come.

mod agents;
mod allowed;
mod arrivals;
mod clocks;
mod drains;
mod exposed;
mod faults;
mod identity;
mod interrupts;
mod lab;
mod links;
mod orphans;
mod outage;
mod pages;
mod preparing;
mod refusals;
mod requirements;
mod resets;
mod resumed;
mod room;
mod same_ids;
mod secrets;
mod strangers;
mod terminals;
mod tprocc;
mod variants;
mod versions;
mod wire;
