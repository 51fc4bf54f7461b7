//! `sim`: the protocol on virtual time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use samplewire_sim::{
    Figure, RepairOptions, RepairRow, SwarmOptions, SwarmResult, figures, repair, soak, swarm,
    write_csv, write_svg,
};

use crate::arguments::{SimArguments, SimRun};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Runs what was asked for and prints as it goes.
pub(crate) fn run(arguments: &SimArguments) -> Result<Outcome, Failure> {
    let out = &mut io::stdout();
    Ok(match &arguments.run {
        SimRun::Swarm { seeds, threads, trace } => {
            let (seeds, threads) = (seeds.clone(), threads_or_all(*threads)?);
            let options = SwarmOptions { seeds, threads, time: None, trace: *trace };
            outcome(&swarm(&options, out)?)
        }
        SimRun::Soak { duration, first, threads } => {
            outcome(&soak(*first, *duration, threads_or_all(*threads)?, out)?)
        }
        SimRun::Repair { csv, svg } => {
            // Opened before the work: it takes minutes.
            let forms = [(csv, write_csv as Writer), (svg, write_svg)];
            let mut files = vec![];
            for (path, write) in forms {
                if let Some(path) = path {
                    files.push((path, create(path)?, write));
                }
            }
            let rows = repair(&RepairOptions::new(), out)?;
            for (path, mut file, write) in files {
                write(&rows, &mut file).and_then(|()| file.flush()).map_err(of_file(path))?;
            }
            Outcome::Whole
        }
        SimRun::Figures { packets } => {
            let hold = figures(*packets, out)?.iter().all(Figure::holds);
            if hold { Outcome::Whole } else { Outcome::Threshold }
        }
    })
}

/// Writes a table in one of its forms.
type Writer = fn(&[RepairRow], &mut dyn Write) -> io::Result<()>;

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    File::create(path).map(BufWriter::new).map_err(of_file(path))
}

fn of_file(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |source| Failure::Output { path: path.display().to_string(), source }
}

fn threads_or_all(threads: Option<usize>) -> io::Result<usize> {
    threads.map_or_else(|| std::thread::available_parallelism().map(usize::from), Ok)
}

fn outcome(result: &SwarmResult) -> Outcome {
    if result.failures.is_empty() { Outcome::Whole } else { Outcome::Missing }
}
