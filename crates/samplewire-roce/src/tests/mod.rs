//! Whole connections: two queue pairs and the wire between them.

mod messages;
mod pair;
mod recreation;
mod soft_roce;
