//! Deterministic simulation: whole sessions in a simulated world, under faults, from a seed.
//!
//! The driver, the gate, the policy and the fold are the real ones; the disk, the clock, the model, programs, tools, facts,
//! locks and people are simulated. One session is one thread's, and everything random in it follows from its seed. It is
//! a part of the facade's tests because it needs what stands above `checkrein-testkit`: journal and driver.

mod checks;
mod classes;
mod disk;
mod doing;
mod life;
mod machine;
mod model;
mod people;
mod plan;
mod programs;
mod runs;
mod tools;
mod world;
