//! The tables of TPROC-C: built, interrupted, spoilt, judged.

mod counted;
mod interrupted;
mod mariadb;
mod spoilt;
mod sqlite;
