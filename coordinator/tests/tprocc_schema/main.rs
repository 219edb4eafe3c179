//! The tables of TPROC-C, built, interrupted, verified and spoilt by the real executables on SQLite and on MariaDB
//! servers of the tests' own.

mod interrupted;
mod lab;
mod mariadb;
mod spoilt;
mod sqlite;
