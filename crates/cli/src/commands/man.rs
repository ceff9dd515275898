//! `offshoot man`: the manual page, or a page per command in a folder.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::Answer;
use crate::args::{Args, ManArgs};
use crate::failure::Failure;
use crate::words::reading as words;

pub(crate) fn run(args: &ManArgs) -> Result<Answer, Failure> {
    match &args.output {
        Some(folder) => pages(folder),
        None => {
            let mut bytes = Vec::new();
            let page = Man::new(Args::command()).render(&mut bytes);
            page.map_err(|error| Failure::failed(crate::words::cannot_print(&error)))?;
            Ok(Answer { bytes, ..Answer::default() })
        }
    }
}

fn pages(folder: &Path) -> Result<Answer, Failure> {
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Args::command(), folder))
        .and_then(|()| std::fs::read_dir(folder).map(Iterator::count));
    let count = written.map_err(|error| Failure::failed(words::not_written(folder, &error)))?;
    Ok(Answer { text: words::pages_written(count, folder), ..Answer::default() })
}
