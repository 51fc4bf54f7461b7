//! The objects that a caller uses by name.
//!
//! A name has a pointer type in C, so that a compiler distinguishes a receiver from a transmitter.
//! It is never dereferenced. A name is a number that is never reused, so a freed one is not found,
//! in whatever order threads free and use it. An object lives until the last call on it has
//! returned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::result::{Failure, sw_result};

/// The objects of one type by name.
pub(crate) struct Registry<T> {
    what: &'static str,
    objects: RwLock<Option<HashMap<usize, Arc<T>>>>,
}

impl<T> Registry<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, objects: RwLock::new(None) }
    }

    /// Names an object; `make` gets the name.
    pub(crate) fn insert(&self, make: impl FnOnce(usize) -> T) -> usize {
        // Relaxed: names only have to differ.
        let name = NEXT_NAME.fetch_add(NAME_STEP, Ordering::Relaxed);
        let object = Arc::new(make(name));
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.get_or_insert_default().insert(name, object);
        name
    }

    /// The object with this name.
    ///
    /// # Errors
    /// NULL, or no object has this name any more.
    pub(crate) fn get<P>(&self, name: *const P) -> Result<Arc<T>, Failure> {
        if name.is_null() {
            return Err(Failure::new(
                sw_result::Null,
                format!("{}: the pointer is NULL", self.what),
            ));
        }
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let object = objects.as_ref().and_then(|objects| objects.get(&name.addr()));
        object.map(Arc::clone).ok_or_else(|| self.stale(name))
    }

    /// Removes an object from its name.
    ///
    /// # Errors
    /// No object has this name any more.
    pub(crate) fn remove<P>(&self, name: *const P) -> Result<Arc<T>, Failure> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let object = objects.as_mut().and_then(|objects| objects.remove(&name.addr()));
        object.ok_or_else(|| self.stale(name))
    }

    fn stale<P>(&self, name: *const P) -> Failure {
        let text =
            format!("{} {name:p} is not there: it was freed before, or never was", self.what);
        Failure::new(sw_result::Stale, text)
    }
}

/// Names of all types share one sequence: a name of another type is not found.
static NEXT_NAME: AtomicUsize = AtomicUsize::new(NAME_STEP);

/// Names look like aligned pointers.
const NAME_STEP: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_was_freed_is_not_found_and_a_call_keeps_its_object() {
        let registry = Registry::new("sw_thing");
        let name = std::ptr::without_provenance::<u8>(registry.insert(|name| name));
        let other = std::ptr::without_provenance::<u8>(registry.insert(|name| name));
        let in_use = registry.get(name).unwrap();
        assert_eq!(*registry.remove(name).unwrap(), name.addr());
        assert_eq!(registry.get(name).unwrap_err().result, sw_result::Stale);
        assert_eq!(registry.remove(name).unwrap_err().result, sw_result::Stale);
        assert_eq!(*in_use, name.addr());
        assert_eq!(*registry.get(other).unwrap(), other.addr());
        assert_eq!(registry.get::<u8>(std::ptr::null()).unwrap_err().result, sw_result::Null);
    }
}
