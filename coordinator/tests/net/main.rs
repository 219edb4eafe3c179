//! Faults between hosts: network namespaces are the hosts, links are taken down, packets are lost and late, clocks are off,
//! programs are killed. Each test asks the same at its end: is every event in the ledger once, does the database agree with
//! what was counted, and does the verdict tell what happened?
//!
//! Without root or iproute2 there are no such hosts, and every test says that it was left out.

#[path = "../bad_days/lab/mod.rs"]
#[allow(dead_code, reason = "of the labs of bad days, the parts that several hosts need too")]
mod lab;

mod audit;
mod clocks;
mod far;
mod hosts;
mod partitions;
mod pulse;
mod queues;
mod random;
mod relay;
mod restarts;
mod site;
