//! No database: a transaction takes one service time, and fails as often as the study says.
//!
//! For tests, for measuring vufleet itself and for rehearsing a lab. An explicit transaction spends its service time
//! in `commit`, a statement outside of one in `execute`; everything else is instant. Nothing is stored: no statement
//! returns rows, and those that write claim one affected row.

use std::cell::OnceCell;
use std::f64::consts::{LN_2, TAU};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use tokio::sync::Notify;
use vufleet_scenarios::session::{
    Access, Dialect, Fault, FaultKind, Interrupt, Rows, Session, Source, Stmt, Stop, Value,
};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::{ServiceDistribution, Simulated, Target};

use crate::{event_loop, fine};

/// A session of a database that is not there.
pub struct SimulatedSession {
    behaviour: Arc<Simulated>,
    statements: Rc<[Statement]>,
    /// Exists once somebody may want to interrupt.
    interrupted: OnceCell<Arc<Interrupted>>,
    in_transaction: bool,
    lost: bool,
}

/// What another thread ends a service time by.
#[derive(Default)]
struct Interrupted(Notify);

impl Stop for Interrupted {
    fn stop(&self) {
        self.0.notify_waiters();
    }
}

impl SimulatedSession {
    fn alive(&self) -> Result<(), Fault> {
        if self.lost {
            return Err(Fault::new(FaultKind::ConnectionLost, "the simulated connection was lost before"));
        }
        Ok(())
    }

    /// One transaction: its time, then its fate.
    async fn transact(&mut self) -> Result<(), Fault> {
        let service = draw_service(&self.behaviour, &mut rand::rng());
        self.wait(service).await?;
        let Some(kind) = draw_fault(&self.behaviour.faults, rand::rng().random()) else {
            return Ok(());
        };
        self.lost = kind.ends_connection();
        Err(Fault::new(kind, format!("simulated {}", kind.name())))
    }

    async fn wait(&self, service: Duration) -> Result<(), Fault> {
        if service.is_zero() {
            // Without it, users that never wait would keep their thread for themselves.
            event_loop::yield_now().await;
            return Ok(());
        }
        let Some(interrupted) = self.interrupted.get() else {
            fine::sleep(service).await;
            return Ok(());
        };
        tokio::select! {
            biased;
            () = interrupted.0.notified() => Err(Fault::new(FaultKind::Deadline, "the simulated query was interrupted")),
            () = fine::sleep(service) => Ok(()),
        }
    }
}

fn draw_service(behaviour: &Simulated, random: &mut impl rand::Rng) -> Duration {
    let factor = match behaviour.distribution {
        ServiceDistribution::Constant => 1.0,
        ServiceDistribution::Exponential => -above_zero(random).ln(),
        ServiceDistribution::Uniform => 2.0 * random.random::<f64>(),
        // A standard deviation equal to the mean: sigma^2 = ln 2, mu = -sigma^2 / 2. The normal by Box and Muller.
        ServiceDistribution::Lognormal => {
            let normal = (-2.0 * above_zero(random).ln()).sqrt() * (TAU * random.random::<f64>()).cos();
            (LN_2.sqrt() * normal - LN_2 / 2.0).exp()
        }
    };
    behaviour.service_time.mul_f64(factor)
}

/// Uniform over (0, 1], so that its logarithm is finite.
fn above_zero(random: &mut impl rand::Rng) -> f64 {
    1.0 - random.random::<f64>()
}

/// The fault at `chance` when the kinds lie side by side on [0, 1), each as wide as its probability.
fn draw_fault(faults: &[(FaultKind, f64)], chance: f64) -> Option<FaultKind> {
    let mut upper = 0.0;
    faults.iter().find_map(|&(kind, probability)| {
        upper += probability;
        (chance < upper).then_some(kind)
    })
}

impl Session for SimulatedSession {
    /// The statements of the database that is most often rehearsed; nobody reads them.
    const DIALECT: Dialect = Dialect::Mysql;
    const HAS_ROWS: bool = false;

    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        Ok(SimulatedSession {
            behaviour: Arc::clone(&target.simulated),
            statements,
            interrupted: OnceCell::new(),
            in_transaction: false,
            lost: false,
        })
    }

    async fn prepare(&mut self, _stmt: Stmt) -> Result<(), Fault> {
        self.alive()
    }

    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], _rows: &mut impl Rows) -> Result<u64, Fault> {
        self.alive()?;
        let statement = &self.statements[usize::from(stmt.0)];
        if params.len() != statement.slots.len() {
            return Err(super::text::mismatch(&statement.sql, params.len()));
        }
        let affected = u64::from(statement.writes);
        if !self.in_transaction {
            self.transact().await?;
        }
        Ok(affected)
    }

    async fn query(&mut self, _sql: &str, _rows: &mut impl Rows) -> Result<(), Fault> {
        self.alive()
    }

    async fn begin(&mut self, _access: Access) -> Result<(), Fault> {
        self.alive()?;
        self.in_transaction = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.alive()?;
        if std::mem::take(&mut self.in_transaction) { self.transact().await } else { Ok(()) }
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.alive()?;
        self.in_transaction = false;
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Fault> {
        self.alive()
    }

    async fn bulk(&mut self, _table: &str, _columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
        self.alive()?;
        let mut loaded = 0;
        while rows.next(&mut |_| {}) {
            loaded += 1;
        }
        Ok(loaded)
    }

    fn bulk_way(&self) -> &'static str {
        "no statement"
    }

    fn interrupt(&self) -> Interrupt {
        let interrupted = Arc::clone(self.interrupted.get_or_init(Arc::default));
        Interrupt::Call(interrupted)
    }

    fn version(&self) -> String {
        "simulated".to_owned()
    }

    fn describe(&self) -> String {
        "simulated".to_owned()
    }

    fn discard(self) {}

    async fn close(self) {}
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn behaviour(distribution: ServiceDistribution) -> Simulated {
        Simulated { service_time: Duration::from_millis(2), distribution, faults: vec![] }
    }

    #[test]
    fn service_times_have_the_mean_and_spread_that_their_names_promise() {
        for (distribution, expected_sd) in [
            (ServiceDistribution::Constant, 0.0),
            (ServiceDistribution::Exponential, 1.0),
            (ServiceDistribution::Uniform, 1.0 / 3.0_f64.sqrt()),
            (ServiceDistribution::Lognormal, 1.0),
        ] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
            let behaviour = behaviour(distribution);
            let times: Vec<f64> =
                (0..200_000).map(|_| draw_service(&behaviour, &mut random).as_secs_f64() / 0.002).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
            assert!((mean - 1.0).abs() < 0.02, "{distribution:?}: mean {mean}");
            assert!((variance.sqrt() - expected_sd).abs() < 0.05, "{distribution:?}: sd {}", variance.sqrt());
        }
    }

    #[test]
    fn faults_share_the_unit_interval() {
        let faults = [(FaultKind::Deadlock, 0.25), (FaultKind::ConnectionLost, 0.5)];
        for (chance, expected) in [
            (0.0, Some(FaultKind::Deadlock)),
            (0.2499, Some(FaultKind::Deadlock)),
            (0.25, Some(FaultKind::ConnectionLost)),
            (0.7499, Some(FaultKind::ConnectionLost)),
            (0.75, None),
            (0.9999, None),
        ] {
            assert_eq!(draw_fault(&faults, chance), expected, "{chance}");
        }
        assert_eq!(draw_fault(&[], 0.0), None);
    }

    #[test]
    fn a_session_is_small() {
        let size = size_of::<SimulatedSession>();
        assert!(size <= 48, "{size} bytes");
    }
}
