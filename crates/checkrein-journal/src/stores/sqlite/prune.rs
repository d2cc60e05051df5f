//! Pruning in the file: payloads go, the note comes, in one transaction; then the file gives its room back.

use checkrein_contract::{Digest, SessionId};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use super::commit::insert;
use super::fault::Failure;
use super::{ROWS_WITH_PAYLOADS, SqliteStore, head, maybe_count, stored_row, text};
use crate::chain::seal;
use crate::prune::{References, note};
use crate::{JournalError, Pruned, Pruning};

const BYTES: &str = "SELECT length(bytes) FROM blobs WHERE digest = ?1";
const REMOVE: &str = "DELETE FROM blobs WHERE digest = ?1";

impl SqliteStore {
    pub(super) fn prune_payloads(
        &self,
        sessions: &[SessionId],
        order: Option<&Pruning>,
    ) -> Result<Vec<Pruned>, JournalError> {
        let Some(order) = order else {
            return self.reading(|connection| Ok(losses(&connection.transaction()?, sessions)?.0));
        };
        let signer = self.signer()?;
        let losses = self.writing(|connection| {
            // What is removed is overwritten, not only forgotten.
            connection.pragma_update(None, "secure_delete", true)?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let (losses, doomed) = losses(&transaction, sessions)?;
            for digest in &doomed {
                transaction.prepare_cached(REMOVE)?.execute([digest.as_str()])?;
            }
            for loss in &losses {
                let before = head(&transaction, &loss.session)?;
                self.hold_to_signed(&transaction, &loss.session, &before)?;
                let (sealed, after) = seal(&loss.session, &before, &[note(&before, loss, order)])?;
                let signed = signer.sign(&loss.session, &after, order.at);
                insert(&transaction, &loss.session, &sealed, Some(&signed))?;
            }
            transaction.commit()?;
            Ok(losses)
        })?;
        if !losses.is_empty() {
            // Smaller right away, if nobody else reads just now; otherwise the room is used by what comes next.
            let _ = self.writing(|connection| Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?));
        }
        Ok(losses)
    }
}

type Losses = (Vec<Pruned>, std::collections::BTreeSet<Digest>);

fn losses(transaction: &Transaction<'_>, sessions: &[SessionId]) -> Result<Losses, Failure> {
    let mut references = References::of(sessions);
    {
        let mut statement = transaction.prepare_cached(ROWS_WITH_PAYLOADS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            references.see(SessionId::new(text(row, 4)?), &stored_row(row)?)?;
        }
    }
    let mut bytes = transaction.prepare_cached(BYTES)?;
    references.losses(|digest| {
        let found = bytes.query_row([digest.as_str()], |row| maybe_count(row, 0)).optional()?;
        Ok(found.flatten())
    })
}
