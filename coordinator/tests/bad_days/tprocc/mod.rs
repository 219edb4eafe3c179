//! The tables of TPROC-C: built, interrupted, spoilt, judged.

mod interrupted;
mod mariadb;
mod spoilt;
mod sqlite;
