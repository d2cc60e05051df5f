//! Group commit: appends that wait for one file at the same time are written in one transaction and share its flush.
//!
//! Whoever comes first leads: it writes all that wait and hands the lead to the first that came meanwhile. No thread of its
//! own, no waiting for company: one that comes alone is written at once. Each append is refused or added for itself.

use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use checkrein_contract::{Digest, SessionId};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::fault::Failure;
use super::{ADD_BLOB, ADD_EVENT, ADD_SESSION, SIGN, SqliteStore, head, integer, is_known, signed};
use crate::chain::Sealed;
use crate::verify::{ChainFault, ChainProblem, hold_to};
use crate::{EventStore as _, Head, JournalError, SessionMeta, SignedHead};

/// One append.
pub(super) struct Job {
    pub(super) session: SessionId,
    pub(super) onto: Onto,
    pub(super) sealed: Vec<Sealed>,
    pub(super) signed: Option<SignedHead>,
}

/// What an append follows.
pub(super) enum Onto {
    /// Nothing: the session is new.
    New(SessionMeta),
    /// This head, and no other.
    Head(Head),
}

type Answer = Result<(), JournalError>;

/// What one that waits is told.
enum Turn {
    /// It was written, or refused.
    Done(Answer),
    /// It is to write what waits, itself included.
    Lead,
}

/// Appends that wait.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<(Job, SyncSender<Turn>)>,
    /// Somebody leads.
    led: bool,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl Queue {
    /// Adds one; whether it leads.
    fn join(&self, job: Job, told: SyncSender<Turn>) -> bool {
        let mut waiting = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.jobs.push((job, told));
        !std::mem::replace(&mut waiting.led, true)
    }

    fn take(&self) -> Vec<(Job, SyncSender<Turn>)> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).jobs)
    }
}

/// Hands the lead on when it is dropped, also by a panic.
struct Lead<'a>(&'a Queue);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.led = waiting.jobs.iter().any(|(_, told)| told.send(Turn::Lead).is_ok());
    }
}

impl SqliteStore {
    /// Writes one append, together with those that wait for the same file. Durable when it returns.
    pub(super) fn commit(&self, job: Job) -> Answer {
        // Room for both things that one can be told: nobody waits for it to listen.
        let (told, tells) = sync_channel(2);
        let ours = job.signed.clone();
        let mut leads = self.queue.join(job, told);
        loop {
            if leads {
                self.lead();
            }
            match tells.recv() {
                Ok(Turn::Done(answer)) => {
                    if let (Ok(()), Some(signed)) = (&answer, ours) {
                        self.ours().insert(signed.session, signed.hash);
                    }
                    return answer;
                }
                Ok(Turn::Lead) => leads = true,
                Err(_) => {
                    let reason = "the thread that wrote for this one was lost; read the session again".to_owned();
                    return Err(JournalError::Io { doing: "writing", path: self.path.clone(), reason });
                }
            }
        }
    }

    fn lead(&self) {
        let lead = Lead(&self.queue);
        let (jobs, told): (Vec<Job>, Vec<SyncSender<Turn>>) = self.queue.take().into_iter().unzip();
        let answers = self.write_all(&jobs);
        // First the next one, then the words: the disk need not wait for threads to wake.
        drop(lead);
        for (told, answer) in told.into_iter().zip(answers) {
            // Whoever waits for it is there: it does nothing else.
            let _ = told.send(Turn::Done(answer));
        }
    }

    fn write_all(&self, jobs: &[Job]) -> Vec<Answer> {
        let together = self.writing(|connection| self.write(connection, jobs));
        match (together, jobs) {
            (Ok(answers), _) => answers,
            (Err(error), [_]) => vec![Err(error)],
            // Nothing of them was added. Each alone finds out which of them it was, or hears the same.
            (Err(_), _) => jobs.iter().map(|job| self.write_alone(job)).collect(),
        }
    }

    fn write_alone(&self, job: &Job) -> Answer {
        self.writing(|connection| self.write(connection, std::slice::from_ref(job)))?.pop().unwrap_or(Ok(()))
    }

