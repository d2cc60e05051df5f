//! A model whose requests fail when the plan says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::{BoxFuture, Delta, Lane, ModelReply, ModelRequest, Provider, ProviderError};
use serde_json::Value;

use super::Armed;

pub(super) struct FaultyModel {
    pub(super) inner: Arc<dyn Provider>,
    pub(super) faults: Armed,
}

impl Provider for FaultyModel {
    fn model(&self) -> &str {
        self.inner.model()
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        on_delta: &'a mut (dyn FnMut(Delta<'_>) + Send),
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        match self.faults.request() {
            None => self.inner.complete(request, on_delta),
            Some(fault) => {
                let message = "the request fails on purpose".to_owned();
                // What the model wants back stays what it was, so that a script goes on where it stands.
                let provider = request.provider.clone();
                let error = ProviderError { fault, message, retry_after_ms: None, provider };
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }

    fn close(&self, provider: &Value) -> Result<(), ProviderError> {
        self.inner.close(provider)
    }

    fn ended(&self, lanes: &BTreeMap<Lane, Value>) -> Result<(), ProviderError> {
        self.inner.ended(lanes)
    }

    fn delegate(&self, number: u32) -> Option<Arc<dyn Provider>> {
        let inner = self.inner.delegate(number)?;
        Some(Arc::new(Self { inner, faults: self.faults.clone() }))
    }

    fn virtual_time(&self) -> bool {
        self.inner.virtual_time()
    }
}
