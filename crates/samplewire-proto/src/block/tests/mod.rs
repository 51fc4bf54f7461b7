mod hostile;
mod silence;
mod transfers;
mod world;