    /// Writes these in one transaction: those that are refused add nothing, and a failure is one of all.
    fn write(&self, connection: &mut Connection, jobs: &[Job]) -> Result<Vec<Answer>, Failure> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(match self.add(&transaction, job) {
                Ok(()) => Ok(()),
                // Said before anything of it was written.
                Err(Failure::Journal(refused)) => Err(refused),
                Err(failure) => return Err(failure),
            });
        }
        transaction.commit()?;
        Ok(answers)
    }

    fn add(&self, transaction: &Transaction<'_>, job: &Job) -> Result<(), Failure> {
        let session = &job.session;
        match &job.onto {
            Onto::New(meta) => {
                if is_known(transaction, session)? {
                    return Err(JournalError::Exists { session: session.clone() }.into());
                }
                let row = params![session.as_str(), integer(meta.created_at), meta.task, meta.model];
                transaction.prepare_cached(ADD_SESSION)?.execute(row)?;
            }
            Onto::Head(expected) => {
                let found = head(transaction, session)?;
                if found != *expected {
                    let (session, expected) = (session.clone(), expected.clone());
                    return Err(JournalError::Conflict { session, expected, found }.into());
                }
                self.hold_to_signed(transaction, session, &found)?;
            }
        }
        insert(transaction, session, &job.sealed, job.signed.as_ref())
    }

    /// That what is about to be signed again was signed before: a signature over a history that somebody wrote anew would
    /// make it true. What this store signed itself is known.
    pub(super) fn hold_to_signed(
        &self,
        transaction: &Transaction<'_>,
        session: &SessionId,
        found: &Head,
    ) -> Result<(), Failure> {
        if self.ours().get(session) == Some(&found.hash) {
            return Ok(());
        }
        let Some(signed) = signed(transaction, session)? else { return Ok(()) };
        let known = self.keys()?.contains(&signed.key);
        let held = hold_to(&signed, found).and_then(|()| match known {
            true => Ok(()),
            false => Err(ChainProblem::Key { found: signed.key.clone() }),
        });
        let fault = |problem| ChainFault { session: session.clone(), seq: found.seq, problem };
        held.map_err(|problem| JournalError::from(fault(problem)).into())
    }

    /// The hashes that this store signed last.
    fn ours(&self) -> MutexGuard<'_, BTreeMap<SessionId, Digest>> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds sealed events, their payloads, and the head that was signed after them.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    session: &SessionId,
    sealed: &[Sealed],
    signed: Option<&SignedHead>,
) -> Result<(), Failure> {
    let mut add_event = transaction.prepare_cached(ADD_EVENT)?;
    let mut add_blob = transaction.prepare_cached(ADD_BLOB)?;
    for Sealed { row, blobs } in sealed {
        for blob in blobs {
            add_blob.execute(params![blob.digest.as_str(), blob.text.as_bytes()])?;
        }
        add_event.execute(params![session.as_str(), integer(row.seq), row.kind, row.hash, row.body])?;
    }
    if let Some(SignedHead { at, hash, key, seq, session, signature }) = signed {
        let row =
            params![session.as_str(), integer(*seq), hash.as_str(), integer(*at), key.as_str(), signature.as_str()];
        transaction.prepare_cached(SIGN)?.execute(row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Actor, Body, EVENT_VERSION, Event};

    use super::*;
    use crate::chain::seal;
    use crate::{EventStore, verify_chain};

    fn event(seq: u64) -> Event {
        let body = Body::Input { call: None, text: format!("event {seq}") };
        Event { v: EVENT_VERSION, seq, at: seq, by: Actor::Code, body }
    }

    fn meta() -> SessionMeta {
        SessionMeta { created_at: 1, task: "words".to_owned(), model: "parrot".to_owned() }
    }

    /// Shows R167, R142: appends that wait are written by one, in one transaction, and each gets its own answer.
    #[test]
    fn those_that_wait_are_written_together() {
        const THREADS: usize = 12;
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let sessions: Vec<SessionId> = (0..THREADS).map(|number| SessionId::new(format!("s-{number}"))).collect();
        for session in &sessions {
            store.create(session, &meta(), &[event(1)]).unwrap();
        }
        let stale = Head::genesis(&sessions[0]);
        // This thread leads, so that all others wait for it.
        let (told, tells) = sync_channel(2);
        let (sealed, _) = seal(&sessions[0], &stale, &[event(1)]).unwrap();
        let job = Job { session: sessions[0].clone(), onto: Onto::Head(stale), sealed, signed: None };
        assert!(store.queue.join(job, told));
        std::thread::scope(|scope| {
            let append = |session: &SessionId| store.append(session, &store.head(session).unwrap(), &[event(2)]);
            let threads: Vec<_> = sessions.iter().map(|session| scope.spawn(move || append(session))).collect();
            while store.queue.state.lock().unwrap().jobs.len() <= THREADS {
                std::thread::yield_now();
            }
            assert_eq!(store.queue.state.lock().unwrap().jobs.len(), THREADS + 1);
            store.lead();
            for thread in threads {
                assert_eq!(thread.join().unwrap().unwrap().seq, 2);
            }
        });
        assert!(matches!(tells.recv(), Ok(Turn::Done(Err(JournalError::Conflict { .. })))), "the stale one is refused");
        assert!(!store.queue.state.lock().unwrap().led, "nobody is left to lead");
        for session in &sessions {
            assert_eq!(verify_chain(&store, session, None).unwrap().head.seq, 2);
        }
    }

    /// A failure of one is not one of the others, though they were written together.
    #[test]
    fn those_that_are_whole_are_written_though_one_fails() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let job = |name: &str| {
            let session = SessionId::new(name);
            let (sealed, _) = seal(&session, &Head::genesis(&session), &[event(1)]).unwrap();
            Job { session, onto: Onto::New(meta()), sealed, signed: None }
        };
        let mut broken = job("s-2");
        // Its second event can not be added: it stands there already.
        broken.sealed.push(broken.sealed[0].clone());
        let answers = store.write_all(&[job("s-1"), broken, job("s-3")]);
        let fine: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(fine, [true, false, true]);
        assert_eq!(store.sessions().unwrap().len(), 2);
    }

    /// Shows R167: many threads at once lose nothing, and each session is written by one at a time.
    #[test]
    fn many_threads_lose_nothing() {
        const THREADS: u64 = 8;
        const EVENTS: u64 = 40;
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("journal.db")).unwrap();
        let shared = SessionId::new("s-shared");
        store.create(&shared, &meta(), &[]).unwrap();
        let taken: u64 = std::thread::scope(|scope| {
            let work = |thread: u64| {
                let session = SessionId::new(format!("s-{thread}"));
                let mut head = store.create(&session, &meta(), &[]).unwrap();
                let mut taken = 0;
                for seq in 1..=EVENTS {
                    head = store.append(&session, &head, &[event(seq)]).unwrap();
                    let found = store.head(&shared).unwrap();
                    match store.append(&shared, &found, &[event(found.seq + 1)]) {
                        Ok(_) => taken += 1,
                        Err(JournalError::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                taken
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(verify_chain(&store, &shared, None).unwrap().head.seq, taken);
        for row in store.sessions().unwrap().iter().filter(|row| row.id != shared) {
            assert_eq!(verify_chain(&store, &row.id, None).unwrap().head.seq, EVENTS);
        }
    }
}
